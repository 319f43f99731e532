"""The fingerprint of a JSON value: the same for the same content, whatever text it came from.

Keys are sorted, nothing stands between tokens, and a number that is whole is written as an integer.
Absent: any meaning of the value; two equal specs with differently ordered lists differ.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any


def canonical_hash(value: Any) -> str:
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()


def canonical_json(value: Any) -> bytes:
    text = json.dumps(_whole(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text.encode("utf-8", "surrogatepass")


def _whole(value: Any) -> Any:
    kind = type(value)
    if kind is str or kind is int:
        return value
    if kind is dict:
        return {key: _whole(inner) for key, inner in value.items()}
    if kind is list or kind is tuple:
        return [_whole(inner) for inner in value]
    if kind is float:
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        return {key: _whole(inner) for key, inner in value.items()}
    return value
