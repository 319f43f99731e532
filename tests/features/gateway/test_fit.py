"""Values made to fit stay JSON, keep what is small, and tell every cut."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ammeter.features.gateway.fit import fit, size


def test_what_fits_is_left_alone() -> None:
    value = {"a": [1, 2, {"b": "text"}]}
    assert fit(value, 1_000) == (value, ())


def test_a_long_list_is_cut_and_its_neighbours_stay() -> None:
    value = {"total": 1000, "items": [{"id": i, "name": "x" * 20} for i in range(1000)], "next": "cursor"}
    made, cuts = fit(value, 2_000)
    assert size(made) <= 2_000
    assert made["total"] == 1000
    assert made["next"] == "cursor"
    *kept, note = made["items"]
    assert kept == value["items"][: len(kept)]  # type: ignore[index]
    assert len(kept) > 20
    assert note == f"… {1000 - len(kept)} more of 1,000 items"
    assert [(cut.path, cut.kept, cut.of, cut.what) for cut in cuts] == [
        ("result.items", len(kept), 1000, "items")
    ]


def test_a_long_text_is_cut_with_a_word_about_it() -> None:
    made, cuts = fit("é" * 5_000, 1_000)
    assert made.startswith("é" * 900)
    assert made.endswith("of 5,000 characters")
    assert size(made) <= 1_000
    assert cuts[0].path == "result"


def test_two_large_members_share_the_room() -> None:
    made, cuts = fit({"a": "x" * 9_000, "b": "y" * 9_000, "c": 1}, 2_000)
    assert abs(len(made["a"]) - len(made["b"])) <= 1
    assert made["c"] == 1
    assert [cut.path for cut in cuts] == ["result.a", "result.b"]


def test_one_huge_item_is_shortened_inside() -> None:
    made, cuts = fit([{"log": "z" * 50_000, "id": 7}], 1_000)
    assert made[0]["id"] == 7
    assert cuts[0].path == "result[0].log"
    assert size(made) <= 1_000


def test_an_object_of_very_many_fields_tells_how_many_are_missing() -> None:
    made, cuts = fit({f"field {i}": i for i in range(10_000)}, 1_000)
    assert made["…"].endswith("of 10,000 fields")
    assert cuts[-1].path == "result"
    assert size(made) <= 1_000


_JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=20), inner, max_size=12),
    max_leaves=60,
)


@settings(max_examples=80, deadline=None)
@given(value=_JSON, room=st.integers(200, 3_000))
def test_whatever_it_is_it_fits_and_stays_json(value: Any, room: int) -> None:
    made, cuts = fit(value, room)
    assert json.loads(json.dumps(made)) == made
    assert size(made) <= room + 200
    assert bool(cuts) == (size(value) > room)


@pytest.mark.parametrize("room", [0, 10, 50])
def test_very_little_room_is_no_fault(room: int) -> None:
    made, cuts = fit({"a": ["x" * 100] * 100}, room)
    assert cuts
    assert size(made) < 400
