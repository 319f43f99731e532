"""Which host names this server answers to: a page on another site that points its own name here
(DNS rebinding) gets nothing."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")


class AllowedHosts:
    def __init__(self, patterns: Sequence[str], *, public_url: str) -> None:
        parts = urlsplit(public_url)
        own = parts.netloc.rpartition("@")[2].removesuffix(f":{parts.port}").lower()
        words = {*_LOOPBACK, own, *(pattern.lower() for pattern in patterns)}
        self._any = "*" in words
        self._exact = {word for word in words if not word.startswith("*.")}
        self._suffixes = tuple(word[1:] for word in words if word.startswith("*."))

    def allows(self, host_header: bytes) -> bool:
        if self._any:
            return True
        name, colon, port = host_header.decode("latin-1").lower().rpartition(":")
        if not colon or not port.isdigit():
            name = host_header.decode("latin-1").lower()
        return name in self._exact or (bool(self._suffixes) and name.endswith(self._suffixes))
