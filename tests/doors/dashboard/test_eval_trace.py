"""A trace as the page shows it: what a mark quotes is found word for word, however it is written down."""

from __future__ import annotations

import json

import pytest

from ammeter.doors.dashboard.evals.trace import SHOWN_CHARS, Shown, TraceView, view_of
from ammeter.features.evals.model import Mark
from tests.doors.dashboard.evaluated import a_mark
from tests.features.evals.stories import call, spans, turn


def quoted(view: TraceView, anchor: str) -> str:
    """What stands at a place."""
    [found] = [
        piece.text for text in texts(view) for piece in text.pieces if anchor and piece.anchor == anchor
    ]
    return found


def texts(view: TraceView) -> list[Shown]:
    return [text for row in view.rows for text in row.texts]


def shown(text: Shown) -> str:
    return "".join(piece.text for piece in text.pieces)


RESULT = '{"title":"milk","list":[1,{"deep":"a b"}]}'


@pytest.mark.parametrize(
    ("span", "excerpt", "there"),
    [
        ("call-2", '"title":"milk"', '"title": "milk"'),
        ("call-2", '[1,{"deep":"a b"}]', '[\n    1,\n    {\n      "deep": "a b"\n    }\n  ]'),
        ("call-2", '{"query": "milk"}', '{\n  "query": "milk"\n}'),
        ("turn-4", "is  milk", "is milk"),
    ],
)
def test_an_excerpt_leads_to_its_very_words(span: str, excerpt: str, there: str) -> None:
    view = view_of(
        spans(call("search", RESULT, query="milk"), turn("There is milk.")),
        [a_mark("x", "pass", (span, excerpt))],
    )
    [quote] = view.marks[0].quotes
    assert quote.anchor == "quote-0-0"
    assert quoted(view, quote.anchor) == there
    # Cutting into pieces loses nothing.
    assert json.loads(shown(texts(view)[1])) == json.loads(RESULT)


def test_a_script_is_shown_in_its_lines_and_still_found() -> None:
    code = 'const a = "x";\nreturn a;'
    whole = json.dumps({"code": code})
    marks = [a_mark("all of it", "pass", ("call-2", whole)), a_mark("x", "pass", ("call-2", r"\"x\";\nret"))]
    view = view_of(spans(call("execute_script", "ok", code=code)), marks)
    first, second = (row.quotes[0] for row in view.marks)
    assert [text.label for text in texts(view)] == ["Argument code", "Result"]
    assert quoted(view, first.anchor) == code
    # It lies within the other, so both lead there.
    assert second.anchor == first.anchor


@pytest.mark.parametrize("excerpt", ["never said", "", "   "])
def test_what_is_not_found_leads_to_its_span(excerpt: str) -> None:
    view = view_of(spans(call("search", RESULT)), [a_mark("x", "fail", ("call-2", excerpt))])
    assert view.marks[0].quotes[0].anchor == "span-call-2"
    assert all(not piece.anchor for text in texts(view) for piece in text.pieces)


def test_long_texts_are_cut_and_say_so() -> None:
    long = "x" * SHOWN_CHARS + "the end"
    marks: list[Mark] = [a_mark("x", "pass", ("call-2", "the end"))]
    view = view_of(spans(call("search", long)), marks)
    [_, result] = texts(view)
    assert len(shown(result)) == SHOWN_CHARS
    assert result.left_out == len("the end")
    assert view.marks[0].quotes[0].anchor == "span-call-2"


def test_bars_stay_within_the_whole() -> None:
    view = view_of(spans(call("search", "a"), call("search", "b"), turn("done")), [])
    assert [row.kind for row in view.rows] == [
        "model_turn",
        "tool_call",
        "model_turn",
        "tool_call",
        "model_turn",
    ]
    for row in view.rows:
        assert 0 <= row.left < 100
        assert 0 < row.width <= 100 - row.left + 0.01
    assert [row.left for row in view.rows] == sorted(row.left for row in view.rows)
    assert view_of([], []).rows == ()
