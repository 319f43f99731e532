"""The HTTP client under the egress: aiohttp, with its resolver and its sockets in the guard's hands.

Names are resolved and checked in one step, and every socket is checked again for the address it is about to
connect to, so that no second resolution and no address in place of a name gets past.
"""

from __future__ import annotations

import socket
from types import SimpleNamespace
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from ammeter.engines.egress.guard import Guard
from ammeter.engines.egress.port import Limits

# Checked addresses are kept this long, so that calls which come together ask once.
_NAMES_KEPT_S = 10


def open_session(guard: Guard, limits: Limits) -> aiohttp.ClientSession:
    def checked_socket(info: Any) -> socket.socket:
        family, kind, protocol, _, address = info
        guard.check(address[0], address[0])
        made = socket.socket(family=family, type=kind, proto=protocol)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return made

    connector = aiohttp.TCPConnector(
        resolver=_Resolver(guard),
        socket_factory=checked_socket,
        ttl_dns_cache=_NAMES_KEPT_S,
        limit=limits.connections,
        limit_per_host=limits.connections_per_host,
        keepalive_timeout=limits.keep_alive_s,
    )
    session = aiohttp.ClientSession(
        connector=connector,
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        auto_decompress=False,
        raise_for_status=False,
        skip_auto_headers=("User-Agent", "Accept", "Accept-Encoding", "Content-Type"),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=limits.connect_s),
        trace_configs=[_leaving_trace()],
    )
    # It repeats some requests by itself and tells nobody; what is repeated here is decided in one place.
    session._retry_connection = False
    return session


def _leaving_trace() -> aiohttp.TraceConfig:
    """Tells the facts of a trip when its request begins to leave."""

    async def left(_session: aiohttp.ClientSession, context: SimpleNamespace, _params: Any) -> None:
        context.trace_request_ctx.unanswered = True

    trace = aiohttp.TraceConfig()
    trace.on_request_headers_sent.append(left)
    return trace


class _Resolver(AbstractResolver):
    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in await self._guard.addresses(host, port)
        ]

    async def close(self) -> None:
        pass
