"""Criteria that need no judge: an assertion and the spans of a run in, a mark with evidence out; pure.

`tool_called`, `tool_not_called`, `tool_result_contains`, `final_answer_contains`, `final_answer_matches`,
`max_tool_calls`, `json_path_equals`. Tools are named by glob; arguments match where each given one is equal.
They look at the stored trace, in which secrets are blanked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ammeter.features.evals.model import Evidence, Mark
from ammeter.features.evals.spans import Span, as_text
from ammeter.features.workflows.model import Criterion

_EXCERPT_CHARS = 300


@dataclass(frozen=True, slots=True)
class _Found:
    holds: bool
    reasoning: str
    evidence: tuple[Evidence, ...] = ()


def check(criterion: Criterion, spans: Sequence[Span]) -> Mark:
    assert criterion.assertion is not None
    found = _CHECKS[criterion.assertion["kind"]](criterion.assertion, spans)
    return Mark(
        criterion_id=criterion.id,
        criterion_text=criterion.criterion_text,
        is_required=criterion.is_required,
        mark="pass" if found.holds else "fail",
        reasoning=found.reasoning,
        evidence=found.evidence,
        judged_by="assertion",
    )


def _tool_called(assertion: Mapping[str, Any], spans: Sequence[Span]) -> _Found:
    calls = _calls(spans, assertion["tool"], assertion.get("arguments"))
    times = assertion.get("times")
    holds = len(calls) == times if times is not None else bool(calls)
    wanted = "at least once" if times is None else f"exactly {_times(times)}"
    reasoning = f"{assertion['tool']} was called {_times(len(calls))}; wanted {wanted}."
    return _Found(holds, reasoning, tuple(_begin(call, call.input) for call in calls[:5]))


def _tool_not_called(assertion: Mapping[str, Any], spans: Sequence[Span]) -> _Found:
    called = _tool_called(assertion, spans)
    return _Found(not called.holds, called.reasoning.partition(";")[0] + "; wanted: not.", called.evidence)


def _tool_result_contains(assertion: Mapping[str, Any], spans: Sequence[Span]) -> _Found:
    text, tool = assertion["text"], assertion.get("tool") or "*"
    calls = _calls(spans, tool, None)
    for call in calls:
        if call.output is not None and text in call.output:
            place = (Evidence(span_id=call.id, excerpt=text),)
            return _Found(True, f"A result of {call.name} contains {text!r}.", place)
    told = f"No result of {tool} contains {text!r}." if calls else f"{tool} was never called."
    return _Found(False, told, tuple(_begin(call, call.output) for call in calls[-2:] if call.output))


def _final_answer_contains(assertion: Mapping[str, Any], spans: Sequence[Span]) -> _Found:
    answer, text = _final(spans), assertion["text"]
    if answer is not None and text in str(answer.output):
        evidence = (Evidence(span_id=answer.id, excerpt=text),)
        return _Found(True, f"The final answer contains {text!r}.", evidence)
    return _Found(False, f"The final answer does not contain {text!r}.", _said(answer))


def _final_answer_matches(assertion: Mapping[str, Any], spans: Sequence[Span]) -> _Found:
    # Imported here: its parser is for those who use it. Unlike Python's own, it always comes to an end.
    from ammeter.engines.compiler.iregexp import Pattern

    answer, pattern = _final(spans), assertion["pattern"]
    holds = answer is not None and Pattern(pattern, search=True).matches(str(answer.output), lambda _: None)
    told = f"The final answer {'matches' if holds else 'does not match'} {pattern!r}."
    return _Found(holds, told, _said(answer))


def _max_tool_calls(assertion: Mapping[str, Any], spans: Sequence[Span]) -> _Found:
    calls = _calls(spans, "*", None)
    reasoning = f"{len(calls)} tool calls; at most {assertion['value']} were wanted."
    return _Found(len(calls) <= assertion["value"], reasoning)


def _json_path_equals(assertion: Mapping[str, Any], spans: Sequence[Span]) -> _Found:
    # Imported here: its parser is for those who use it.
    import jsonpath

    calls = _calls(spans, assertion["tool"], None)
    seen: list[Any] = []
    for call in calls:
        values = jsonpath.findall(assertion["path"], _result(call))
        seen += values
        if any(_same(value, assertion["value"]) for value in values):
            reasoning = f"{assertion['path']} of {call.name} is {as_text(assertion['value'])}."
            return _Found(True, reasoning, (_begin(call, call.output),) if call.output else ())
    what = f"found {as_text(seen[:5])}" if seen else "nothing is there" if calls else "it was never called"
    told = f"{assertion['path']} of {assertion['tool']} is not {as_text(assertion['value'])}: {what}."
    return _Found(False, told, tuple(_begin(call, call.output) for call in calls[-2:] if call.output))


_CHECKS = {
    "tool_called": _tool_called,
    "tool_not_called": _tool_not_called,
    "tool_result_contains": _tool_result_contains,
    "final_answer_contains": _final_answer_contains,
    "final_answer_matches": _final_answer_matches,
    "max_tool_calls": _max_tool_calls,
    "json_path_equals": _json_path_equals,
}


def _calls(spans: Sequence[Span], tool: str, arguments: Any) -> list[Span]:
    return [
        span
        for span in spans
        if span.kind == "tool_call" and fnmatchcase(span.name, tool) and _within(arguments, span.input)
    ]


def _within(wanted: Any, given: Any) -> bool:
    """Whether every wanted field is there and equal; lists are compared whole."""
    if wanted is None:
        return True
    if isinstance(wanted, Mapping):
        return isinstance(given, Mapping) and all(
            name in given
            and (_within(inner, given[name]) if isinstance(inner, Mapping) else _same(inner, given[name]))
            for name, inner in wanted.items()
        )
    return _same(wanted, given)


def _same(one: Any, other: Any) -> bool:
    # In Python True equals 1; in JSON it does not.
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True) or (
        _is_number(one) and _is_number(other) and one == other
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _result(call: Span) -> Any:
    if "structured" in call.attributes:
        return call.attributes["structured"]
    try:
        return json.loads(call.output or "null")
    except ValueError:
        return call.output


def _final(spans: Sequence[Span]) -> Span | None:
    """The last turn, where it asked for no more tools."""
    turns = [span for span in spans if span.kind == "model_turn" and span.status == "ok"]
    return turns[-1] if turns and not turns[-1].attributes["toolCalls"] else None


def _said(answer: Span | None) -> tuple[Evidence, ...]:
    return (_begin(answer, answer.output),) if answer is not None and answer.output else ()


def _begin(span: Span, value: Any) -> Evidence:
    return Evidence(span_id=span.id, excerpt=as_text(value)[:_EXCERPT_CHARS])


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
