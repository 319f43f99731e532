"""The pieces of an answer leave together."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ammeter.doors.http.protocol import GatheringTransport


class Wire(asyncio.Transport):
    """What the system was handed, piece by piece."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.told.append(bytes(data))

    def close(self) -> None:
        self.told.append(b"<closed>")


async def told_after(wire: Wire, *turns: Sequence[bytes], close: bool = False) -> list[bytes]:
    """What the wire was told when each turn of the loop wrote these pieces."""
    transport = GatheringTransport(wire, asyncio.get_running_loop())
    for pieces in turns:
        before = list(wire.told)
        for piece in pieces:
            transport.write(piece)
        assert wire.told == before
        if close:
            transport.close()
        await asyncio.sleep(0)
    return wire.told


def test_what_is_written_in_one_turn_leaves_as_one_piece() -> None:
    assert asyncio.run(told_after(Wire(), [b"headers ", b"body"])) == [b"headers body"]


def test_the_next_turn_is_a_piece_of_its_own() -> None:
    assert asyncio.run(told_after(Wire(), [b"one"], [b"two"])) == [b"one", b"two"]


def test_a_close_leaves_nothing_behind() -> None:
    told = asyncio.run(told_after(Wire(), [b"the last ", b"words"], close=True))
    assert told == [b"the last words", b"<closed>"]
