"""Stretches of a text that are secrets: found by several means, merged, and put out of the text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    start: int
    end: int
    rank: int
    """Of kinds that overlap the lowest rank is named: a known value tells more than a guess."""
    kind: str


def merged(spans: Iterable[Span]) -> list[Span]:
    out: list[Span] = []
    for span in sorted(spans):
        if out and span.start < out[-1].end:
            before = out[-1]
            rank, kind = min((before.rank, before.kind), (span.rank, span.kind))
            out[-1] = Span(before.start, max(before.end, span.end), rank, kind)
        else:
            out.append(span)
    return out


def cut(text: str, spans: list[Span]) -> str:
    parts, at = list[str](), 0
    for span in spans:
        parts += (text[at : span.start], f"[redacted:{span.kind}]")
        at = span.end
    parts.append(text[at:])
    return "".join(parts)
