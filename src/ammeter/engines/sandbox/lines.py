"""From where the engine says something happened back to the user's text: in go places of the wrapped and
stripped source, out come the user's lines and columns, counted from 1."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass

from ammeter.engines.sandbox.code import Reading

_FRAME = re.compile(r"script\.ts:(\d+):(\d+)")
_IMPORTING = re.compile(r"\bimport\s*\(")
_DIGITS = {sign: value for value, sign in enumerate(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
)}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    line: int
    column: int


class Lines:
    def __init__(self, text: str, reading: Reading, source_map: str | None) -> None:
        self._text = text.replace("\r\n", "\n").split("\n")
        self._reading = reading
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
        if line > len(self._text):
            return None
        if line == 1:
            column -= self._reading.prefix
        added = self._reading.added
        if added is not None and line == added.line and column > added.column:
            column = max(column - added.width, added.column)
        return Position(line=line, column=max(column, 1))

    def first(self, stack: str, error_name: str) -> Position | None:
        """Where it was thrown: not inside the constructor of the error's own class."""
        frames = stack.splitlines()
        thrown = [frame for frame in frames if not frame.lstrip().startswith(f"at {error_name} ")]
        for found in map(_FRAME.search, thrown or frames):
            if found and (position := self.position(int(found[1]), int(found[2]))):
                return position
        return None

    def importing(self) -> Position | None:
        """The first `import(…)`: the engine does not say where it was told to load something."""
        for number, line in enumerate(self._text, 1):
            if found := _IMPORTING.search(line):
                return Position(line=number, column=found.start() + 1)
        return None

    def is_at(self, at: Position, sign: str) -> bool:
        return self._text[at.line - 1].startswith(sign, at.column - 1)

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
