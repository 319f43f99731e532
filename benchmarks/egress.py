"""CPU time of this process for one call to an API on this machine over a connection that is kept: HTTP
clients side by side, then our own way out, alone and with everything that a script's call passes through.

    .venv/bin/python -m benchmarks.egress
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import httpcore2
import httptools
import httpx2
import uvloop

from ammeter.engines.egress.auth import HeaderCredential
from ammeter.engines.egress.base_url import parse_base
from ammeter.engines.egress.client import Egress
from ammeter.engines.egress.guard import Guard
from ammeter.engines.egress.port import Request
from ammeter.features.gateway.host import ApiHost
from benchmarks.machine import machine
from tests.features.gateway.shop import BEARER, Known, served
from tests.upstream import Upstream

CALLS, ROUNDS = 2_000, 5
BODY = json.dumps({"data": [{"id": number, "name": f"row {number}"} for number in range(20)]}).encode()
HEADERS = {"authorization": "Bearer tok-12345678", "accept": "application/json", "user-agent": "bench"}

Call = Callable[[], Awaitable[Any]]


class _Server(asyncio.Protocol):
    answer = (
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Request-Id: abc\r\n"
        b"Content-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
    )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport
        self.read = b""

    def data_received(self, data: bytes) -> None:
        self.read += data
        while b"\r\n\r\n" in self.read:
            self.read = self.read.partition(b"\r\n\r\n")[2]
            self.transport.write(self.answer)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(_Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


class _Bare(asyncio.Protocol):
    """The least that a client can do: no pool, no limits, no time-outs."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: Any = transport

    def ask(self, request: bytes) -> asyncio.Future[bytes]:
        self.parser = httptools.HttpResponseParser(self)
        self.parts: list[bytes] = []
        self.answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self.answer

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.parts.append(b"")

    def on_body(self, part: bytes) -> None:
        self.parts.append(part)

    def on_message_complete(self) -> None:
        self.answer.set_result(b"".join(self.parts))


@asynccontextmanager
async def clients(port: int) -> AsyncIterator[dict[str, Call]]:
    url = f"http://127.0.0.1:{port}/v1/items?limit=20"
    head = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())
    bare_request = f"GET /v1/items?limit=20 HTTP/1.1\r\nhost: 127.0.0.1\r\n{head}\r\n".encode()
    core_headers = [(b"host", b"127.0.0.1"), *((k.encode(), v.encode()) for k, v in HEADERS.items())]
    loop = asyncio.get_running_loop()
    _, bare = await loop.create_connection(_Bare, "127.0.0.1", port)
    egress = Egress(Guard(["127.0.0.0/8"]))
    api = served(Upstream(port=port), auth=BEARER)
    base = parse_base(f"http://127.0.0.1:{port}/v1")
    credential = HeaderCredential(name="Authorization", value="tok-12345678", prefix="Bearer")
    asked = Request(method="GET", url=url, headers=(("Accept", "application/json"),))

    async def with_aiohttp() -> bytes:
        async with session.get(url, headers=HEADERS) as response:
            return await response.read()

    async def with_host() -> Any:
        host = ApiHost(api, egress=egress, credentials=Known(), max_calls=1)
        return await host.call("listPages", {"page": 1, "per_page": 20})

    async with (
        aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
        httpcore2.AsyncConnectionPool() as pool,
        httpx2.AsyncClient(trust_env=False) as client,
    ):
        yield {
            "httptools, bare": lambda: bare.ask(bare_request),
            "aiohttp": with_aiohttp,
            "httpcore2": lambda: pool.request("GET", url, headers=core_headers),
            "httpx2": lambda: client.get(url, headers=HEADERS),
            "Ammeter's egress": lambda: egress.send(asked, base=base, credential=credential),
            "a script's call, all of it": with_host,
        }
    bare.transport.close()
    await egress.close()


async def measure(port: int) -> None:
    async with clients(port) as calls:
        spent: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(ROUNDS):
            for name, call in calls.items():
                began = time.process_time()
                for _ in range(CALLS):
                    await call()
                spent[name].append((time.process_time() - began) / CALLS * 1e6)
    print(f"{machine()}\nCPU time a call, median and least of {ROUNDS} rounds of {CALLS}:")
    for name, rounds in spent.items():
        print(f"{name:28}{statistics.median(rounds):8.0f} µs{min(rounds):8.0f} µs")


def main() -> None:
    server = subprocess.Popen([sys.executable, "-m", "benchmarks.egress", "serve"], stdout=subprocess.PIPE)
    assert server.stdout is not None
    try:
        uvloop.run(measure(int(server.stdout.readline())))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    uvloop.run(serve()) if "serve" in sys.argv else main()
