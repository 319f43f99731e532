"""What agents send as code, and where its lines are. In goes the text as it was sent: bare statements with
`await` and `return`, a function, a module with `export default`, an expression, any of them in a Markdown
fence. Out come readings: sources that evaluate to one async function, each with the way back to the
user's lines and columns.

Which reading parses is for the caller to find out. The text is only ever wrapped on its first line and
after its last, so every line keeps its number. Types are stripped elsewhere.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass

_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n`]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_HEAD = re.compile(r"(?:\s|//[^\n]*(?:\n|\Z)|/\*.*?\*/|(?:\"use strict\"|'use strict');?)*", re.DOTALL)
_STATEMENT = re.compile(
    r"(?:const|let|var|if|for|while|do|try|throw|return|switch|import|export|interface|type|enum|namespace"
    r"|class|declare|abstract)\b"
)
_EXPORT_DEFAULT = re.compile(r"^([ \t]*)export[ \t]+default\b", re.MULTILINE)
_EXPORT = re.compile(
    r"^([ \t]*)export(?=[ \t]+(?:async|function|const|let|var|class|type|interface|enum)\b)", re.M
)
_ENTRY = re.compile(
    r"^(?:export[ \t]+)?(?:(?:async[ \t]+)?function[ \t]+(run|main)\b"
    r"|(?:const|let|var)[ \t]+(run|main)\b[^=\n]*=)",
    re.MULTILINE,
)
_FRAME = re.compile(r"script\.ts:(\d+):(\d+)")
_DIGITS = {sign: value for value, sign in enumerate(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
)}  # fmt: skip
_DEFAULT_NAME = "__main__"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One way to understand the text."""

    source: str
    prefix: int
    """How many columns stand before the user's text on the first line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    line: int
    column: int


def readings(text: str, client_name: str) -> list[Reading]:
    """The likeliest first; the last one's errors are the ones to show."""
    body = unfenced(text).replace("\r\n", "\n")
    head = _HEAD.match(body)
    start = body[head.end() if head else 0 :]
    statements = _wrapped("(async()=>{", body + _entry_call(body, client_name), "})")
    if not start:
        return [statements]
    if _EXPORT_DEFAULT.search(body) or _EXPORT.search(body):
        return [statements, _module(body, client_name)]
    if _STATEMENT.match(start):
        return [statements]
    return [_wrapped("(async()=>(", _without_end(body), "))"), statements]


def unfenced(text: str) -> str:
    """The first fenced block, at the lines where it stood; text without a fence as it is."""
    found = _FENCE.search(text)
    if found is None or (before := text[: found.start()]).count("`") % 2:
        return text
    if _looks_like_code(before):
        return text
    return "\n" * text.count("\n", 0, found.start(2)) + found[2]


def _looks_like_code(text: str) -> bool:
    return text.rstrip().endswith((";", "{", "}", "=", "(", ","))


def _without_end(body: str) -> str:
    """Without the semicolons and remarks after the last expression, which no parenthesis may hold."""
    for _ in range(50):
        body = body.rstrip(" \t\n;")
        last = body.rfind("\n") + 1
        remark = body.rfind("//", last)
        if remark < 0 or body[last:remark].rstrip()[-1:] not in ("", ";", "}", ")"):
            break
        body = body[:remark]
    return body


def _wrapped(before: str, body: str, after: str) -> Reading:
    # The line break ends a comment that the text may end with.
    return Reading(source=f"{before}{body}\n{after}", prefix=len(before))


def _module(body: str, client_name: str) -> Reading:
    # Both replacements are as long as what they replace, so columns stay.
    def named(found: re.Match[str]) -> str:
        return (found[1] + f"var {_DEFAULT_NAME} =").ljust(len(found[0]))

    plain, count = _EXPORT_DEFAULT.subn(named, body, count=1)
    plain = _EXPORT.sub(r"\1      ", plain)
    call = (
        f"\n;return typeof {_DEFAULT_NAME} === 'function' ? {_DEFAULT_NAME}({client_name}) : {_DEFAULT_NAME};"
    )
    return _wrapped("(async()=>{", plain + (call if count else _entry_call(body, client_name)), "})")


def _entry_call(body: str, client_name: str) -> str:
    """`run` or `main` is called for the user who only defined it."""
    found = _ENTRY.search(body)
    if found is None:
        return ""
    name = found[1] or found[2]
    used = len(re.findall(rf"\b{name}\b", body)) > 1
    return "" if used else f"\n;return {name}({client_name});"


class Lines:
    """From where the engine says something happened back to the user's text."""

    def __init__(self, text: str, reading: Reading, source_map: str | None) -> None:
        self._text = text.replace("\r\n", "\n").split("\n")
        self._prefix = reading.prefix
        self._map = _decoded(source_map) if source_map else None

    def position(self, line: int, column: int) -> Position | None:
        if self._map is not None:
            if not 1 <= line <= len(self._map) or not self._map[line - 1]:
                return None
            row = self._map[line - 1]
            _, line, column = row[max(bisect_right(row, (column - 1, 1 << 30, 0)) - 1, 0)]
        return self.unwrapped(line, column)

    def unwrapped(self, line: int, column: int) -> Position | None:
        """None where the place is not the user's but of what was put after the text."""
        if line == 1:
            column = max(column - self._prefix, 1)
        return Position(line=line, column=column) if line <= len(self._text) else None

    def first(self, stack: str, error_name: str) -> Position | None:
        """Where it was thrown: not inside the constructor of the error's own class."""
        frames = stack.splitlines()
        thrown = [frame for frame in frames if not frame.lstrip().startswith(f"at {error_name} ")]
        for found in map(_FRAME.search, thrown or frames):
            if found and (position := self.position(int(found[1]), int(found[2]))):
                return position
        return None

    def stack(self, stack: str) -> str:
        """Only frames of the user's text, at the user's places."""
        kept = []
        for frame in stack.splitlines():
            found = _FRAME.search(frame)
            position = self.position(int(found[1]), int(found[2])) if found else None
            if position:
                kept.append(_FRAME.sub(f"script.ts:{position.line}:{position.column}", frame.strip()))
        return "\n".join(kept)

    def source_line(self, line: int | None) -> str | None:
        return self._text[line - 1].strip()[:200] if line and line <= len(self._text) else None


def _decoded(source_map: str) -> list[list[tuple[int, int, int]]]:
    """Per generated line: generated column (from 0), the user's line and column (from 1)."""
    rows = []
    line = column = 0
    for encoded in json.loads(source_map)["mappings"].split(";"):
        row, at = [], 0
        for segment in filter(None, encoded.split(",")):
            numbers = _numbers(segment)
            at += numbers[0]
            if len(numbers) >= 4:
                line, column = line + numbers[2], column + numbers[3]
                row.append((at, line + 1, column + 1))
        rows.append(row)
    return rows


def _numbers(segment: str) -> list[int]:
    numbers, value, shift = [], 0, 0
    for sign in segment:
        digit = _DIGITS[sign]
        value |= (digit & 31) << shift
        shift += 5
        if not digit & 32:
            numbers.append(-(value >> 1) if value & 1 else value >> 1)
            value = shift = 0
    return numbers
