"""The only way out for a confined process: a CONNECT proxy on a socket file, which lets through what the
policy names, and of that only addresses that the guard has checked.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from ammeter.engines.egress.guard import ForbiddenAddress, Guard
from ammeter.engines.hosting.port import NetworkPolicy

_CONNECT = re.compile(rb"CONNECT (\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5}) HTTP/1\.[01]\r\n")
_HEAD_BYTES = 16_384
_USUAL_PORTS = (80, 443)
_CONNECT_S = 10.0
_PIECE = 65_536


@asynccontextmanager
async def proxy(path: str, policy: NetworkPolicy, guard: Guard) -> AsyncIterator[None]:
    running: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        running.add(task)
        try:
            await _serve(reader, writer, policy, guard)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            running.discard(task)
            writer.close()

    server = await asyncio.start_unix_server(serve, path, limit=_HEAD_BYTES)
    try:
        yield
    finally:
        server.close()
        for task in list(running):
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def is_allowed(policy: NetworkPolicy, host: str, port: int) -> bool:
    if policy.mode == "open":
        return True
    return policy.mode == "allowlist" and any(_matches(entry, host, port) for entry in policy.allow)


def _matches(entry: str, host: str, port: int) -> bool:
    name, colon, told = entry.rpartition(":") if re.search(r":[0-9]+$", entry) else (entry, "", "")
    if port != int(told) if colon else port not in _USUAL_PORTS:
        return False
    if name.startswith("*."):
        return host.endswith(name[1:])
    return host == name.strip("[]")


async def _serve(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, policy: NetworkPolicy, guard: Guard
) -> None:
    async with asyncio.timeout(_CONNECT_S):
        head = await reader.readuntil(b"\r\n\r\n")
    asked = _CONNECT.match(head)
    if asked is None:
        await _refuse(writer, 405, "Only CONNECT is spoken here; use https.")
        return
    host, port = asked[1].decode().strip("[]").lower().rstrip("."), int(asked[2])
    if not is_allowed(policy, host, port):
        await _refuse(writer, 403, f"The source's network policy does not allow {host}:{port}.")
        return
    try:
        async with asyncio.timeout(_CONNECT_S):
            addresses = await guard.addresses(host, port)
            there, back = await asyncio.open_connection(addresses[0], port)
    except ForbiddenAddress as fault:
        await _refuse(writer, 403, str(fault))
        return
    except (OSError, TimeoutError):
        await _refuse(writer, 502, f"{host}:{port} cannot be reached.")
        return
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    try:
        await asyncio.gather(_pump(reader, back), _pump(there, writer))
    finally:
        back.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while piece := await reader.read(_PIECE):
            writer.write(piece)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()


async def _refuse(writer: asyncio.StreamWriter, status: int, message: str) -> None:
    body = message.encode()
    head = f"HTTP/1.1 {status} Refused\r\ncontent-type: text/plain\r\ncontent-length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
