"""A small HTTP API of somebody else's, on a real socket: it asks for credentials, gives pages, fails, is
slow, drops connections, sends too much and redirects. It writes down what it saw, as it came.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import ssl
import threading
import zlib
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "tok-5f1e9a77c0ffee-live"
USER, PASSWORD = "fred", "p@ss/word 1+1"
CLIENT, CLIENT_SECRET = "client-7", "cs-9d8e7f6a5b4c"
ROWS = [{"id": number, "name": f"row {number}"} for number in range(1, 8)]
MEGABYTE = 1024 * 1024
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE"})


@dataclass(frozen=True, slots=True)
class Seen:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.target).query, keep_blank_values=True)

    def one(self, name: str, default: str = "") -> str:
        return self.query.get(name, [default])[0]


@dataclass(frozen=True, slots=True)
class Reply:
    status: int = 200
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    chunks: int = 0
    """The body so many times, in chunks."""


@dataclass
class Upstream:
    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    connections: int = 0
    open_connections: int = 0
    tokens: list[str] = field(default_factory=list)
    live_tokens: set[str] = field(default_factory=set)
    expires_in: Any = 3600
    release: threading.Event = field(default_factory=threading.Event)
    redirect_to: str = ""
    changed: threading.Condition = field(default_factory=threading.Condition)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        """The base URL of the API."""
        return f"{self.origin}/v1"

    def targets(self) -> list[str]:
        return [seen.target for seen in self.seen]

    def wait_until_seen(self, number: int) -> bool:
        """Whether so many requests came within five seconds."""
        with self.changed:
            return self.changed.wait_for(lambda: len(self.seen) >= number, timeout=5)

    def wait_until_closed(self) -> bool:
        """Whether the last connection went away within five seconds."""
        with self.changed:
            return self.changed.wait_for(lambda: self.open_connections == 0, timeout=5)


def as_json(value: Any, status: int = 200, *headers: tuple[str, str]) -> Reply:
    told = ("content-type", "application/json")
    return Reply(status, json.dumps(value).encode(), (told, ("x-request-id", "req-1"), *headers))


@contextmanager
def running_upstream(tls: ssl.SSLContext | None = None) -> Iterator[Upstream]:
    upstream = Upstream()
    loop = asyncio.new_event_loop()
    ready = threading.Event()

    def serve() -> None:
        asyncio.set_event_loop(loop)
        server = loop.run_until_complete(
            asyncio.start_server(lambda r, w: _connection(upstream, r, w), "127.0.0.1", 0, ssl=tls)
        )
        upstream.port = server.sockets[0].getsockname()[1]
        ready.set()
        loop.run_forever()
        server.close()
        for task in (tasks := asyncio.all_tasks(loop)):
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    assert ready.wait(5)
    try:
        yield upstream
    finally:
        upstream.release.set()
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)


async def _connection(upstream: Upstream, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    upstream.connections += 1
    with upstream.changed:
        upstream.open_connections += 1
    try:
        while (seen := await _read(reader)) is not None:
            if seen.method not in _METHODS:
                writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
                break
            with upstream.changed:
                upstream.seen.append(seen)
                upstream.changed.notify_all()
            if not await _answer(upstream, seen, writer):
                break
    except (ConnectionError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()
        with upstream.changed:
            upstream.open_connections -= 1
            upstream.changed.notify_all()


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    first = await reader.read(1)
    if not first:
        return None
    if not first.isalpha():
        return Seen("", "", {}, b"")
    head = first + await reader.readuntil(b"\r\n\r\n")
    start, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = start.split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(method, target, headers, body)


async def _answer(upstream: Upstream, seen: Seen, writer: asyncio.StreamWriter) -> bool:
    """Whether the connection lives on."""
    name = seen.path.removeprefix("/v1/").strip("/").partition("/")[0]
    if name in _RAW:
        await _RAW[name](upstream, seen, writer)
        return False
    if name == "slow":
        await asyncio.to_thread(upstream.release.wait, 20)
    if name == "after":
        await asyncio.to_thread(upstream.wait_until_seen, int(seen.one("seen")))
    reply = _ROUTES.get(name, _echo)(upstream, seen)
    head = [f"HTTP/1.1 {reply.status} Whatever", *(f"{n}: {v}" for n, v in reply.headers)]
    if reply.chunks:
        head.append("transfer-encoding: chunked")
    elif reply.status not in (204, 304):
        head.append(f"content-length: {len(reply.body)}")
    writer.write("\r\n".join([*head, "", ""]).encode("latin-1"))
    for _ in range(reply.chunks):
        writer.write(b"%x\r\n%s\r\n" % (len(reply.body), reply.body))
        await writer.drain()
    if reply.chunks:
        writer.write(b"0\r\n\r\n")
    elif seen.method != "HEAD":
        writer.write(reply.body)
    await writer.drain()
    return True


def _echo(upstream: Upstream, seen: Seen) -> Reply:
    return as_json(
        {
            "method": seen.method,
            "target": seen.target,
            "headers": seen.headers,
            "body": seen.body.decode("utf-8", "replace"),
        }
    )


def _private(upstream: Upstream, seen: Seen) -> Reply:
    """`/private/<kind>`: 401 without the right credential, whose words it repeats."""
    pair = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    authorization = seen.headers.get("authorization", "")
    right = {
        "bearer": authorization == f"Bearer {TOKEN}",
        "header": seen.headers.get("x-api-key") == TOKEN,
        "query": seen.one("api_key") == TOKEN,
        "basic": authorization == f"Basic {pair}",
        "oauth": authorization.removeprefix("Bearer ") in upstream.live_tokens,
    }[seen.path.rpartition("/")[2]]
    if not right:
        return as_json({"error": {"code": "unauthorized", "message": f"not {authorization}"}}, 401)
    return as_json({"ok": True, "echo": {"headers": seen.headers, "target": seen.target}})


def _token(upstream: Upstream, seen: Seen) -> Reply:
    form = {name: values[0] for name, values in parse_qs(seen.body.decode()).items()}
    authorization = seen.headers.get("authorization", "")
    pair = base64.b64encode(f"{CLIENT}:{CLIENT_SECRET}".encode()).decode()
    known = authorization == f"Basic {pair}" or form.get("client_secret") == CLIENT_SECRET
    if not known or form.get("grant_type") != "client_credentials":
        return as_json({"error": "invalid_client"}, 401)
    token = f"at-{len(upstream.tokens) + 1}-{'x' * 24}"
    upstream.tokens.append(token)
    upstream.live_tokens.add(token)
    told = {"access_token": token, "token_type": "bearer", "expires_in": upstream.expires_in}
    return as_json({key: value for key, value in told.items() if value is not None})


def _pages(upstream: Upstream, seen: Seen) -> Reply:
    page, size = int(seen.one("page", "1")), int(seen.one("per_page", "3"))
    return as_json({"items": ROWS[(page - 1) * size : page * size]})


def _offsets(upstream: Upstream, seen: Seen) -> Reply:
    offset, size = int(seen.one("offset", "0")), int(seen.one("limit", "3"))
    return as_json({"data": ROWS[offset : offset + size]})


def _cursors(upstream: Upstream, seen: Seen) -> Reply:
    at = int(seen.one("cursor", "c0")[1:])
    following = f"c{at + 3}" if at + 3 < len(ROWS) else None
    return as_json({"results": ROWS[at : at + 3], "next_cursor": following})


def _links(upstream: Upstream, seen: Seen) -> Reply:
    # The link has a parameter that no description tells of, and another path: it can only be followed.
    at = int(seen.one("x_state", "0"))
    there = upstream.redirect_to or f"{upstream.url}/links/by-number/7"
    link = f'<{there}?x_state={at + 3}&api_key={seen.one("api_key")}>; rel="next", <{there}>; rel="first"'
    more = [("link", link)] if at + 3 < len(ROWS) else []
    return as_json(ROWS[at : at + 3], 200, *more)


def _status(upstream: Upstream, seen: Seen) -> Reply:
    """`/status/<code>` with the body of the request as its own."""
    status = int(seen.path.rpartition("/")[2])
    kind = seen.headers.get("x-answer-type", "application/json")
    after = [("retry-after", seen.headers["x-retry-after"])] if "x-retry-after" in seen.headers else []
    return Reply(status, seen.body, (("content-type", kind), ("x-request-id", "req-1"), *after))


def _raw_answer(upstream: Upstream, seen: Seen) -> Reply:
    """`/raw?type=…` with the body of the request as its own."""
    given = [("content-disposition", seen.one("disposition"))] if seen.one("disposition") else []
    return Reply(200, seen.body, (("content-type", seen.one("type")), *given))


def _flaky(upstream: Upstream, seen: Seen) -> Reply:
    times = int(seen.one("times", "1"))
    if sum(other.path == seen.path for other in upstream.seen) <= times:
        return as_json(
            {"error": "busy"}, int(seen.one("status", "503")), ("retry-after", seen.one("after", "0"))
        )
    return as_json({"tries": sum(other.path == seen.path for other in upstream.seen)})


def _redirect(upstream: Upstream, seen: Seen) -> Reply:
    """`/redirect/<status>` to wherever the test says."""
    return Reply(int(seen.path.rpartition("/")[2]), b"", (("location", upstream.redirect_to),))


def _huge(upstream: Upstream, seen: Seen) -> Reply:
    return Reply(200, b"x" * MEGABYTE, (("content-type", "text/plain"),), chunks=12)


def _huge_told(upstream: Upstream, seen: Seen) -> Reply:
    return Reply(200, b"x" * 11 * MEGABYTE, (("content-type", "text/plain"),))


def _packed(upstream: Upstream, seen: Seen) -> Reply:
    kind = seen.path.rpartition("/")[2]
    body, encoding = _packings()[kind]
    return Reply(200, body, (("content-type", "application/json"), ("content-encoding", encoding)))


@cache
def _packings() -> dict[str, tuple[bytes, str]]:
    plain = json.dumps({"rows": ROWS}).encode()
    bare = zlib.compressobj(wbits=-15)
    return {
        "gzip": (gzip.compress(plain), "gzip"),
        "members": (gzip.compress(plain[:20]) + gzip.compress(plain[20:]), "gzip"),
        "deflate": (zlib.compress(plain), "deflate"),
        "bare": (bare.compress(plain) + bare.flush(), "deflate"),
        "bomb": (gzip.compress(b"0" * 40 * MEGABYTE, 1), "gzip"),
        "short": (gzip.compress(plain)[:-12], "gzip"),
        "wrong": (plain, "gzip"),
        "br": (b"?", "br"),
    }


def _cookie(upstream: Upstream, seen: Seen) -> Reply:
    return as_json({}, 200, ("set-cookie", "session=1; Path=/"))


def _nothing(upstream: Upstream, seen: Seen) -> Reply:
    return Reply(204)


async def _hang_up(upstream: Upstream, seen: Seen, writer: asyncio.StreamWriter) -> None:
    pass


async def _drop(upstream: Upstream, seen: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n[1, 2")
    await writer.drain()


async def _garbage(upstream: Upstream, seen: Seen, writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n\r\n")
    await writer.drain()


_ROUTES: dict[str, Callable[[Upstream, Seen], Reply]] = {
    "private": _private,
    "token": _token,
    "pages": _pages,
    "offsets": _offsets,
    "cursors": _cursors,
    "links": _links,
    "status": _status,
    "raw": _raw_answer,
    "flaky": _flaky,
    "redirect": _redirect,
    "huge": _huge,
    "huge-told": _huge_told,
    "packed": _packed,
    "cookie": _cookie,
    "nothing": _nothing,
}
_RAW: dict[str, Callable[[Upstream, Seen, asyncio.StreamWriter], Awaitable[None]]] = {
    "hang-up": _hang_up,
    "drop": _drop,
    "garbage": _garbage,
}
