"""Values that are known to be secret, wherever they stand: as they are, escaped for a URL, JSON or HTML, in
base64 at each of its three alignments, in hexadecimal, from the last letter to the first.

A value under four characters is nobody's secret and would blank half of every text: it is left. One under
six is taken only where it stands as a word of its own, and in no other spelling. No patterns are
compiled from values: the library would keep them.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from typing import AnyStr
from urllib.parse import quote, quote_plus

from ammeter.engines.redact.spans import Span

_KIND = "known_value"
_RANK = 0
_MIN_LENGTH = 4
_MIN_ANYWHERE = 6
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=")
_PLAIN = re.compile(r"[A-Za-z0-9]+")
_PERCENT = re.compile(r"%[0-9A-F]{2}")
# What JavaScript's encodeURIComponent and encodeURI leave as it is.
_COMPONENT, _WHOLE_URI = "!'()*", ";,/?:@&=+$!'()*#"


class KnownValues:
    def __init__(self, values: Iterable[str]) -> None:
        chosen = sorted({value.strip() for value in values})
        self._written = [_Written(value) for value in chosen if len(value) >= _MIN_LENGTH]
        self._written += [_Written(value[::-1]) for value in chosen if len(value) >= _MIN_ANYWHERE]
        encoded = [value.encode("utf-8", "surrogatepass") for value in chosen if len(value) >= _MIN_ANYWHERE]
        self._base64 = [core for raw in encoded for core in _in_base64(raw)]
        self._hex = [raw.hex().encode() for raw in encoded]
        # A sign takes at most six letters in a URL or JSON, twice over nine.
        self.longest = 9 * max(map(len, chosen), default=0)

    def spans(self, text: str, lower: bytes) -> Iterator[Span]:
        """`lower` is the text in small letters, a byte for each sign."""
        for written in self._written:
            yield from written.spans(text)
        for core in self._base64:
            for start in _places(text, core):
                yield _widened(text, start, start + len(core))
        for digits in self._hex:
            for start in _places(lower, digits):
                yield Span(start, start + len(digits), _RANK, _KIND)


class _Written:
    """One value in all its spellings. Letters and digits are the same in each of them, so a text without
    the value's longest row of those needs no further look."""

    __slots__ = ("_anchor", "_is_word", "_spellings")

    def __init__(self, value: str) -> None:
        self._spellings = _spellings(value)
        self._anchor = max(_PLAIN.findall(value), key=len, default="")
        self._is_word = len(value) < _MIN_ANYWHERE

    def spans(self, text: str) -> Iterator[Span]:
        if self._anchor not in text:
            return
        for spelling in self._spellings:
            for start in _places(text, spelling):
                span = Span(start, start + len(spelling), _RANK, _KIND)
                if not self._is_word or _stands_alone(text, span):
                    yield span


def _places(text: AnyStr, part: AnyStr) -> Iterator[int]:
    at = text.find(part)
    while at >= 0:
        yield at
        at = text.find(part, at + len(part))


def _stands_alone(text: str, span: Span) -> bool:
    before, after = text[max(0, span.start - 2) : span.start], text[span.end : span.end + 1]
    begins = not _is_letter(before[-1:]) or before in ("\\n", "\\r", "\\t")
    return begins and not _is_letter(after)


def _is_letter(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _widened(text: str, start: int, end: int) -> Span:
    """With the letters at both ends that hold a part of the value and a part of what stands around it."""
    if start and text[start - 1] in _BASE64:
        start -= 1
    if end < len(text) and text[end] in _BASE64:
        end += 1
    return Span(start, end, _RANK, _KIND)


def _in_base64(raw: bytes) -> Iterator[str]:
    for before in range(3):
        # Letters that hold a bit of a neighbouring byte differ from text to text: only the others are fixed.
        first = (8 * before + 5) // 6
        last = 8 * (before + len(raw)) // 6
        core = base64.b64encode(b"\0" * before + raw).decode()[first:last]
        yield core
        if (for_urls := core.replace("+", "-").replace("/", "_")) != core:
            yield for_urls


def _spellings(value: str) -> list[str]:
    if _PLAIN.fullmatch(value):
        return [value]
    raw = value.encode("utf-8", "surrogatepass")
    in_urls = {quote(raw, safe=safe) for safe in ("", "/", _COMPONENT, _WHOLE_URI)} | {quote_plus(raw)}
    in_urls |= {quote(text, safe="") for text in in_urls}
    in_urls |= {_PERCENT.sub(lambda found: found[0].lower(), text) for text in in_urls}
    in_html = {html.escape(value), html.escape(value, quote=False)}
    in_json = {_escaped(value, ascii_only=flag) for flag in (True, False)}
    in_json |= {text.replace("/", "\\/") for text in in_json}
    in_json |= {_escaped(text, ascii_only=False) for text in in_json}
    return sorted({value} | in_urls | in_html | in_json)


def _escaped(text: str, *, ascii_only: bool) -> str:
    return json.dumps(text, ensure_ascii=ascii_only)[1:-1]
