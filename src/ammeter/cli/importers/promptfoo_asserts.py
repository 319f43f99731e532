"""promptfoo's assertions as criteria: those that look at the answer's text become assertions, those that ask
a model become texts for the judge, limits become limits, and the rest is left behind by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ammeter.cli.importers.model import Imported, criterion
from ammeter.cli.importers.patterns import any_of, equal_to, starts_with, usable

Json = Mapping[str, Any]
Criteria = list[dict[str, Any]]

_JUDGED = {
    "llm-rubric": "{value}",
    "g-eval": "{value}",
    "agent-rubric": "{value}",
    "model-graded-closedqa": "{value}",
    "factuality": "The answer agrees in its facts with: {value}",
    "model-graded-factuality": "The answer agrees in its facts with: {value}",
    "answer-relevance": "The answer is relevant to what was asked",
    "is-json": "The answer is valid JSON",
    "contains-json": "The answer contains valid JSON",
    "is-refusal": "The answer refuses the request",
    "similar": "The answer means the same as: {value}",
}
_NEGATED = {
    "contains": "The answer does not contain {value!r}",
    "icontains": "The answer does not contain {value!r}, in whatever case",
    "equals": "The answer is not exactly {value!r}",
    "regex": "The answer matches nowhere the regular expression {value}",
    "is-json": "The answer is not JSON",
    "is-refusal": "The answer does not refuse the request",
    "llm-rubric": "This does not hold: {value}",
}
_EXTRAS = ("weight", "threshold", "provider", "rubricPrompt", "metric", "transform", "config")


def carry_asserts(asserts: Sequence[Any], where: str, made: Imported) -> tuple[Criteria, dict[str, Any]]:
    """The criteria, and the limits that some assertions are."""
    criteria: Criteria = []
    limits: dict[str, Any] = {}
    for place, one in enumerate(asserts):
        at = f"{where}.assert[{place}]"
        if not isinstance(one, Mapping) or not isinstance(one.get("type"), str):
            made.leave(at, str(one)[:120], "it has no type")
            continue
        kind = one["type"]
        if kind == "assert-set":
            inner, more = carry_asserts(one.get("assert") or [], at, made)
            criteria += inner
            limits |= more
            if one.get("threshold") is not None:
                made.leave(at, "threshold", "every criterion of the set is asked for")
            continue
        if kind in ("cost", "latency") and isinstance(one.get("threshold"), int | float):
            limits |= _limit(kind, float(one["threshold"]))
            continue
        carried = _carried(kind, one)
        if carried is None:
            made.leave(at, kind, _why(kind, one))
            continue
        criteria += carried
        for extra in _EXTRAS:
            if one.get(extra) is not None and not (extra == "weight" and one[extra] in (0, 1)):
                made.leave(at, extra, f"of {kind}: criteria are required or optional, and have no {extra}")
    return criteria, limits


def _limit(kind: str, threshold: float) -> dict[str, Any]:
    if kind == "cost":
        return {"maxCostUsd": threshold}
    return {"maxDurationSeconds": max(1, math.ceil(threshold / 1000))}


def _carried(kind: str, one: Json) -> Criteria | None:
    value = one.get("value")
    required = one.get("weight") != 0
    if isinstance(value, str) and value.startswith(("file://", "fn:", "python:", "javascript:")):
        return None
    if kind.startswith("not-"):
        text = _NEGATED.get(kind.removeprefix("not-"))
        return None if text is None else [criterion(text.format(value=value), required=required)]
    if kind in _TEXTUAL:
        return _TEXTUAL[kind](value, required)
    if kind in _JUDGED:
        if "{value}" in _JUDGED[kind] and not isinstance(value, str):
            return None
        return [criterion(_JUDGED[kind].format(value=value), required=required)]
    return None


def _contains(value: Any, required: bool) -> Criteria | None:
    if not isinstance(value, str | int | float) or value == "":
        return None
    text = str(value)
    assertion = {"kind": "final_answer_contains", "text": text}
    return [criterion(f"The answer contains {text!r}", assertion, required=required)]


def _contains_all(value: Any, required: bool) -> Criteria | None:
    each = [_contains(one, required) for one in _list(value)]
    return None if not each or None in each else [c for one in each if one for c in one]


def _matching(told: str, make: Callable[[list[str]], str | None]) -> Callable[[Any, bool], Criteria | None]:
    def carry(value: Any, required: bool) -> Criteria | None:
        texts = [str(one) for one in _list(value)]
        pattern = make(texts) if texts and all(texts) else None
        if pattern is None:
            return None
        shown = ", ".join(map(repr, texts))
        assertion = {"kind": "final_answer_matches", "pattern": pattern}
        return [criterion(told.format(value=shown), assertion, required=required)]

    return carry


def _icontains_all(value: Any, required: bool) -> Criteria | None:
    carry = _TEXTUAL["icontains"]
    each = [carry(one, required) for one in _list(value)]
    return None if not each or None in each else [c for one in each if one for c in one]


def _list(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [value]
    return value if isinstance(value, list) else [] if value is None else [value]


_TEXTUAL: dict[str, Callable[[Any, bool], Criteria | None]] = {
    "contains": _contains,
    "contains-all": _contains_all,
    "contains-any": _matching("The answer contains one of {value}", any_of),
    "icontains": _matching(
        "The answer contains {value}, in whatever case", lambda texts: any_of(texts, ignore_case=True)
    ),
    "icontains-any": _matching(
        "The answer contains one of {value}, in whatever case", lambda texts: any_of(texts, ignore_case=True)
    ),
    "icontains-all": _icontains_all,
    "starts-with": _matching("The answer starts with {value}", starts_with),
    "equals": _matching("The answer is exactly {value}", lambda texts: equal_to(texts[0])),
    "regex": _matching("The answer matches {value}", lambda texts: usable(texts[0])),
}


def _why(kind: str, one: Json) -> str:
    if kind in ("javascript", "python", "ruby", "webhook") or "file://" in str(one.get("value", "")):
        return "it runs code; write what it checks as a criterion"
    if kind in _TEXTUAL:
        return "its value is none that can be looked for, or a pattern beyond RFC 9485"
    return "there is no such measure here; write what it checks as a criterion"
