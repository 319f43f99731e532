"""A run's trace as the page shows it: spans and marks in, rows of a waterfall out, each with its texts cut
into pieces so that what a mark quotes can be jumped to; pure. All texts are others' and stay texts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ammeter.base.clock import now
from ammeter.features.evals.model import Mark
from ammeter.features.evals.spans import ROOT, Span, SpanKind

SHOWN_CHARS = 20_000
_FIRST_KEY = re.compile(r'^\{"[^"]{1,100}": ?"')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_LEAST_WIDTH = 0.4
"""Of a bar, in per cent of the whole: what took no time is still seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    text: str
    anchor: str = ""
    """The id of the place, where a mark quotes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One text of a span."""

    label: str
    pieces: tuple[Piece, ...]
    left_out: int
    """Characters that are not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRow:
    id: str
    kind: SpanKind
    name: str
    status: str
    depth: int
    offset_ms: float
    """Since the first span began."""
    duration_ms: int | None
    left: float
    width: float
    """Of its bar, in per cent."""
    texts: tuple[Shown, ...]
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quote:
    """A piece of evidence with the address of its place."""

    span_id: str
    excerpt: str
    anchor: str
    where: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkRow:
    mark: Mark
    quotes: tuple[Quote, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceView:
    rows: tuple[SpanRow, ...]
    marks: tuple[MarkRow, ...]
    total_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    start: int
    end: int
    anchor: str


def view_of(spans: Sequence[Span], marks: Sequence[Mark]) -> TraceView:
    texts = {span.id: [(label, text) for label, text in _texts(span)] for span in spans}
    places: dict[tuple[str, int], list[_Place]] = {}
    rows = [_mark_row(i, mark, spans, texts, places) for i, mark in enumerate(marks)]
    begin, total_ms = _extent(spans)
    return TraceView(
        rows=tuple(_row(span, texts[span.id], places, begin, total_ms) for span in spans if span.id != ROOT),
        marks=tuple(rows),
        total_ms=total_ms,
    )


def whole_texts(span: Span) -> list[tuple[str, str]]:
    """All of a span's texts, uncut."""
    return _texts(span)


def _texts(span: Span) -> list[tuple[str, str]]:
    if span.kind == "judge":
        return []
    found = []
    if span.input is not None:
        found += _arguments(span.input)
    if span.output is not None:
        label = {"tool_call": "Result", "model_turn": "Said", "connect": "Fault"}.get(span.kind, "Output")
        text = _readable(span.output)
        if text or span.kind == "tool_call":
            found.append((label, text))
    return found


def _arguments(value: Any) -> list[tuple[str, str]]:
    """JSON, but for texts of several lines, such as scripts, which are shown as they are."""
    if not isinstance(value, Mapping):
        return [("Arguments", _readable(value))]
    long = {str(name): text for name, text in value.items() if isinstance(text, str) and "\n" in text}
    rest = {name: inner for name, inner in value.items() if name not in long}
    plain = [("Arguments", _readable(rest))] if rest or not long else []
    return [*plain, *((f"Argument {name}", text) for name, text in long.items())]


def _readable(value: Any) -> str:
    """JSON, also where it comes as a text, in lines; anything else as it is."""
    if isinstance(value, str):
        if not value.lstrip().startswith(("{", "[")) or len(value) > 200_000:
            return value
        try:
            value = json.loads(value)
        except ValueError:
            return str(value)
    return json.dumps(value, indent=2, ensure_ascii=False)


def _mark_row(
    number: int,
    mark: Mark,
    spans: Sequence[Span],
    texts: Mapping[str, Sequence[tuple[str, str]]],
    places: dict[tuple[str, int], list[_Place]],
) -> MarkRow:
    by_id = {span.id: span for span in spans}
    quotes = []
    for i, evidence in enumerate(mark.evidence):
        anchor = f"span-{evidence.span_id}"
        for at, (_, text) in enumerate(texts.get(evidence.span_id, ())):
            found = _find(text[:SHOWN_CHARS], evidence.excerpt)
            if found is None:
                found = _find(text[:SHOWN_CHARS], _unescaped(evidence.excerpt))
            if found is not None:
                here = _Place(start=found[0], end=found[1], anchor=f"quote-{number}-{i}")
                anchor = _put(places.setdefault((evidence.span_id, at), []), here)
                break
        span = by_id.get(evidence.span_id)
        where = (
            span.name if span and span.kind == "tool_call" else (span.kind.replace("_", " ") if span else "")
        )
        quotes.append(Quote(span_id=evidence.span_id, excerpt=evidence.excerpt, anchor=anchor, where=where))
    return MarkRow(mark=mark, quotes=tuple(quotes))


def _find(text: str, excerpt: str) -> tuple[int, int] | None:
    """Where an excerpt stands in a text, blanks and line ends aside: we write JSON in lines."""
    wanted = "".join(excerpt.split())
    if not wanted:
        return None
    letters = [i for i, letter in enumerate(text) if not letter.isspace()]
    found = "".join(text[i] for i in letters).find(wanted)
    return None if found < 0 else (letters[found], letters[found + len(wanted) - 1] + 1)


def _unescaped(excerpt: str) -> str:
    """An excerpt of JSON as the text that it writes, where it begins within or with one."""
    inner = _FIRST_KEY.sub("", excerpt)
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[1]), inner).removesuffix('"}')


def _put(known: list[_Place], here: _Place) -> str:
    """The anchor of the place; where another quote covers it already, that one's."""
    for place in known:
        if here.start < place.end and place.start < here.end:
            return place.anchor
    known.append(here)
    return here.anchor


def _row(
    span: Span,
    texts: Sequence[tuple[str, str]],
    places: Mapping[tuple[str, int], Sequence[_Place]],
    begin: datetime,
    total_ms: float,
) -> SpanRow:
    offset = (span.started_at - begin).total_seconds() * 1000
    left = min(100 - _LEAST_WIDTH, max(0.0, 100 * offset / total_ms))
    width = min(100 - left, max(_LEAST_WIDTH, 100 * (span.duration_ms or 0) / total_ms))
    return SpanRow(
        id=span.id,
        kind=span.kind,
        name=span.name,
        status=span.status,
        depth=1 if span.kind == "tool_call" else 0,
        offset_ms=offset,
        duration_ms=span.duration_ms,
        left=round(left, 2),
        width=round(width, 2),
        texts=tuple(
            _shown(label, text, places.get((span.id, i), ())) for i, (label, text) in enumerate(texts)
        ),
        attributes=span.attributes,
    )


def _shown(label: str, text: str, places: Sequence[_Place]) -> Shown:
    shown, at, pieces = text[:SHOWN_CHARS], 0, []
    for place in sorted(places, key=lambda place: place.start):
        pieces.append(Piece(text=shown[at : place.start]))
        pieces.append(Piece(text=shown[place.start : place.end], anchor=place.anchor))
        at = place.end
    pieces.append(Piece(text=shown[at:]))
    return Shown(
        label=label,
        pieces=tuple(piece for piece in pieces if piece.text),
        left_out=max(0, len(text) - SHOWN_CHARS),
    )


def _extent(spans: Sequence[Span]) -> tuple[datetime, float]:
    """When the first began, and the milliseconds to where the last ended, never none."""
    begin = min((span.started_at for span in spans), default=now())
    ends = [
        (span.started_at - begin).total_seconds() * 1000 + (span.duration_ms or 0)
        for span in spans
        if span.id != ROOT
    ]
    whole = next((span.duration_ms for span in spans if span.id == ROOT), None)
    return begin, max(1.0, *ends, whole or 0.0)
