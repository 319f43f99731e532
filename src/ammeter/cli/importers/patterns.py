"""Texts as patterns of a final answer, where an assertion of ours has no word of its own. None where a
pattern would be too large or is not one that can be run."""

from __future__ import annotations

import re
from collections.abc import Sequence


def usable(pattern: str) -> str | None:
    # Imported here: its parser is for those who use it.
    from ammeter.engines.compiler.iregexp import BadPattern, Pattern

    try:
        Pattern(pattern, search=True)
    except (BadPattern, RecursionError):
        return None
    return pattern


def any_of(texts: Sequence[str], *, ignore_case: bool = False) -> str | None:
    return usable(f"({'|'.join(_literal(text, ignore_case=ignore_case) for text in texts)})")


def starts_with(texts: Sequence[str]) -> str | None:
    return usable(f"^({'|'.join(_literal(text) for text in texts)})")


def equal_to(text: str) -> str | None:
    return usable(f"^{_literal(text)}$")


def _literal(text: str, *, ignore_case: bool = False) -> str:
    if not ignore_case:
        return "".join(_character(c) for c in text)
    return "".join(
        f"[{c.lower()}{c.upper()}]"
        if c.isalpha() and len(c.lower()) == len(c.upper()) == 1 and c.lower() != c.upper()
        else _character(c)
        for c in text
    )


def _character(character: str) -> str:
    named = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}.get(character)
    return named or (f"\\{character}" if re.match(r"[-.\\?*+{}()\[\]|^$]", character) else character)
