"""HTTP to an MCP server, for the SDK to speak through: connections only to addresses that the guard has
checked, answers only of a bounded size, no proxies of the environment, no cookies.

The SDK says little about why a request failed; what was seen here is kept in `Seen` for whoever must tell.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from functools import cache
from urllib.parse import urlsplit

import httpcore2
import httpx2

from ammeter.engines.egress.guard import ForbiddenAddress, Guard
from ammeter.engines.mcp_client.port import Limits, SourceFault

NewHeaders = Callable[[], Awaitable[Mapping[str, str] | None]]
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@cache
def trusted() -> ssl.SSLContext:
    """The certificates of this machine; reading them takes tens of milliseconds: once, not on the loop."""
    return ssl.create_default_context()


class Seen:
    """The last thing that went wrong on the wire, forgotten when something goes well again."""

    def __init__(self) -> None:
        self.fault: SourceFault | None = None


class GuardedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, guard: Guard, limits: Limits, seen: Seen, renew: NewHeaders | None) -> None:
        super().__init__(verify=trusted(), trust_env=False)
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=trusted(),
            max_connections=16,
            max_keepalive_connections=4,
            keepalive_expiry=4.0,
            network_backend=_GuardedBackend(guard, limits, seen),
        )
        self._limits, self._seen = limits, seen
        self._renew = renew
        self._renewed: Mapping[str, str] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        sent_with = self._renewed
        answer = await self._sent(request)
        if answer.status_code != 401 or self._renew is None:
            return answer
        # A token may be revoked before its time; one that another request has renewed meanwhile will do.
        fresh = await self._renew() if self._renewed is sent_with else self._renewed
        if fresh is None:
            return answer
        self._renewed = fresh
        await answer.aclose()
        return await self._sent(request)

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        request.headers.update(self._renewed)
        # Compressed answers would be small on the wire and large in memory.
        request.headers["accept-encoding"] = "identity"
        try:
            answer = await super().handle_async_request(request)
        except httpx2.TimeoutException:
            self._seen.fault = self._seen.fault or SourceFault(
                "timeout", "The server did not answer in time."
            )
            raise
        except httpx2.TransportError as error:
            self._seen.fault = self._seen.fault or SourceFault(
                "unreachable", f"The connection broke before an answer came ({type(error).__name__})."
            )
            raise
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            await answer.aclose()
            self._seen.fault = SourceFault(
                "protocol", "The server compresses its answers though it was asked not to."
            )
            raise httpx2.ReadError("compressed")
        self._seen.fault = _judged(request, answer)
        events = answer.headers.get("content-type", "").startswith("text/event-stream")
        limit = self._limits.stream_bytes if events else self._limits.message_bytes
        answer.stream = _Bounded(answer.stream, limit, self._seen)
        return answer


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, inner: object, limit_bytes: int, seen: Seen) -> None:
        assert isinstance(inner, httpx2.AsyncByteStream)
        self._inner, self._left, self._limit, self._seen = inner, limit_bytes, limit_bytes, seen

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._inner:
            self._left -= len(piece)
            if self._left < 0:
                self._seen.fault = SourceFault(
                    "too_large", f"The server's answer is over {self._limit // (1024 * 1024)} MiB."
                )
                raise httpx2.ReadError("too large")
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


class _GuardedBackend(httpcore2.AsyncNetworkBackend):
    def __init__(self, guard: Guard, limits: Limits, seen: Seen) -> None:
        self._guard, self._limits, self._seen = guard, limits, seen
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  the library's name
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            addresses = await self._guard.addresses(host, port)
        except ForbiddenAddress as error:
            self._seen.fault = SourceFault("blocked", str(error))
            raise httpcore2.ConnectError(str(error)) from None
        except OSError:
            self._seen.fault = SourceFault("unreachable", f"There is no host {host!r}; check the base URL.")
            raise httpcore2.ConnectError("no such host") from None
        fault: Exception = httpcore2.ConnectError("no address")
        for address in addresses:
            try:
                return await self._inner.connect_tcp(
                    address, port, self._limits.connect_s, local_address, socket_options
                )
            except httpcore2.ConnectTimeout as error:
                fault = error
                self._seen.fault = SourceFault(
                    "timeout", f"{host}:{port} does not take a connection in time."
                )
            except httpcore2.ConnectError as error:
                fault = error
                self._seen.fault = SourceFault(
                    "unreachable", f"Nothing listens at {host}:{port}; is the server running?"
                )
        raise fault

    async def connect_unix_socket(
        self,
        path: str,
        timeout: float | None = None,  # noqa: ASYNC109  the library's name
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        raise httpcore2.ConnectError("no such way out")


def make_client(
    guard: Guard,
    headers: Mapping[str, str],
    limits: Limits,
    seen: Seen,
    *,
    read_s: float,
    renew: NewHeaders | None = None,
) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(
        transport=GuardedTransport(guard, limits, seen, renew),
        headers=dict(headers),
        timeout=httpx2.Timeout(limits.connect_s, read=read_s),
        follow_redirects=False,
        trust_env=False,
    )


def _judged(request: httpx2.Request, answer: httpx2.Response) -> SourceFault | None:
    status = answer.status_code
    if request.method != "POST" and status in (404, 405):
        # A server need not have the stream of events that is asked for beside.
        return None
    if status in _REDIRECTS:
        place = urlsplit(answer.headers.get("location", ""))
        shown = f"{place.scheme}://{place.hostname}" if place.hostname else "another path"
        return SourceFault(
            "blocked",
            f"The server redirects to {shown}, and only redirects within its own origin are followed; give"
            " the address it redirects to as the base URL if that is the server you mean.",
        )
    return judged_status(status, request.url.path)


def judged_status(status: int, path: str) -> SourceFault | None:
    """What a status says about the server; None for one that is fine."""
    if status < 300:
        return None
    if status in (401, 403, 407):
        return SourceFault(
            "auth",
            f"The server answers {status}: it wants credentials, or others than it was given; check the"
            " source's auth profile and the secret it refers to.",
        )
    if status == 404:
        return SourceFault(
            "protocol",
            f"There is nothing at {path} (404); check the path of the base URL, often /mcp or /sse.",
        )
    if status == 429:
        return SourceFault("unreachable", "The server refuses more requests for now (429); try again later.")
    if status >= 500:
        return SourceFault("unreachable", f"The server answers {status}; its own log says why.")
    return SourceFault("protocol", f"The server answers {status} to an MCP request; check the base URL.")
