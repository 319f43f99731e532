"""HTTP/1.1 of the server, with one change: the headers of an answer leave together with its body.

uvicorn hands them to the system one after the other. Each time costs both sides as much as a small read of
the database, and the client wakes up for headers alone.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

Piece = bytes | bytearray | memoryview


class GatheringTransport(asyncio.Transport):
    """The connection as uvicorn sees it: a piece waits for the next one, at most one turn of the loop."""

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._inner = inner
        self._loop = loop
        self._waiting: Piece = b""
        self.get_extra_info = inner.get_extra_info  # type: ignore[method-assign]
        self.is_closing = inner.is_closing  # type: ignore[method-assign]
        self.pause_reading = inner.pause_reading  # type: ignore[method-assign]
        self.resume_reading = inner.resume_reading  # type: ignore[method-assign]

    def write(self, data: Piece) -> None:
        if self._waiting:
            data, self._waiting = b"".join((self._waiting, data)), b""
            self._inner.write(data)
        else:
            self._waiting = data
            self._loop.call_soon(self._flush)

    def close(self) -> None:
        self._flush()
        self._inner.close()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._flush()
        self._inner.set_protocol(protocol)

    def _flush(self) -> None:
        if self._waiting:
            data, self._waiting = self._waiting, b""
            self._inner.write(data)


class GatheringProtocol(HttpToolsProtocol):
    def connection_made(self, transport: Any) -> None:
        super().connection_made(GatheringTransport(transport, self.loop))
