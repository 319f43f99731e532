"""Compressed answers, opened with a bound on what comes out, so that a small answer cannot become a huge
one in memory."""

from __future__ import annotations

import zlib

ENCODINGS = "gzip, deflate"


class TooLarge(Exception):
    pass


class NotPacked(Exception):
    """The bytes are not what their encoding says."""


def unpack(raw: bytes, encoding: str, most: int) -> bytes:
    if encoding in ("gzip", "x-gzip"):
        return _inflate(raw, 16 + zlib.MAX_WBITS, most)
    if encoding == "deflate":
        # Some servers send the bare stream without zlib's two bytes in front.
        wrapped = len(raw) > 1 and raw[0] & 0x0F == 8 and (raw[0] * 256 + raw[1]) % 31 == 0
        return _inflate(raw, zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS, most)
    raise NotPacked(f"The API's answer is encoded as {encoding[:40]!r}, which was not asked for.")


def _inflate(raw: bytes, window: int, most: int) -> bytes:
    parts: list[bytes] = []
    left = most
    while raw:
        stream = zlib.decompressobj(window)
        try:
            part = stream.decompress(raw, left + 1)
        except zlib.error:
            raise NotPacked("The API's answer is not compressed as it says.") from None
        left -= len(part)
        if left < 0:
            raise TooLarge
        if not stream.eof:
            raise NotPacked("The API's compressed answer ends too early.")
        parts.append(part)
        # A gzip file may be several, one after the other; zeros at the end are padding.
        raw = stream.unused_data.lstrip(b"\0") if window > zlib.MAX_WBITS else b""
    return b"".join(parts)
