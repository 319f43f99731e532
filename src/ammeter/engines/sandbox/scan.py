"""Where the statements of a text begin and end, as far as its outermost level goes. In goes JavaScript or
TypeScript, out come its statements with their places and first words.

This reads words, strings, comments and brackets, and no grammar: what it says is a guess that the parser
confirms. One pass, and no time that grows with the square of the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

_SIGN = re.compile(
    r"(?P<space>[\s\ufeff]+)"
    r"|(?P<remark>//[^\n]*+|/\*)"
    r"|(?P<word>[\w$#@]++)"
    # A string that is not closed ends with its line.
    r"|(?P<quoted>\"(?:[^\"\\\n]++|\\(?:.|\Z))*+(?:\"|\Z|(?=\n))"
    r"|'(?:[^'\\\n]++|\\(?:.|\Z))*+(?:'|\Z|(?=\n)))"
    r"|(?P<mark>=>|\+\+|--|.)",
    re.DOTALL,
)
# Within brackets only what can hide or end one matters.
_INNER = re.compile(r"[^()\[\]{}\"'`/]++")
_TEMPLATE = re.compile(r"(?:[^`\\$]++|\\.|\$(?!\{))*+(`|\$\{|\Z|\\)", re.DOTALL)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]++|\\.)*+\])++/\w*")
_LAST_WORD = re.compile(r"[\w$]+\Z")
# More than any script that a person could read; beyond it nothing is said.
_MOST_STEPS = 20_000
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
# After these a slash begins a regular expression, and a new line begins no statement.
_EXPECTING = frozenset(
    (
        *("return", "typeof", "instanceof", "in", "of", "new", "delete", "void", "throw", "case", "do"),
        *("else", "await", "yield", "async", "default", "extends"),
    )
)
_HEADED = frozenset(("if", "for", "while", "with"))
_NEVER_FIRST = frozenset(("else", "catch", "finally", "in", "of", "instanceof", "as", "satisfies", "from"))
_ENDED_BY_BRACE = frozenset(
    (
        *("function", "class", "if", "for", "while", "do", "try", "switch", "interface", "enum"),
        *("namespace", "module", "declare", "abstract", "export", "async"),
    )
)
_STATEMENTS = frozenset(
    (
        *("const", "let", "var", "if", "for", "while", "do", "try", "throw", "return", "switch", "import"),
        *("export", "interface", "enum", "namespace", "class", "declare", "abstract", "function", "break"),
        *("continue", "debugger", "with"),
    )
)


@dataclass(slots=True, kw_only=True)
class Statement:
    start: int
    end: int
    """After its last sign, without semicolons and remarks."""
    words: list[str] = field(default_factory=list)
    """The first few tokens."""

    @property
    def is_expression(self) -> bool:
        first, second = (*self.words, "", "")[:2]
        if first in _STATEMENTS or first == "{" or first[:1] == "@":
            return False
        if first == "async":
            return second != "function"
        return not (first in ("type", "module", "using") and second[:1].isidentifier()) and second != ":"

    @property
    def is_function(self) -> bool:
        return self.words[:1] == ["function"] or self.words[:2] == ["async", "function"]


@dataclass(slots=True, kw_only=True)
class Scanned:
    statements: list[Statement]
    hidden: list[tuple[int, int]]
    """Strings, templates' texts, regular expressions and remarks: from, to."""

    def is_hidden(self, place: int) -> bool:
        before = bisect_right(self.hidden, (place, 1 << 60)) - 1
        return before >= 0 and place < self.hidden[before][1]


