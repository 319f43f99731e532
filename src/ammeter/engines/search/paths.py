"""A query that is a path: `GET /users/{id}`, `/users/42/keys`, a whole URL, the end of a path.

Braces, `:name` and concrete values all fill a template's hole; at least one written segment must be equal,
for a template of holes alone would meet everything.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ammeter.engines.search import weights

HOLE = "*"

_METHOD = r"(?:\b(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s+)?"
_SEGMENT = r"[\w\-.{}:@*$%~+!,=#]+"
_ALONE = re.compile(rf"\s*{_METHOD}(/?{_SEGMENT}(?:/{_SEGMENT})+/?|/{_SEGMENT}/?)\s*", re.IGNORECASE)
_WITHIN = re.compile(rf"{_METHOD}(?<!\S)[`\"'(]?(/{_SEGMENT}(?:/{_SEGMENT})*/?)", re.IGNORECASE)
_ORIGIN = re.compile(r"[a-z][a-z0-9+.\-]*://[^/\s]*", re.IGNORECASE)
_PARAMETERS = re.compile(r"\?[^\s`\"')]*")
_TEMPLATE_HOLE = re.compile(r"\{[^{}]*\}|:\w+|<\w+>|\$\{[^{}]*\}")


class PathBook:
    def __init__(self, methods: Sequence[str], paths: Sequence[str]) -> None:
        self.methods = tuple(methods)
        self.segments = [_segments(path) for path in paths]
        self.by_length: dict[int, list[int]] = defaultdict(list)
        self.written: set[str] = set()
        self.by_last_written: dict[str, list[int]] = defaultdict(list)
        for i, segments in enumerate(self.segments):
            self.by_length[len(segments)].append(i)
            written = [s for s in segments if s != HOLE]
            self.written.update(written)
            if written:
                self.by_last_written[written[-1]].append(i)

    def matches(self, query: str) -> Iterator[tuple[int, float]]:
        """Operations whose path the query names, each with what that is worth."""
        told = path_in(query)
        if told is None:
            return
        method, asked = told
        candidates = set(self.by_length.get(len(asked), ()))
        for segment in asked:
            candidates.update(self.by_last_written.get(segment, ()))
        for i in sorted(candidates):
            worth = self._worth(asked, self.segments[i])
            if worth:
                same = 0.0 if not method else 1.0 if self.methods[i] == method else -1.0
                yield i, worth + weights.PATH_METHOD * same

    def _worth(self, asked: list[str], own: list[str]) -> float:
        if len(own) == len(asked) and (equal := _equal(asked, own)):
            # `orders/refunds` is rather the end of `/orders/{id}/refunds` than an order named so.
            unlikely = any(b == HOLE and a in self.written for a, b in zip(asked, own, strict=True))
            return (
                weights.PATH_TAIL_FILLED if unlikely else weights.PATH_WHOLE
            ) + weights.PATH_SEGMENT * equal
        if 0 < len(own) < len(asked) and (equal := _equal(asked[-len(own) :], own)):
            return weights.PATH_UNDER_A_BASE + weights.PATH_SEGMENT * equal
        written = [s for s in asked if s != HOLE]
        if [s for s in own if s != HOLE][-len(written) :] == written:
            return weights.PATH_TAIL
        if len(own) > len(asked) and _equal(asked, own[-len(asked) :]):
            return weights.PATH_TAIL_FILLED
        return 0.0


def path_in(query: str) -> tuple[str, list[str]] | None:
    """The method (may be empty) and the segments of the path that a query is or contains."""
    bare = _PARAMETERS.sub("", _ORIGIN.sub("", query))
    found = _ALONE.fullmatch(bare) or _WITHIN.search(bare)
    if found is None:
        return None
    segments = _segments(found[2])
    return ((found[1] or "").lower(), segments) if any(s != HOLE for s in segments) else None


def _segments(path: str) -> list[str]:
    # Some descriptions tell operations on one path apart by a fragment: `/files/{id}#share`.
    return [HOLE if _TEMPLATE_HOLE.fullmatch(s) else s.lower() for s in re.split("[/#]", path) if s]


def _equal(asked: list[str], own: list[str]) -> int:
    """Segments that are equal; 0 where two cannot be the same place or only holes are equal."""
    equal = written = 0
    for a, b in zip(asked, own, strict=True):
        if a == b:
            equal += 1
            written += a != HOLE
        elif HOLE not in (a, b):
            return 0
    return equal if written else 0
