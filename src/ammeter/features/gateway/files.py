"""Files in a result: binary values leave the JSON and become content of their own, which clients can show."""

from __future__ import annotations

import base64
import binascii
from typing import Any

_MAX_FILES = 10
_MAX_BASE64 = 14 * 1024 * 1024
_KEYS = frozenset({"base64", "contentType", "filename", "size"})


def take_files(value: Any) -> tuple[Any, tuple[dict[str, Any], ...]]:
    """The value with a note in place of each file, and the files as MCP content."""
    taker = _Taker()
    return taker.walk(value), tuple(taker.content)


class _Taker:
    def __init__(self) -> None:
        self.content: list[dict[str, Any]] = []
        self._left = _MAX_BASE64

    def walk(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.walk(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "base64" in value and value.keys() <= _KEYS and (taken := self._take(value)) is not None:
            return taken
        return {name: self.walk(member) for name, member in value.items()}

    def _take(self, value: dict[str, Any]) -> dict[str, Any] | None:
        data = value["base64"]
        kind = value.get("contentType") or "application/octet-stream"
        if not isinstance(data, str) or not isinstance(kind, str):
            return None
        try:
            size = len(base64.b64decode(data, validate=True))
        except (binascii.Error, ValueError):
            return None
        note: dict[str, Any] = {"contentType": kind, "bytes": size}
        if isinstance(value.get("filename"), str):
            note["filename"] = value["filename"]
        if len(self.content) == _MAX_FILES or len(data) > self._left:
            return {"file": "left out: too many or too large files in one result", **note}
        self._left -= len(data)
        self.content.append(_content(data, kind, len(self.content) + 1, note.get("filename")))
        return {"file": f"attached as file {len(self.content)}", **note}


def _content(data: str, kind: str, number: int, filename: str | None) -> dict[str, Any]:
    family = kind.partition("/")[0]
    if family in ("image", "audio"):
        return {"type": family, "data": data, "mimeType": kind}
    name = "".join(char for char in filename or "" if char.isalnum() or char in "._-") or f"file-{number}"
    return {
        "type": "resource",
        "resource": {"uri": f"ammeter://result/{number}/{name}", "mimeType": kind, "blob": data},
    }
