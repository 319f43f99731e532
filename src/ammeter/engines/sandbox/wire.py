"""What passes between the pool and a worker: frames of a size, a number and a kind. The number is a script's,
or an image's where the kind says so. Both sides cut frames with the same reader, and each refuses sizes
that the other never sends.

Meaning is absent: payloads are bytes here, and whatever a guest said is not looked at.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from enum import IntEnum

HEADER = struct.Struct("<IIB")
RUN = struct.Struct("<IQII")
"""Before a script's text: image, memory bytes, CPU milliseconds, bytes of one answer."""
SAID = struct.Struct("<IIB")
"""Before what the guest said: CPU microseconds so far, how many deliveries it has taken in, and which
reading of the script it runs, with FULL where most of its memory is used."""
FULL = 0x80
MAX_FRAME_BYTES = 96 << 20


class ToWorker(IntEnum):
    SETUP = 0
    IMAGE = 1
    FORGET = 2
    RUN = 3
    DELIVER = 4
    CANCEL = 5
    PING = 6


class ToPool(IntEnum):
    READY = 0
    SAID = 1
    MAP = 2
    UNPARSED = 3
    STOPPED = 4
    PONG = 5
    FAULT = 6


class FrameTooLarge(Exception):
    pass


def frame(number: int, kind: int, payload: bytes = b"") -> bytes:
    return HEADER.pack(len(payload), number, kind) + payload


class FrameReader:
    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Each whole frame: number, kind, payload."""
        buffer = self._buffer
        buffer += data
        at = 0
        try:
            while len(buffer) - at >= HEADER.size:
                size, number, kind = HEADER.unpack_from(buffer, at)
                if size > MAX_FRAME_BYTES:
                    raise FrameTooLarge
                end = at + HEADER.size + size
                if len(buffer) < end:
                    break
                payload = bytes(buffer[at + HEADER.size : end])
                at = end
                yield number, kind, payload
        finally:
            del buffer[:at]
