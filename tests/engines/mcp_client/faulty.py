"""Servers that do it wrong, each in one way: real sockets, a few lines of HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Answer = Callable[[bytes, bytes, asyncio.StreamWriter], Awaitable[None]]
"""The head of a request, its body, and where the answer goes."""


@asynccontextmanager
async def answering(answer: Answer) -> AsyncIterator[str]:
    """A server on a free port that gives this answer to every request; its URL."""
    tasks: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        tasks.add(task)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (
                        int(line.split(b":")[1])
                        for line in head.lower().split(b"\r\n")
                        if line.startswith(b"content-length")
                    ),
                    0,
                )
                await answer(head, await reader.readexactly(length), writer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def said(status: str, body: bytes = b"", kind: str = "application/json", **headers: str) -> Answer:
    async def answer(head: bytes, _: bytes, writer: asyncio.StreamWriter) -> None:
        more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
        writer.write(
            f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{more}\r\n".encode()
        )
        writer.write(body)

    return answer


async def silence(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def hang_up(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def nonsense(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
    """An answer of the protocol that holds nothing of what was asked for."""
    told = {"jsonrpc": "2.0", "id": json.loads(body or b"{}").get("id"), "result": {"no": "version"}}
    await said("200 OK", json.dumps(told).encode())(head, body, writer)


async def flood(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
    """50 MB of JSON, as far as somebody takes it."""
    size = 50 * 1024 * 1024
    writer.write(
        f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {size}\r\n\r\n".encode()
    )
    for _ in range(size // 65_536):
        writer.write(b" " * 65_536)
        await writer.drain()


async def flood_of_events(head: bytes, body: bytes, writer: asyncio.StreamWriter) -> None:
    """One event that does not end."""
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: ")
    for _ in range(50 * 1024 * 1024 // 65_536):
        writer.write(b"x" * 65_536)
        await writer.drain()
