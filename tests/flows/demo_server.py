"""`ammeter serve --demo` as a user starts it, ready to answer agents: a real process with Harbour
Books behind `/product-mcp/demo-api`; and a door for programs that cannot send a key.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.household import CACHE
from tests.server import Server, running, until

HEAD_END = b"\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Demo:
    server: Server
    folder: Path
    key: str

    @property
    def endpoint(self) -> str:
        return f"{self.server.url}/product-mcp/demo-api"


@contextmanager
def serving_demo(folder: Path, **settings: str) -> Iterator[Demo]:
    # The demo tells its own address to its bundle, so the port is chosen before.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    settings = {"port": str(port), "cache_dir": str(CACHE)} | settings
    with running(folder, "--demo", name="demo", **settings) as server:
        until(lambda: "is served" in server.log.read_text(), "the demo's bundle is served", 60)
        yield Demo(server, folder, json.loads((folder / "demo.json").read_text())["token"])


@contextmanager
def with_key(demo: Demo) -> Iterator[str]:
    """An address at which the endpoint answers whoever comes: requests pass unchanged but for the key."""
    ready = threading.Event()
    told: list[Any] = []

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = int(demo.server.url.rpartition(":")[2])
        up_reader, up_writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(_copy(up_reader, writer))
                both.create_task(_requests(reader, up_writer, demo.key))
        except* (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            await _closed(up_writer)
            await _closed(writer)

    async def serve() -> None:
        under_way: set[asyncio.Task[None]] = set()

        def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            under_way.add(asyncio.create_task(connection(reader, writer)))

        stop = asyncio.Event()
        async with await asyncio.start_server(begin, "127.0.0.1", 0) as server:
            told[:] = [server.sockets[0].getsockname()[1], asyncio.get_running_loop(), stop]
            ready.set()
            await stop.wait()
        for task in under_way:
            task.cancel()
        await asyncio.gather(*under_way, return_exceptions=True)

    thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
    thread.start()
    assert ready.wait(5)
    port, loop, stop = told
    try:
        yield f"http://127.0.0.1:{port}/product-mcp/demo-api"
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)


async def _closed(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(ConnectionError):
        await writer.wait_closed()


async def _requests(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, key: str) -> None:
    """Each request with the key; its body has a length, as those of all clients here."""
    while head := await _head(reader):
        lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"authorization:")]
        sizes = [line.partition(b":")[2] for line in lines if line.lower().startswith(b"content-length:")]
        body = await reader.readexactly(int(sizes[0])) if sizes else b""
        lines.append(b"authorization: Bearer " + key.encode())
        writer.write(b"\r\n".join(lines) + HEAD_END + body)
        await writer.drain()
    writer.write_eof()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return (await reader.readuntil(HEAD_END)).removesuffix(HEAD_END)
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise
        return b""


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.close()
