from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ammeter.engines.compiler.iregexp import BadPattern, Pattern


def matches(pattern: str, text: str, *, search: bool = False) -> bool:
    return Pattern(pattern, search=search).matches(text, lambda steps: None)


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("abc", "abc", "abcd"),
        ("a|bc", "bc", "b"),
        ("a{2,3}b?", "aaa", "a"),
        ("a{2,}", "aaaaa", "a"),
        ("(ab)+", "abab", "aba"),
        ("[a-cx]*", "abcx", "d"),
        ("[^a-c]", "d", "a"),
        ("[-a]+", "-a-", "b"),
        (r"[\]\\]+", r"]\]", "a"),
        (r"\d+\.\d", "12.3", "12x3"),
        (r"\w\s\S", "a b", "a  "),
        (r"\p{Lu}\P{Lu}", "Ab", "ab"),
        ("a.c", "abc", "a\nc"),
        ("(?:x|y)z", "yz", "z"),
        ("^/admin/.*$", "/admin/x", "/user"),
        ("", "", "a"),
    ],
)
def test_a_pattern_matches_the_whole_text(pattern: str, good: str, bad: str) -> None:
    assert matches(pattern, good)
    assert not matches(pattern, bad)


@pytest.mark.parametrize(
    ("pattern", "good", "bad"),
    [
        ("b+", "abbc", "ac"),
        ("^List", "List all", "A List"),
        ("end$", "the end", "end it"),
        ("a|b", "xxb", "xx"),
    ],
)
def test_a_search_finds_it_anywhere(pattern: str, good: str, bad: str) -> None:
    assert matches(pattern, good, search=True)
    assert not matches(pattern, bad, search=True)


@pytest.mark.parametrize(
    "pattern", ["(", ")", "a**", "[a", "a{x}", "a{3,1}", "a{1,99999}", "\\", r"\k", "x" * 600, "*"]
)
def test_a_malformed_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        matches(pattern, "abc")


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|a)*b", "(a|aa)+$", "a?" * 12 + "a" * 12, ".*.*.*.*.*=.*"])
def test_patterns_that_ruin_other_engines_take_no_time(pattern: str) -> None:
    started = time.process_time()
    matches(pattern, "a" * 5_000 + "!")
    assert time.process_time() - started < 2


def test_a_pattern_of_too_many_parts_is_refused_instead_of_run() -> None:
    with pytest.raises(BadPattern):
        matches("a?" * 200, "a" * 200)


@given(st.text("ab|()*?", max_size=7), st.text("ab", max_size=6))
def test_it_agrees_with_pythons_own_engine(pattern: str, text: str) -> None:
    try:
        expected = re.fullmatch(pattern, text) is not None
        found = matches(pattern, text)
    except (re.error, BadPattern):
        return
    assert found is expected
