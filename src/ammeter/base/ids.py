"""Ids. Every record's id is a UUIDv7 string, so that ids sort by the time they were made."""

from __future__ import annotations

import os
import re
import time
from datetime import datetime

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def new_id() -> str:
    """A fresh UUIDv7 (RFC 9562): 48 bits of milliseconds, 12 bits of their fraction, 62 random bits.

    The fraction (the RFC's method 3) keeps the order of what one process makes within a millisecond:
    lists that show the newest first sort by id.
    """
    millis, nanos = divmod(time.time_ns(), 1_000_000)
    fraction = (nanos << 12) // 1_000_000
    random = int.from_bytes(os.urandom(8), "big") >> 2
    made = f"{millis << 80 | 0x7 << 76 | fraction << 64 | 0x2 << 62 | random:032x}"
    return f"{made[:8]}-{made[8:12]}-{made[12:16]}-{made[16:20]}-{made[20:]}"


def first_id_at(at: datetime) -> str:
    """What every id sorts after that was made at this instant or later, and before it all earlier ones."""
    millis = f"{round(at.timestamp() * 1000):012x}"
    return f"{millis[:8]}-{millis[8:]}"


def is_id(text: str) -> bool:
    """Whether `text` is written as our ids are; anything else is answered as unknown."""
    return _UUID.fullmatch(text) is not None
