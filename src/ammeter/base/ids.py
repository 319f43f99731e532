"""Ids. Every record's id is a UUIDv7 string, so that ids sort by the time they were made."""

from __future__ import annotations

import os
import re
import time
import uuid

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def new_id() -> str:
    """A fresh UUIDv7 (RFC 9562): 48 bits of milliseconds, then version, variant and 74 random bits."""
    millis = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10), "big")
    value = (millis & (1 << 48) - 1) << 80 | random
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))


def is_id(text: str) -> bool:
    """Whether `text` is written as our ids are; anything else is answered as unknown."""
    return _UUID.fullmatch(text) is not None
