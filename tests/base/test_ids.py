"""Ids: UUIDv7 as RFC 9562 has it, in the order they were made."""

from __future__ import annotations

import time
import uuid

import pytest

from ammeter.base.ids import is_id, new_id


def test_an_id_is_a_uuid_of_version_7() -> None:
    for _ in range(100):
        made = uuid.UUID(new_id())
        assert made.version == 7
        assert made.variant == uuid.RFC_4122


def test_an_id_begins_with_the_milliseconds_of_its_making() -> None:
    before = time.time_ns() // 1_000_000
    millis = uuid.UUID(new_id()).int >> 80
    assert before <= millis <= time.time_ns() // 1_000_000


def test_ids_sort_in_the_order_they_were_made_also_within_a_millisecond() -> None:
    made = [new_id() for _ in range(2000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_an_id_of_ours_is_told_from_anything_else() -> None:
    assert is_id(new_id())
    assert is_id("00000000-0000-0000-0000-000000000000")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "acme",
        "0197F0A0-0000-7000-8000-000000000000",
        "{0197f0a0-0000-7000-8000-000000000000}",
        "0197f0a0000070008000000000000000",
        "0197f0a0-0000-7000-8000-00000000000",
        "0197f0a0-0000-7000-8000-0000000000000",
        "0197f0a0-0000-7000-8000-00000000000g",
        "0197f0a0-0000-7000-8000-000000000000\n",
        " 0197f0a0-0000-7000-8000-000000000000",
        "0197f0a0-0000-7000-8000-00000000000\N{FULLWIDTH DIGIT ONE}",
    ],
)
def test_what_is_not_written_as_our_ids_are_is_no_id(text: str) -> None:
    assert not is_id(text)
