"""Known values go in every spelling; what is merely like them stays."""

from __future__ import annotations

import base64
import html
import json
import re
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ammeter.engines.redact.redactor import Redactor

MARK = "[redacted:known_value]"


def spellings(value: str) -> list[str]:
    raw = value.encode()
    return [
        value,
        quote(value),
        quote(value, safe=""),
        re.sub("%..", lambda found: found[0].lower(), quote(value, safe="")),
        quote(value, safe="!'()*"),
        quote_plus(value),
        quote(quote(value, safe=""), safe=""),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(value))[3:-3],
        json.dumps(value)[1:-1].replace("/", "\\/"),
        html.escape(value),
        raw.hex(),
        raw.hex().upper(),
        value[::-1],
    ]


@settings(max_examples=80, deadline=None)
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=6, max_size=40))
@example('pässwörd/with+signs & ="quotes" \\ 100%')
@example("AAAAAA")
@example("🙂🙂🙂🙂🙂🙂")
def test_a_known_value_is_found_in_every_spelling(value: str) -> None:
    value = value.strip()
    if len(value) < 6:
        return
    for spelling in spellings(value):
        redactor = Redactor([value])
        clean = redactor.text(f"before [{spelling}] after")
        # A value like `:AAAA` may begin within what stands before it.
        assert spelling not in clean
        assert redactor.stripped >= 1


@settings(max_examples=80, deadline=None)
@given(
    st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=6, max_size=40),
    st.binary(max_size=7),
    st.binary(max_size=7),
    st.booleans(),
)
def test_a_known_value_is_found_in_base64_wherever_it_begins(
    value: str, before: bytes, after: bytes, for_urls: bool
) -> None:
    encode = base64.urlsafe_b64encode if for_urls else base64.b64encode
    text = encode(before + value.encode() + after).decode()
    clean = Redactor([value]).text(f'{{"data": "{text}"}}')
    assert MARK in clean
    left = clean.removeprefix('{"data": "').removesuffix('"}').replace(MARK, "")
    # Whole letters of what stood around it may stay, none of the value's.
    assert len(left.rstrip("=")) <= -(-len(before) * 8 // 6) + -(-len(after) * 8 // 6)


def test_all_places_are_found_and_counted() -> None:
    redactor = Redactor(["s3cret-one", "s3cret-two"])
    assert redactor.text("s3cret-one s3cret-two s3cret-one") == f"{MARK} {MARK} {MARK}"
    assert redactor.stripped == 3


def test_a_known_value_within_another_leaves_nothing_of_either() -> None:
    assert Redactor(["abcdef123", "abcdef123456"]).text("x abcdef123456 y") == f"x {MARK} y"
    assert Redactor(["abcdef123", "123ghijkl"]).text("abcdef123ghijkl") == MARK


def test_a_known_value_is_named_as_such_also_where_it_has_a_shape() -> None:
    token = "ghp_" + "a1" * 18
    assert Redactor([token]).text(f'{{"token": "{token}"}}') == f'{{"token": "{MARK}"}}'


@pytest.mark.parametrize(
    ("value", "text", "clean"),
    [
        ("abcd", "abcd and xabcd, abcdx, abcd_, 'abcd'", f"{MARK} and xabcd, abcdx, abcd_, '{MARK}'"),
        ("abcd", "a line\\nabcd", f"a line\\n{MARK}"),
        ("abc", "abc and 'abc'", "abc and 'abc'"),
        ("1", "1 and 11", "1 and 11"),
        ("", "anything", "anything"),
        ("   ", "any   thing", "any   thing"),
        ("abcdef", "xabcdefx", f"x{MARK}x"),
        (" abcdef\n", "abcdef", MARK),
    ],
)
def test_short_values_need_care(value: str, text: str, clean: str) -> None:
    assert Redactor([value]).text(text) == clean
