"""The pieces of an answer leave together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ammeter.doors.http.protocol import GatheringTransport, Piece


class Wire(asyncio.Transport):
    """What the system was handed, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[bytes] = []

    def write(self, data: Piece) -> None:
        self.told.append(bytes(data))

    def close(self) -> None:
        self.told.append(b"<closed>")


async def told_after(*turns: Sequence[bytes], close: bool = False) -> list[list[bytes]]:
    """What the wire was told by the end of each turn of the loop that wrote these pieces."""
    wire = Wire()
    transport = GatheringTransport(wire, asyncio.get_running_loop())
    told = []
    for pieces in turns:
        for piece in pieces:
            transport.write(piece)
        if close:
            transport.close()
        told.append(list(wire.told))
        await asyncio.sleep(0)
    return [*told, wire.told]


def test_headers_leave_with_the_body() -> None:
    assert asyncio.run(told_after([b"headers ", b"body"])) == [[b"headers body"], [b"headers body"]]


def test_headers_do_not_wait_for_a_body_that_is_not_there_yet() -> None:
    told = asyncio.run(told_after([b"headers"], [b"event"]))
    assert told == [[], [b"headers"], [b"headers", b"event"]]


def test_a_close_leaves_nothing_behind() -> None:
    told = asyncio.run(told_after([b"the last words"], close=True))
    assert told == [[b"the last words", b"<closed>"]] * 2
