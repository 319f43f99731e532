"""Regular expressions for JSONPath filters (RFC 9485), matched in time linear in the text.

Python's own engine can be made to run for ever by a pattern, and patterns come with an upload. Here a
pattern is derived character by character (Brzozowski) into states that are kept. Beyond the RFC: `^`
at the start, `$` at the end, the classes d, w and s, and `(?:`, which people write. Absent: captures.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

MAX_PATTERN_CHARS = 500
MAX_STATES = 500
_MAX_SIZE = 2_000
_MAX_REPEAT = 1_000

_NEVER: tuple[Any, ...] = ("never",)
_EMPTY: tuple[Any, ...] = ("empty",)
_SINGLE = {"n": "\n", "r": "\r", "t": "\t"}
_CLASSES: dict[str, Callable[[str], bool]] = {
    "d": str.isdecimal,
    "w": lambda c: c.isalnum() or c == "_",
    "s": str.isspace,
}
Node = tuple[Any, ...]


class BadPattern(ValueError):
    """The pattern is malformed, or too large to be run."""


class Pattern:
    """A compiled pattern; `charge` is told of the work that each match takes."""

    def __init__(self, text: str, *, search: bool) -> None:
        if len(text) > MAX_PATTERN_CHARS:
            raise BadPattern(f"it has {len(text)} characters, more than {MAX_PATTERN_CHARS}")
        self._to_end = not search or (text.endswith("$") and not text.endswith("\\$"))
        from_start = not search or text.startswith("^")
        body = text.removeprefix("^")
        node = _Reader(body[:-1] if body.endswith("$") and not body.endswith("\\$") else body).whole()
        every = ("set", lambda c: True, "every")
        self._start = node if from_start else _then(("repeat", every, 0, None), node)
        self._ids: dict[Node, int] = {self._start: 0}
        self._states: list[Node] = [self._start]
        self._good = [_nullable(self._start)]
        self._sizes = [_size(self._start)]
        self._moves: dict[tuple[int, str], int] = {}

    def matches(self, text: str, charge: Callable[[int], None]) -> bool:
        charge(1 + len(text))
        state, moves, good = 0, self._moves, self._good
        for character in text:
            if good[state] and not self._to_end:
                return True
            following = moves.get((state, character))
            if following is None:
                charge(100 + 5 * self._sizes[state])
                following = self._move(state, character)
            state = following
        return good[state]

    def _move(self, state: int, character: str) -> int:
        node = _derived(self._states[state], character)
        if node not in self._ids:
            if len(self._ids) >= MAX_STATES:
                raise BadPattern("it needs too many states")
            self._ids[node] = len(self._ids)
            self._states.append(node)
            self._good.append(_nullable(node))
            self._sizes.append(_size(node))
        # Every character has a move of its own, so a text of many different ones must not fill memory.
        if len(self._moves) > 100 * MAX_STATES:
            self._moves.clear()
        self._moves[state, character] = self._ids[node]
        return self._ids[node]


def _either(left: Node, right: Node) -> Node:
    parts: set[Node] = set()
    for node in (left, right):
        parts |= node[1] if node[0] == "either" else {node}
    parts.discard(_NEVER)
    if len(parts) <= 1:
        return next(iter(parts), _NEVER)
    return ("either", frozenset(parts))


def _then(first: Node, second: Node) -> Node:
    if _NEVER in (first, second):
        return _NEVER
    if first == _EMPTY:
        return second
    if first[0] == "then":
        return _then(first[1], _then(first[2], second))
    return first if second == _EMPTY else ("then", first, second)


def _repeat(node: Node, low: int, high: int | None) -> Node:
    if high == 0 or node == _EMPTY:
        return _EMPTY
    return node if (low, high) == (1, 1) else ("repeat", node, low, high)


def _size(node: Node) -> int:
    """How many parts the node has; one of too many is refused before it is derived further."""
    waiting, size = [node], 0
    while waiting:
        here = waiting.pop()
        size += 1
        if size > _MAX_SIZE:
            raise BadPattern("it is too complex")
        inner = here[1] if here[0] == "either" else here[1:]
        waiting += [part for part in inner if isinstance(part, tuple)]
    return size


def _nullable(node: Node) -> bool:
    match node[0]:
        case "empty":
            return True
        case "then":
            return _nullable(node[1]) and _nullable(node[2])
        case "either":
            return any(_nullable(part) for part in node[1])
        case "repeat":
            return node[2] == 0 or _nullable(node[1])
    return False


def _derived(node: Node, character: str) -> Node:
    """What is left to match after `character`."""
    match node[0]:
        case "set":
            return _EMPTY if node[1](character) else _NEVER
        case "then":
            rest = _then(_derived(node[1], character), node[2])
            return _either(rest, _derived(node[2], character)) if _nullable(node[1]) else rest
        case "either":
            made = _NEVER
            for part in node[1]:
                made = _either(made, _derived(part, character))
            return made
        case "repeat":
            _, inner, low, high = node
            fewer = _repeat(inner, max(low - 1, 0), None if high is None else high - 1)
            return _then(_derived(inner, character), fewer)
    return _NEVER


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._branches()
        if self._at < len(self._text):
            raise BadPattern(f"{self._text[self._at]!r} at {self._at} is not expected")
        return node

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _take(self) -> str:
        if self._at >= len(self._text):
            raise BadPattern("it ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _branches(self) -> Node:
        node = self._branch()
        while self._peek() == "|":
            self._take()
            node = _either(node, self._branch())
        return node

    def _branch(self) -> Node:
        pieces = []
        while self._peek() not in ("", "|", ")"):
            pieces.append(self._quantified(self._atom()))
        node: Node = _EMPTY
        for piece in reversed(pieces):
            node = _then(piece, node)
        return node

    def _quantified(self, node: Node) -> Node:
        mark = self._peek()
        if mark not in ("*", "+", "?", "{") or not mark:
            return node
        self._take()
        if mark != "{":
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[mark]
            return _repeat(node, low, high)
        inside = ""
        while (character := self._take()) != "}":
            inside += character
        first, comma, last = inside.partition(",")
        if not first.isdecimal() or not (last.isdecimal() or not last) or len(inside) > 9:
            raise BadPattern(f"'{{{inside[:20]}}}' is not a number of repeats")
        low = int(first)
        most = int(last) if last else None if comma else low
        if max(low, most or 0) > _MAX_REPEAT or (most is not None and most < low):
            raise BadPattern(f"'{{{inside}}}' repeats too often, or the larger number first")
        return _repeat(node, low, most)

    def _atom(self) -> Node:
        character = self._take()
        if character == "(":
            self._depth += 1
            if self._depth > 50:
                raise BadPattern("its groups nest too deep")
            if self._text.startswith("?:", self._at):
                self._at += 2
            node = self._branches()
            if self._take() != ")":
                raise BadPattern("a ')' is missing")
            self._depth -= 1
            return node
        if character == ".":
            return ("set", _not_a_line_end, ".")
        if character == "[":
            return self._class()
        if character == "\\":
            start = self._at
            test = self._escape()
            return ("set", test, "\\" + self._text[start : self._at])
        if character in "*+?{}])":
            raise BadPattern(f"{character!r} at {self._at - 1} is not expected")
        return ("set", character.__eq__, character)

    def _escape(self) -> Callable[[str], bool]:
        character = self._take()
        if character in "pP":
            return self._category(character == "p")
        if character.lower() in _CLASSES:
            test = _CLASSES[character.lower()]
            return test if character.islower() else lambda c: not test(c)
        if character.isalnum() and character not in _SINGLE:
            raise BadPattern(f"'\\{character}' is not known")
        return _SINGLE.get(character, character).__eq__

    def _category(self, inside: bool) -> Callable[[str], bool]:
        if self._take() != "{":
            raise BadPattern("'\\p' is followed by a category in braces")
        name = ""
        while (character := self._take()) != "}":
            name += character
        return lambda c: unicodedata.category(c).startswith(name) is inside

    def _class(self) -> Node:
        start = self._at
        negated = self._peek() == "^"
        if negated:
            self._take()
        tests: list[Callable[[str], bool]] = []
        while self._peek() != "]" or not tests:
            low = self._take()
            if low == "\\":
                if self._peek() not in "-[]\\^.*+?(){}|$/nrt":
                    tests.append(self._escape())
                    continue
                low = self._take()
                low = _SINGLE.get(low, low)
            if self._peek() == "-" and self._text[self._at + 1 : self._at + 2] not in ("]", ""):
                self._take()
                high = self._take()
                high = self._take() if high == "\\" else high
                tests.append(_between(low, high))
            else:
                tests.append(low.__eq__)
        self._take()
        test = _any_of(tuple(tests), not negated)
        return ("set", test, "[" + self._text[start : self._at])


def _between(low: str, high: str) -> Callable[[str], bool]:
    return lambda c: low <= c <= high


def _any_of(tests: tuple[Callable[[str], bool], ...], wanted: bool) -> Callable[[str], bool]:
    return lambda c: any(test(c) for test in tests) is wanted


def _not_a_line_end(character: str) -> bool:
    return character not in "\n\r"
