"""HTTP/1.1 of the server, with one change: what an answer writes within one turn of the loop leaves at once.

uvicorn hands the headers and the body of an answer to the system one after the other. Each time costs both
sides as much as a small read of the database, and the client wakes up for headers alone.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class GatheringTransport(asyncio.Transport):
    """The connection as uvicorn sees it: writes are gathered until the loop's next turn."""

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__()
        self._inner = inner
        self._loop = loop
        self._gathered: list[bytes | bytearray | memoryview] = []
        self.get_extra_info = inner.get_extra_info  # type: ignore[method-assign]
        self.is_closing = inner.is_closing  # type: ignore[method-assign]
        self.pause_reading = inner.pause_reading  # type: ignore[method-assign]
        self.resume_reading = inner.resume_reading  # type: ignore[method-assign]

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if not self._gathered:
            self._loop.call_soon(self._flush)
        self._gathered.append(data)

    def close(self) -> None:
        self._flush()
        self._inner.close()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        self._flush()
        self._inner.set_protocol(protocol)

    def _flush(self) -> None:
        if self._gathered:
            gathered, self._gathered = self._gathered, []
            self._inner.write(b"".join(gathered))


class GatheringProtocol(HttpToolsProtocol):
    def connection_made(self, transport: Any) -> None:
        super().connection_made(GatheringTransport(transport, self.loop))
