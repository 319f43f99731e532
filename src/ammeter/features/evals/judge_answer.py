"""What a judge answered: text in, an Opinion out, or in words why it cannot be used; pure.

An opinion counts only where every excerpt stands word for word in the span it names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ammeter.features.evals.model import Evidence, MarkWord
from ammeter.features.evals.spans import Span

_FENCE = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL)
_MARKS = ("pass", "fail", "not_applicable")
_MOST_EVIDENCE = 20
_EXCERPT_CHARS = 2_000


class BadAnswer(ValueError):
    """The answer cannot be used; the message is for the judge, who may be asked again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opinion:
    mark: MarkWord
    reasoning: str
    evidence: tuple[Evidence, ...]


def read_opinion(text: str, spans: Sequence[Span]) -> Opinion:
    value = _object(text)
    mark, reasoning = value.get("mark"), value.get("reasoning")
    if mark not in _MARKS:
        raise BadAnswer(f"`mark` is {str(mark)[:60]!r}; it must be pass, fail or not_applicable.")
    if not isinstance(reasoning, str) or not reasoning.strip():
        raise BadAnswer("`reasoning` is missing.")
    evidence = read_evidence(value, spans)
    if mark != "not_applicable" and not evidence:
        raise BadAnswer(f"A mark of {mark} needs at least one excerpt.")
    return Opinion(mark=cast(MarkWord, mark), reasoning=reasoning.strip(), evidence=evidence)


def read_notes(text: str, spans: Sequence[Span]) -> tuple[Evidence, ...]:
    return read_evidence(_object(text), spans)


def read_evidence(value: Mapping[str, Any], spans: Sequence[Span]) -> tuple[Evidence, ...]:
    given = value.get("evidence", [])
    if not isinstance(given, list) or len(given) > _MOST_EVIDENCE:
        raise BadAnswer(f"`evidence` must be a list of at most {_MOST_EVIDENCE} excerpts.")
    texts = {span.id: span.texts for span in spans}
    evidence = []
    for entry in given:
        span_id, excerpt = (
            (entry.get("spanId"), entry.get("excerpt")) if isinstance(entry, dict) else (None, None)
        )
        if not isinstance(span_id, str) or not isinstance(excerpt, str) or not excerpt.strip():
            raise BadAnswer("Each piece of evidence needs a spanId and an excerpt.")
        span_id = span_id.strip().strip("[]")
        if span_id not in texts:
            raise BadAnswer(f"There is no span {span_id[:60]!r}.")
        if len(excerpt) > _EXCERPT_CHARS or not any(excerpt in text for text in texts[span_id]):
            raise BadAnswer(f"The excerpt {excerpt[:80]!r} does not stand in the span {span_id}.")
        evidence.append(Evidence(span_id=span_id, excerpt=excerpt))
    return tuple(evidence)


def _object(text: str) -> dict[str, Any]:
    if fenced := _FENCE.fullmatch(text):
        text = fenced[1]
    try:
        value = json.loads(text)
    except ValueError:
        raise BadAnswer("It is not one JSON object.") from None
    if not isinstance(value, dict):
        raise BadAnswer("It is not a JSON object.")
    return value
