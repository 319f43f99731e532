"""Memory images kept so that instances share their pages: one file in memory, opened before a worker locks
itself in, with a slot for each image. An instance maps its image over its own memory, privately: only the
pages that it writes to are copied.

In goes an image's memory, out comes a slot. Where the system has no such files there is no shelf, and
whoever wants an image copies it.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence

SLOT_BYTES = 32 << 20
_SLOTS = 64
_READ_WRITE, _SHARED, _PRIVATE, _FIXED = 3, 1, 2, 16
_REMOVE, _POPULATE_WRITE = 9, 23
_FAILED = ctypes.c_void_p(-1).value


class Shelf:
    """`open_shelf` makes one."""

    def __init__(self, descriptor: int, libc: ctypes.CDLL) -> None:
        self._descriptor, self._libc = descriptor, libc
        self._free = list(range(_SLOTS))

    def put(self, runs: Sequence[tuple[int, bytes]]) -> Slot | None:
        """None where the image is too large or no slot is left: then it has to be copied."""
        end = max((place + len(content) for place, content in runs), default=0)
        if not self._free or end > SLOT_BYTES:
            return None
        number = self._free.pop()
        area = self.map(0, end, number * SLOT_BYTES, _SHARED)
        for place, content in runs:
            ctypes.memmove(area + place, content, len(content))
        self._libc.munmap(ctypes.c_void_p(area), ctypes.c_size_t(end))
        return Slot(self, number, [(place, len(content)) for place, content in runs])

    def map(self, address: int, size: int, offset: int, flags: int) -> int:
        area: int | None = self._libc.mmap(
            ctypes.c_void_p(address or None),
            ctypes.c_size_t(size),
            *(_READ_WRITE, flags, self._descriptor),
            ctypes.c_int64(offset),
        )
        if area is None or area == _FAILED:
            raise OSError(ctypes.get_errno(), "an image cannot be mapped")
        return area

    def fill(self, address: int, size: int) -> None:
        self._libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), _POPULATE_WRITE)

    def give_back(self, number: int) -> None:
        area = self.map(0, SLOT_BYTES, number * SLOT_BYTES, _SHARED)
        self._libc.madvise(ctypes.c_void_p(area), ctypes.c_size_t(SLOT_BYTES), _REMOVE)
        self._libc.munmap(ctypes.c_void_p(area), ctypes.c_size_t(SLOT_BYTES))
        self._free.append(number)


class Slot:
    """One image. Whoever uses it keeps it: its memory goes back when nobody does."""

    def __init__(self, shelf: Shelf, number: int, ranges: list[tuple[int, int]]) -> None:
        self._shelf, self._number, self._ranges = shelf, number, ranges

    def map_over(self, base: int) -> None:
        start = self._number * SLOT_BYTES
        for place, size in self._ranges:
            self._shelf.map(base + place, size, start + place, _PRIVATE | _FIXED)

    def fill(self, base: int, spans: Sequence[tuple[int, int]]) -> None:
        """Copy these pages now, a span at once: one by one, as they are written to, takes twice as long.
        A system that has no such call copies them then."""
        for place, size in spans:
            self._shelf.fill(base + place, size)

    def __del__(self) -> None:
        self._shelf.give_back(self._number)


def open_shelf() -> Shelf | None:
    if sys.platform != "linux":
        return None
    try:
        descriptor = os.memfd_create("ammeter-images")
        os.ftruncate(descriptor, SLOT_BYTES * _SLOTS)
    except OSError:
        return None
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    return Shelf(descriptor, libc)
