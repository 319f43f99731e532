"""The header that an agent writes above its script: `@intent`, `@context`, `@frustration_level` and
whatever other tags it has. Any text in, a Header out; never a fault, as a header is a courtesy.

Tolerant on purpose: agents fence the code, write `//` lines, leave stars out, put code in front.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ammeter.engines.sandbox.code import unfenced

_MAX_HEADER = 16_000
_MAX_TAGS = 32
_MAX_TEXT = 2_000

_BLANK = re.compile(r"\s+")
# What may stand above the header: a directive, an import, the opening of the function around it all.
_PREAMBLE = re.compile(
    r"""["']use\ strict["'];?|import\b[^\n;]*;?|return\b|export\s+default\b
    | (?:async\s+)?function\b[^\n(){]*\([^\n()]*\)[^\n{]*\{ | (?:async\s*)?\([^\n()]*\)\s*=>\s*\{ | \(""",
    re.VERBOSE,
)
# Several tags on one line.
_INNER = re.compile(r"[ \t]@(?=intent\b|context\b|frustration)")
_STAR = re.compile(r"^[ \t]*(?:\*+(?!/)[ \t]?|///?[ \t]?)?")
_TAG = re.compile(r"@([A-Za-z][\w.-]{0,63})[ \t]*:?[ \t]*")
_LEVEL = re.compile(r"(\d{1,3})(?:\.\d+)?(?:\s*(?:/|out of|of)\s*(\d{1,3}))?(?![\d.])")
_WORD = re.compile(r"[a-z]+(?: [a-z]+)?")

_WORDS = {
    "none": 0,
    "no": 0,
    "zero": 0,
    "not frustrated": 0,
    "calm": 0,
    "very low": 1,
    "minimal": 1,
    "slight": 2,
    "slightly": 2,
    "mild": 2,
    "low": 2,
    "little": 2,
    "some": 4,
    "moderate": 5,
    "medium": 5,
    "mid": 5,
    "neutral": 5,
    "elevated": 6,
    "high": 8,
    "frustrated": 8,
    "very high": 9,
    "severe": 9,
    "extreme": 10,
    "extremely high": 10,
    "max": 10,
    "maximum": 10,
}
_INTENT, _CONTEXT, _FRUSTRATION = "intent", "context", "frustration_level"
_SPELLED = {"frustration": _FRUSTRATION, "frustrationlevel": _FRUSTRATION, "frustration-level": _FRUSTRATION}


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    intent: str | None = None
    context: str | None = None
    frustration: int | None = None
    frustration_text: str | None = None
    """What was written where it is no level: kept, and counted as unknown."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """All other tags, by their names in lower case."""

    @property
    def is_missing(self) -> bool:
        return self.intent is None and self.context is None and not self.says_frustration

    @property
    def says_frustration(self) -> bool:
        return self.frustration is not None or self.frustration_text is not None


def parse_header(code: str) -> Header:
    head = code[:_MAX_HEADER]
    if "@" not in head:
        return Header()
    found: dict[str, str] = {}
    for name, text in _tags(_leading_comment(unfenced(head))):
        if text and len(found) < _MAX_TAGS:
            found.setdefault(name, text[:_MAX_TEXT])
    level_text = found.pop(_FRUSTRATION, None)
    level = None if level_text is None else frustration_level(level_text)
    return Header(
        intent=found.pop(_INTENT, None),
        context=found.pop(_CONTEXT, None),
        frustration=level,
        frustration_text=level_text if level is None else None,
        tags=found,
    )


def frustration_level(text: str) -> int | None:
    """0 to 10 from `7`, `7/10`, `3 of 5` or a word such as `high`; None where it says no level."""
    said = text.strip().strip("\"'`().[]").lower()
    if number := _LEVEL.match(said):
        level, scale = int(number[1]), int(number[2] or 10)
        if scale < 1 or level > scale:
            return None
        return level if scale == 10 else round(10 * level / scale)
    words = _WORD.match(said)
    if not words:
        return None
    both = words[0]
    return _WORDS.get(both, _WORDS.get(both.split(" ", maxsplit=1)[0]))


def _leading_comment(code: str) -> str:
    """The comments before the first code, without their marks. A header is looked for further on only
    behind what agents put in front of one."""
    at, parts = 0, list[str]()
    while True:
        if blank := _BLANK.match(code, at):
            at = blank.end()
        if code.startswith("/*", at):
            end = code.find("*/", at + 2)
            parts.append(code[at + 2 : end if end >= 0 else len(code)].lstrip("*"))
            at = end + 2 if end >= 0 else len(code)
        elif code.startswith("//", at):
            end = code.find("\n", at)
            parts.append(code[at : end if end >= 0 else len(code)])
            at = end + 1 if end >= 0 else len(code)
        elif not parts and code.startswith("*", at):
            # The opening mark was left out.
            end = code.find("*/", at)
            return code[at : end if end >= 0 else at]
        elif not parts and (ahead := _PREAMBLE.match(code, at)):
            at = ahead.end()
        else:
            return "\n".join(parts)


def _tags(comment: str) -> Iterator[tuple[str, str]]:
    """Each tag and its text, which goes on until the next tag or an empty line."""
    name, lines = "", list[str]()
    for raw in _INNER.sub("\n@", comment).splitlines():
        line = _STAR.sub("", raw, count=1).strip()
        tag = _TAG.match(line)
        if tag is None and line and name:
            lines.append(line)
            continue
        if name:
            yield name, " ".join(lines).strip()
            name = ""
        if tag:
            given = tag[1].lower()
            name, lines = _SPELLED.get(given, given), [line[tag.end() :]]
    if name:
        yield name, " ".join(lines).strip()
