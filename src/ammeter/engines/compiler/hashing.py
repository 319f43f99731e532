"""The fingerprint of a JSON value: the same for the same content, whatever text it came from.

Keys are sorted, nothing stands between tokens, and a number that is whole is written as an integer.
Absent: any meaning of the value; two equal specs with differently ordered lists differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from operator import is_not
from typing import Any

_PLAIN = frozenset({str, int, bool, type(None)})


def canonical_hash(value: Any) -> str:
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()


def canonical_json(value: Any) -> bytes:
    text = json.dumps(_whole(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def _whole(value: Any) -> Any:
    """Whole numbers as integers; what has none stays as it is, for most of a description has none."""
    kind = type(value)
    if kind is float:
        return int(value) if value.is_integer() else value
    if kind is dict or isinstance(value, Mapping):
        changed = {}
        for key, inner in value.items():
            if type(inner) not in _PLAIN and (whole := _whole(inner)) is not inner:
                changed[key] = whole
        return {**value, **changed} if changed or kind is not dict else value
    if kind is list or kind is tuple:
        items = [inner if type(inner) in _PLAIN else _whole(inner) for inner in value]
        return items if any(map(is_not, items, value)) else value
    return value
