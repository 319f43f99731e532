"""Which known name someone may have meant."""

from __future__ import annotations

import pytest

from ammeter.base.text import did_you_mean, nearest

KNOWN = ["baseUrl", "transportType", "networkPolicy", "name"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("baseURL", "baseUrl"),
        ("base_url", "baseUrl"),
        ("base-url", "baseUrl"),
        ("transprotType", "transportType"),
        ("networkPolicies", "networkPolicy"),
        ("nmae", "name"),
    ],
)
def test_a_slip_of_the_pen_is_answered_with_the_known_name(word: str, meant: str) -> None:
    assert nearest(word, KNOWN) == meant
    assert did_you_mean(word, KNOWN) == f' Did you mean "{meant}"?'


@pytest.mark.parametrize("word", ["", "colour", "x", "🙂"])
def test_a_word_far_from_all_known_names_is_answered_with_nothing(word: str) -> None:
    assert nearest(word, KNOWN) is None
    assert did_you_mean(word, KNOWN) == ""


def test_nothing_is_near_where_nothing_is_known() -> None:
    assert did_you_mean("name", []) == ""
