"""A value made to fit: what is too long is shortened where it is longest, the rest stays whole, and it is
still JSON. Each cut is told in place and in a list of paths.

Room is shared out level by level: members that need less than their share keep all of themselves, the large
ones share what is left. So a long list never pushes its neighbours out.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

_MAX_CUTS = 20
_NOTE = 40
"""Room that the word about a cut takes."""
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    path: str
    kept: int
    of: int
    what: str
    """characters, items or fields"""


def size(value: Any) -> int:
    """Characters that a value takes as JSON."""
    return len(_encoder.encode(value))


def fit(value: Any, room: int) -> tuple[Any, tuple[Cut, ...]]:
    if size(value) <= room:
        return value, ()
    fitter = _Fitter()
    return fitter.fit(value, max(room, _NOTE), "result"), tuple(fitter.cuts[:_MAX_CUTS])


class _Fitter:
    def __init__(self) -> None:
        self.cuts: list[Cut] = []

    def fit(self, value: Any, room: int, path: str) -> Any:
        if size(value) <= room:
            return value
        if isinstance(value, str):
            return self._text(value, room, path)
        if isinstance(value, list):
            return self._items(value, room, path)
        if isinstance(value, dict):
            return self._members(value, room, path)
        return value

    def _cut(self, path: str, kept: int, of: int, what: str) -> str:
        self.cuts.append(Cut(path=path, kept=kept, of=of, what=what))
        return f"… {of - kept:,} more of {of:,} {what}"

    def _text(self, value: str, room: int, path: str) -> str:
        kept = max(0, min(len(value), room - _NOTE))
        # Some characters take more than one place in JSON.
        while kept and (over := size(value[:kept]) - (room - _NOTE)) > 0:
            kept = max(0, kept - max(1, over // 6))
        return value[:kept] + self._cut(path, kept, len(value), "characters")

    def _items(self, value: list[Any], room: int, path: str) -> list[Any]:
        left = room - 2 - _NOTE
        kept: list[Any] = []
        for i, item in enumerate(value):
            needed = size(item) + 1
            if needed > left and (kept or left < 2 * _NOTE):
                break
            kept.append(item if needed <= left else self.fit(item, left - 1, f"{path}[{i}]"))
            left -= min(needed, left)
        if len(kept) < len(value):
            kept.append(self._cut(path, len(kept), len(value), "items"))
        return kept

    def _members(self, value: dict[str, Any], room: int, path: str) -> dict[str, Any]:
        left = room - 2 - _NOTE
        chosen: dict[str, int] = {}
        promised = 0
        for name, member in value.items():
            needed = size(member)
            least = size(name) + 2 + min(needed, 2 * _NOTE)
            if promised + least > left:
                break
            promised += least
            chosen[name] = needed
        shares = _shares(chosen, left - sum(size(name) + 2 for name in chosen))
        made = {name: self.fit(value[name], shares[name], _step(path, name)) for name in chosen}
        if len(made) < len(value):
            made["…"] = self._cut(path, len(made), len(value), "fields")
        return made


def _shares(needs: dict[str, int], room: int) -> dict[str, int]:
    """Room for each: the small ones in full, the large ones alike."""
    shares: dict[str, int] = {}
    left, count = room, len(needs)
    for name, need in sorted(needs.items(), key=lambda pair: pair[1]):
        shares[name] = min(need, left // count)
        left -= shares[name]
        count -= 1
    return shares


def _step(path: str, name: str) -> str:
    return f"{path}.{name}" if _NAME.fullmatch(name) else f"{path}[{json.dumps(name, ensure_ascii=False)}]"
