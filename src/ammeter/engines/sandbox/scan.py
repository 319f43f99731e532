"""Where the statements of a text begin and end, as far as its outermost level goes. In goes JavaScript or
TypeScript, out come its statements with their places and first words.

This reads words, strings, comments and brackets, and no grammar: what it says is a guess that the parser
confirms. One pass, and no time that grows with the square of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_SPACE = re.compile(r"[\s\ufeff]+")
_TOKEN = re.compile(
    r"(?P<remark>//[^\n]*|/\*)"
    r"|(?P<word>[\w$#@]+|\"(?:[^\"\\\n]++|\\.)*+\"|'(?:[^'\\\n]++|\\.)*+')"
    r"|(?P<mark>=>|\+\+|--|[^\s])",
    re.DOTALL,
)
_TEMPLATE = re.compile(r"(?:[^`\\$]++|\\.|\$(?!\{))*+(`|\$\{|\Z)", re.DOTALL)
_REGEX = re.compile(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]++|\\.)*+\])++/\w*")
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
# After these a slash begins a regular expression, and a new line begins no statement.
_EXPECTING = frozenset(
    "return typeof instanceof in of new delete void throw case do else await yield async default extends".split()
)
_HEADED = frozenset(("if", "for", "while", "with"))
_NEVER_FIRST = frozenset(("else", "catch", "finally", "in", "of", "instanceof", "as", "satisfies", "from"))
_ENDED_BY_BRACE = frozenset(
    "function class if for while do try switch interface enum namespace module declare abstract export"
    " async".split()
)
_STATEMENTS = frozenset(
    "const let var if for while do try throw return switch import export interface enum namespace class"
    " declare abstract function break continue debugger with".split()
)


@dataclass(slots=True, kw_only=True)
class Statement:
    start: int
    end: int
    """After its last token, without semicolons and remarks."""
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
    places: list[tuple[int, str]]
    """Where the names stand that were asked for, outside strings and remarks."""


def scan(text: str, names: frozenset[str] = frozenset()) -> Scanned:
    scanner = _Scanner(text, names)
    scanner.run()
    return Scanned(statements=scanner.statements, places=scanner.places)


class _Scanner:
    def __init__(self, text: str, names: frozenset[str]) -> None:
        self.text, self.names = text, names
        self.statements: list[Statement] = []
        self.places: list[tuple[int, str]] = []
        self.depth = 0
        self.previous = ""
        self.fresh_line = False
        self.headed = False
        """The next closing parenthesis at the outermost level ends the head of a loop or condition."""
        self.head_ended = False
        self.templates: list[int] = []
        self.no_regex_before = 0

    def run(self) -> None:
        text, at, size = self.text, 0, len(self.text)
        while at < size:
            if space := _SPACE.match(text, at):
                self.fresh_line |= "\n" in space[0]
                at = space.end()
                continue
            found = _TOKEN.match(text, at)
            if found is None:
                break
            if found.lastgroup == "remark":
                at = self._remark(found)
                continue
            at = self._token(found, at)

    def _remark(self, found: re.Match[str]) -> int:
        if found[0] != "/*":
            return found.end()
        end = self.text.find("*/", found.end())
        end = len(self.text) if end < 0 else end + 2
        self.fresh_line |= self.text.find("\n", found.end(), end) >= 0
        return end

    def _token(self, found: re.Match[str], at: int) -> int:
        token, end = found[0], found.end()
        if token == "/" and at >= self.no_regex_before and self._regex_may_follow():
            if regex := _REGEX.match(self.text, at):
                token, end = "/regex/", regex.end()
            else:
                # Looked for once per line: a line of slashes would be read again from each of them.
                self.no_regex_before = self.text.find("\n", at) % (len(self.text) + 1)
        if token == "}" and self.templates and self.templates[-1] == self.depth:
            # The end of ${…}: the text of the template goes on.
            self.templates.pop()
            self.depth -= 1
            return self._template(end)
        if token in _CLOSING:
            self.depth = max(self.depth - 1, 0)
        if self.depth == 0:
            self._outermost(token, at, end)
        if token in self.names and self.previous != ".":
            self.places.append((at, token))
        self.previous, self.fresh_line = token, False
        if token == "`":
            return self._template(end)
        if token in _OPENING:
            self.depth += 1
        return end

    def _template(self, at: int) -> int:
        found = _TEMPLATE.match(self.text, at)
        end = found.end() if found else len(self.text)
        if found and found[1] == "${":
            self.depth += 1
            self.templates.append(self.depth)
            self.previous = "{"
        else:
            self.previous = "`"
            if self.depth == 0 and self.statements:
                self.statements[-1].end = end
        return end

    def _outermost(self, token: str, at: int, end: int) -> None:
        if token == ";":
            self.head_ended = False
            return
        if self._begins(token):
            self.statements.append(Statement(start=at, end=end))
        statement = self.statements[-1]
        statement.end = end
        if len(statement.words) < 4:
            statement.words.append(token)
        self.head_ended = token == ")" and self.headed
        if self.head_ended:
            self.headed = False
        elif token in _HEADED:
            self.headed = True

    def _begins(self, token: str) -> bool:
        if not self.statements or self.previous == "":
            return True
        if token in _NEVER_FIRST or token in _CLOSING or self.head_ended or self.previous in _EXPECTING:
            return False
        words = self.statements[-1].words
        if token == "while" and words[:1] == ["do"]:
            return False
        if self.previous == ";":
            return True
        is_wordy = token[0].isalnum() or token[0] in "_$\"'@"
        if self.previous == "}" and words[0] in _ENDED_BY_BRACE:
            return is_wordy or token in ("(", "[", "`", "++", "--")
        ended = self.previous[-1].isalnum() or self.previous[-1] in "_$\"'`)]}/" or self.previous in ("++", "--")
        return self.fresh_line and is_wordy and ended

    def _regex_may_follow(self) -> bool:
        previous = self.previous
        if previous in _EXPECTING or previous == "":
            return True
        return not (previous[-1].isalnum() or previous[-1] in "_$\"'`)]}/")