def scan(text: str) -> Scanned:
    """No statements for a text that is longer than anybody writes."""
    scanner = _Scanner(text)
    whole = scanner.run()
    return Scanned(statements=scanner.statements if whole else [], hidden=scanner.hidden)


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.statements: list[Statement] = []
        self.hidden: list[tuple[int, int]] = []
        self.depth = 0
        self.previous = ""
        self.fresh_line = False
        self.headed = False
        """The next closing parenthesis at the outermost level ends the head of a loop or condition."""
        self.head_ended = False
        self.templates: list[int] = []
        self.no_regex_before = 0

    def run(self) -> bool:
        text, at, size = self.text, 0, len(self.text)
        for _ in range(_MOST_STEPS):
            if self.depth and (inner := _INNER.match(text, at)):
                at = inner.end()
                self.previous = _last(inner[0]) or self.previous
            if at >= size:
                return True
            found = _SIGN.match(text, at)
            if found is None:
                return True
            at = self._next(found, at)
        return False

    def _next(self, found: re.Match[str], at: int) -> int:
        sign, end = found[0], found.end()
        match found.lastgroup:
            case "space":
                self.fresh_line |= "\n" in sign
                return end
            case "remark":
                return self._remark(at, sign, end)
            case "quoted":
                self.hidden.append((at, end))
        if sign == "/" and at >= self.no_regex_before and self._regex_may_follow():
            if regex := _REGEX.match(self.text, at):
                sign, end = "/regex/", regex.end()
                self.hidden.append((at, end))
            else:
                # Looked for once per line: a line of slashes would be read again from each of them.
                self.no_regex_before = self.text.find("\n", at) % (len(self.text) + 1)
        if sign == "}" and self.templates and self.templates[-1] == self.depth:
            # The end of ${…}: the text of the template goes on.
            self.templates.pop()
            self.depth -= 1
            return self._template(end)
        if sign in _CLOSING:
            self.depth = max(self.depth - 1, 0)
        if self.depth == 0:
            self._outermost(sign, at, end)
        self.previous, self.fresh_line = sign, False
        if sign == "`":
            return self._template(end)
        if sign in _OPENING:
            self.depth += 1
        return end

    def _remark(self, at: int, sign: str, end: int) -> int:
        if sign == "/*":
            closed = self.text.find("*/", end)
            end = len(self.text) if closed < 0 else closed + 2
            self.fresh_line |= self.text.find("\n", at, end) >= 0
        self.hidden.append((at, end))
        return end

    def _template(self, at: int) -> int:
        found = _TEMPLATE.match(self.text, at)
        end = found.end() if found else len(self.text)
        self.hidden.append((at, end))
        if found and found[1] == "${":
            self.depth += 1
            self.templates.append(self.depth)
            self.previous = "{"
        else:
            self.previous = "`"
            if self.depth == 0 and self.statements:
                self.statements[-1].end = end
        return end

    def _outermost(self, sign: str, at: int, end: int) -> None:
        if sign == ";":
            self.head_ended = False
            return
        if self._begins(sign):
            self.statements.append(Statement(start=at, end=end))
        statement = self.statements[-1]
        statement.end = end
        if len(statement.words) < 4:
            statement.words.append(sign)
        self.head_ended = sign == ")" and self.headed
        if self.head_ended:
            self.headed = False
        elif sign in _HEADED:
            self.headed = True

    def _begins(self, sign: str) -> bool:
        if not self.statements or self.previous == "":
            return True
        if sign in _NEVER_FIRST or sign in _CLOSING or self.head_ended or self.previous in _EXPECTING:
            return False
        words = self.statements[-1].words
        if sign == "while" and words[:1] == ["do"]:
            return False
        if self.previous == ";":
            return True
        is_wordy = sign[0].isalnum() or sign[0] in "_$\"'@"
        if self.previous == "}" and words[0] in _ENDED_BY_BRACE:
            return is_wordy or sign in ("(", "[", "`", "++", "--")
        return self.fresh_line and is_wordy and (_ends(self.previous) or self.previous in ("++", "--"))

    def _regex_may_follow(self) -> bool:
        previous = self.previous
        if previous in _EXPECTING or previous == "":
            return True
        return not _ends(previous)


def _ends(sign: str) -> bool:
    """Whether something may be complete with it."""
    return sign[-1].isalnum() or sign[-1] in "_$\"'`)]}/"


def _last(text: str) -> str:
    """The last sign of a stretch without brackets, as far as anyone asks."""
    text = text[-40:].rstrip()
    if found := _LAST_WORD.search(text):
        return found[0]
    return text[-1:]
