"""Names on the client that do not exist, found by reading a script before it runs.

In: a script's text and the tree of the SDK's names; out: each wrong name with its line and what may have been
meant. Strings, comments and regular expressions do not count, nor do names that the script asks about
(`typeof client.x`, `client.x?.y`) or a `client` that it declares itself. What is missed here, the client
itself says at run time; what is said here is never wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ammeter.base.text import nearest

Tree = Mapping[str, Any]
"""Group or method by name; a method is None."""

_SKIPPED = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""", re.VERBOSE | re.DOTALL
)
_REGEX = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*")
# Where a value may begin, a slash begins a regular expression; elsewhere it divides.
_VALUE_BEGINS = re.compile(
    r"(?:^|[=(,:;!&|?{}\[>+*%~^<-]|\b(?:return|typeof|case|of|in|throw|await|void))\s*$"
)
_TEMPLATE_TEXT = re.compile(r"(?:\\.|\$(?!\{)|[^`\\$])*", re.DOTALL)
# What any object answers to, whatever the SDK has.
_SILENT = frozenset({"then", "catch", "finally", "toJSON", "constructor", "toString", "valueOf", "prototype"})
_STEP = r"\s*\.\s*([A-Za-z_$][\w$]*)"
_MAX_FOUND = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Invented:
    name: str
    """From the client on, up to the first step that does not exist."""
    line: int
    meant: str | None


def name_tree(sdk_names: Iterable[str]) -> Tree:
    tree: dict[str, Any] = {}
    for sdk_name in sdk_names:
        *groups, method = sdk_name.split(".")
        place = tree
        for group in groups:
            place = place.setdefault(group, {})
        place[method] = None
    return tree


def invented_names(code: str, client_name: str, tree: Tree) -> tuple[Invented, ...]:
    if client_name not in code:
        return ()
    text = _code_only(code)
    client = re.escape(client_name)
    if re.search(
        rf"\b(?:const|let|var|class|function|import)\s+{client}\b|[{{,]\s*{client}\s*[,}}]\s*=", text
    ):
        return ()
    found: dict[str, Invented] = {}
    for match in re.finditer(rf"(?<![\w$.]){client}((?:{_STEP})+)(\s*\?\.)?", text):
        if re.search(r"(?:typeof|\bin)\s*$", text[max(0, match.start() - 12) : match.start()]):
            continue
        steps = [step for step in re.split(r"\s*\.\s*", match[1].strip()) if step]
        wrong = _wrong_step(steps, tree)
        if wrong is None or (match[3] and wrong == len(steps) - 1):
            continue
        name = ".".join((client_name, *steps[: wrong + 1]))
        line = text.count("\n", 0, match.start()) + 1
        found.setdefault(name, Invented(name=name, line=line, meant=_meant(steps, wrong, tree, client_name)))
        if len(found) == _MAX_FOUND:
            break
    return tuple(found.values())


def _wrong_step(steps: list[str], tree: Tree) -> int | None:
    """Which step leaves the tree; None where all is well, or the rest belongs to a method."""
    place: Any = tree
    for i, step in enumerate(steps):
        if place is None or step in _SILENT:
            return None
        if step not in place:
            return i
        place = place[step]
    return None


def _meant(steps: list[str], wrong: int, tree: Tree, client_name: str) -> str | None:
    place: Any = tree
    for step in steps[:wrong]:
        place = place[step]
    beside = nearest(steps[wrong], place)
    if beside is not None:
        inner = place[beside]
        # What follows is named only where it exists there, or nearly.
        rest = nearest(steps[wrong + 1], inner) if inner is not None and wrong + 1 < len(steps) else None
        return ".".join((client_name, *steps[:wrong], beside, *([rest] if rest else [])))
    elsewhere = [path for path in _methods(tree, ()) if path[-1].lower() == steps[-1].lower()]
    return ".".join((client_name, *elsewhere[0])) if elsewhere else None


def _methods(tree: Tree, path: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    for name, inner in tree.items():
        if inner is None:
            yield (*path, name)
        else:
            yield from _methods(inner, (*path, name))


def _code_only(code: str) -> str:
    """The same text with strings, comments and regexes blanked, lines kept; `${…}` stays code."""
    out: list[str] = []
    place = 0
    depths: list[int] = []
    while place < len(code):
        char = code[place]
        if skipped := _skipped(code, place, out):
            out.append(_blank(skipped[0]))
            place = skipped.end()
        elif char == "`" or (char == "}" and depths and depths[-1] == 0):
            if char == "}":
                depths.pop()
            match = _TEMPLATE_TEXT.match(code, place + 1)
            assert match is not None, "it matches the empty text too"
            out.append(" " + _blank(match[0]))
            place = match.end()
            if code[place : place + 2] == "${":
                depths.append(0)
                out.append("  ")
                place += 2
            else:
                out.append(" ")
                place += 1
        else:
            if depths and char in "{}":
                depths[-1] += 1 if char == "{" else -1
            out.append(char)
            place += 1
    return "".join(out)


def _skipped(code: str, place: int, before: list[str]) -> re.Match[str] | None:
    if code[place] not in "/\"'":
        return None
    found = _SKIPPED.match(code, place)
    if found is None and code[place] == "/" and _VALUE_BEGINS.search("".join(before[-40:])):
        found = _REGEX.match(code, place)
    return found


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
