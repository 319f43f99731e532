"""Assertions over a trace: what holds, what does not, and that evidence stands in the span it names."""

from __future__ import annotations

from typing import Any

import pytest

from ammeter.features.evals.assertions import check
from ammeter.features.evals.model import Mark
from ammeter.features.evals.spans import Span
from ammeter.features.workflows.model import Criterion
from tests.features.evals.stories import call, spans, turn

SHOP = spans(
    call(
        "add_item",
        '{"id": 7, "stock": 1.0, "tags": ["a", "b"]}',
        name="lamp",
        price={"amount": 5, "cur": "EUR"},
    ),
    call("get_item", "not found", error=True, id=8),
    call("get_item", '{"id": 7, "ok": true}', id=7),
    turn("The lamp is item 7."),
)


def judged(kind: str, where: list[Span] = SHOP, **more: Any) -> Mark:
    criterion = Criterion(id="c", criterion_text="x", assertion={"kind": kind, **more})
    mark = check(criterion, where)
    texts = {span.id: span.texts for span in where}
    for evidence in mark.evidence:
        assert any(evidence.excerpt in text for text in texts[evidence.span_id])
    assert mark.judged_by == "assertion"
    return mark


@pytest.mark.parametrize(
    ("holds", "kind", "fields"),
    [
        (True, "tool_called", {"tool": "add_item"}),
        (True, "tool_called", {"tool": "*_item", "times": 3}),
        (True, "tool_called", {"tool": "add_item", "arguments": {"price": {"cur": "EUR"}}}),
        (False, "tool_called", {"tool": "add_item", "arguments": {"price": {"cur": "USD"}}}),
        (False, "tool_called", {"tool": "add_item", "arguments": {"color": None}}),
        (True, "tool_called", {"tool": "get_item", "arguments": {"id": 8}, "times": 1}),
        (False, "tool_called", {"tool": "get_item", "times": 1}),
        (True, "tool_called", {"tool": "delete_item", "times": 0}),
        (False, "tool_called", {"tool": "delete_item"}),
        (True, "tool_not_called", {"tool": "delete_item"}),
        (False, "tool_not_called", {"tool": "get_item"}),
        (True, "tool_not_called", {"tool": "get_item", "arguments": {"id": 9}}),
        (True, "tool_result_contains", {"text": "not found"}),
        (True, "tool_result_contains", {"text": "not found", "tool": "get_*"}),
        (False, "tool_result_contains", {"text": "not found", "tool": "add_item"}),
        (False, "tool_result_contains", {"text": "x", "tool": "delete_item"}),
        (True, "final_answer_contains", {"text": "item 7"}),
        (False, "final_answer_contains", {"text": "Item 7"}),
        (True, "final_answer_matches", {"pattern": "item [0-9]+"}),
        (True, "final_answer_matches", {"pattern": "^The .*7\\.$"}),
        (False, "final_answer_matches", {"pattern": "item [0-9]{2}"}),
        (True, "max_tool_calls", {"value": 3}),
        (False, "max_tool_calls", {"value": 2}),
        (True, "json_path_equals", {"tool": "get_item", "path": "$.id", "value": 7}),
        (True, "json_path_equals", {"tool": "add_item", "path": "$.stock", "value": 1}),
        (True, "json_path_equals", {"tool": "add_item", "path": "$.tags[*]", "value": "b"}),
        (True, "json_path_equals", {"tool": "get_item", "path": "$.ok", "value": True}),
        (False, "json_path_equals", {"tool": "get_item", "path": "$.ok", "value": 1}),
        (False, "json_path_equals", {"tool": "add_item", "path": "$.id", "value": "7"}),
        (False, "json_path_equals", {"tool": "add_item", "path": "$.missing", "value": None}),
        (False, "json_path_equals", {"tool": "delete_item", "path": "$.id", "value": 7}),
    ],
)
def test_an_assertion_holds_or_not(holds: bool, kind: str, fields: dict[str, Any]) -> None:
    assert judged(kind, **fields).mark == ("pass" if holds else "fail")


def test_a_run_that_was_cut_off_has_no_final_answer() -> None:
    cut = spans(turn("I will look it up: item 7", "get_item"))
    assert judged("final_answer_contains", cut, text="item 7").mark == "fail"


def test_an_evil_pattern_comes_to_an_end() -> None:
    long = spans(turn("a" * 20_000 + "!"))
    assert judged("final_answer_matches", long, pattern="^(a+)+$").mark == "fail"


def test_what_is_missing_is_said() -> None:
    told = judged("json_path_equals", tool="delete_item", path="$.id", value=7).reasoning
    assert told == "$.id of delete_item is not 7: it was never called."
    assert judged("tool_called", tool="get_item", times=1).reasoning == (
        "get_item was called 2 times; wanted exactly once."
    )
