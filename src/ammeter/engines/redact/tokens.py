"""Tokens of well-known shape in a text.

Looking for seventy beginnings would take longer than all the rest. But nearly every token has a long run of
letters and digits, and most texts have few of those: the beginnings are looked for in these runs only.
"""

from __future__ import annotations

from collections.abc import Iterator

from ammeter.base.tokens import SHAPES
from ammeter.engines.redact.spans import Span

_RANK = 1
_LEAST = b"r" * 18
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
# Digests and ids: no token is made of these alone.
_DIGEST = b"0123456789ABCDEFabcdef-"
_IN_RUN = bytes(ord("r") if byte in _LETTERS else 0 for byte in range(256))
_IN_TOKEN = bytes(ord("t") if byte in _LETTERS and byte not in _DIGEST else 0 for byte in range(256))
# A few beginnings end in a sign that is in no run.
_BEFORE_RUN = 5

_FREE = tuple(shape for shape in SHAPES if not shape.in_run)
_RUNNING = tuple(shape for shape in SHAPES if shape.in_run)


def token_spans(text: str, lower: bytes) -> Iterator[Span]:
    """`lower` is the text, a byte for each sign."""
    runs = "\0".join(_long_runs(text, lower))
    for shapes, looked in ((_FREE, text), (_RUNNING, runs)):
        for shape in shapes:
            if looked and any(anchor in looked for anchor in shape.anchors):
                group = 1 if shape.pattern.groups else 0
                for found in shape.pattern.finditer(text):
                    yield Span(*found.span(group), _RANK, shape.kind)


def _long_runs(text: str, lower: bytes) -> Iterator[str]:
    runs, telling = lower.translate(_IN_RUN), lower.translate(_IN_TOKEN)
    at = runs.find(_LEAST)
    while at >= 0:
        end = runs.find(b"\0", at)
        end = end if end >= 0 else len(runs)
        if telling.find(b"t", at, end) >= 0:
            yield text[max(0, at - _BEFORE_RUN) : end]
        at = runs.find(_LEAST, end)
