"""Small facts about words: which known name someone may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name closest to `word`, if one is near enough to be a slip of the pen."""
    by_folded = {_fold(name): name for name in known}
    close = difflib.get_close_matches(_fold(word), by_folded, n=1, cutoff=0.7)
    return by_folded[close[0]] if close else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` Did you mean "x"?` with its leading space, or nothing."""
    name = nearest(word, known)
    return f' Did you mean "{name}"?' if name else ""


def _fold(word: str) -> str:
    return word.replace("_", "").replace("-", "").lower()
