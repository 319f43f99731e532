"""Connects to an MCP server: a Target in, a Connection out. The official SDK speaks the protocol, of both
eras; here stand the limits, the guard, and one fault in words for everything that can go wrong.

The SDK's session lives in a task of its own, since what breaks inside it cancels the task that entered it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Protocol, TypeVar

import mcp_types
from mcp.client import Client
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from mcp_types import METHOD_NOT_FOUND

from ammeter import __version__
from ammeter.engines.egress.guard import EVERYTHING, Guard
from ammeter.engines.mcp_client.faults import is_servers_own, translated
from ammeter.engines.mcp_client.http import Seen, make_client, trusted
from ammeter.engines.mcp_client.port import (
    Connection,
    Prompt,
    Resource,
    ServerFacts,
    SourceFault,
    Target,
    Tool,
    ToolResult,
)
from ammeter.engines.mcp_client.read import (
    facts_of,
    prompt_of,
    refusal,
    resource_of,
    result_of,
    tool_of,
)
from ammeter.engines.mcp_client.stdio import Pipes

T = TypeVar("T")
V = TypeVar("V")

_PAGES = 100
# Longer than any call: calls have their own limits.
_READ_S = 3_600.0
_CLOSE_S = 10.0


@asynccontextmanager
async def connect(target: Target, *, guard: Guard) -> AsyncIterator[Connection]:
    """A connection to the target, not yet initialized; closed at the end, whatever happens.

    `guard` says which addresses may be reached; a target that is this server's own hosted endpoint may be
    at a private one."""
    session = _Session(target, guard)
    try:
        yield session
    finally:
        await session.close()


class _Page(Protocol):
    @property
    def next_cursor(self) -> str | None: ...


class _Session:
    def __init__(self, target: Target, guard: Guard) -> None:
        self._target = target
        self._guard = Guard((EVERYTHING,)) if target.own else guard
        self._seen = Seen()
        self._pipes = Pipes(target) if target.transport == "stdio" else None
        self._client: Client | None = None
        self._facts: ServerFacts | None = None
        self._owner: asyncio.Task[None] | None = None
        self._ready = asyncio.Event()
        self._stop = asyncio.Event()
        self._fault: SourceFault | None = None

    @property
    def secrets(self) -> frozenset[str]:
        return self._target.secrets

    async def initialize(self) -> ServerFacts:
        if self._stop.is_set():
            raise self._fault or SourceFault("unreachable", "The connection is closed.")
        if self._owner is None:
            self._owner = asyncio.create_task(self._own())
        limit_s = self._target.limits.initialize_s
        try:
            async with asyncio.timeout(limit_s):
                await self._ready.wait()
        except TimeoutError:
            said = self._pipes.last_words() if self._pipes else ""
            self._fault = self._seen.fault or SourceFault(
                "timeout",
                f"The server did not answer the handshake within {limit_s:g} s."
                + (f" It said: {said}" if said else ""),
            )
            await self.close()
            raise self._fault from None
        if self._facts is None:
            raise self._fault or SourceFault("unreachable", "The connection is closed.")
        return self._facts

    async def list_tools(self) -> tuple[Tool, ...]:
        return tuple(
            tool_of(tool)
            for tool in await self._all(
                lambda client, cursor: client.list_tools(cursor=cursor), lambda page: page.tools
            )
        )

    async def list_resources(self) -> tuple[Resource, ...]:
        if "resources" not in (await self.initialize()).capabilities:
            return ()
        found = await self._all(
            lambda client, cursor: client.list_resources(cursor=cursor), lambda page: page.resources
        )
        return tuple(map(resource_of, found))

    async def list_prompts(self) -> tuple[Prompt, ...]:
        if "prompts" not in (await self.initialize()).capabilities:
            return ()
        found = await self._all(
            lambda client, cursor: client.list_prompts(cursor=cursor), lambda page: page.prompts
        )
        return tuple(map(prompt_of, found))

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], timeout_s: float | None = None
    ) -> ToolResult:
        await self.initialize()
        limit_s = self._target.timeout_s if timeout_s is None else timeout_s

        async def ask(client: Client) -> ToolResult:
            try:
                result = await client.session.call_tool(name, dict(arguments), allow_input_required=True)
            except MCPError as error:
                if not is_servers_own(error):
                    raise
                return refusal(error.code, error.message)
            except RuntimeError as error:
                # The SDK holds structured content against the tool's output schema.
                raise SourceFault(
                    "protocol", f"The result of {name!r} is not as it promises: {error}"[:600]
                ) from None
            if not isinstance(result, mcp_types.CallToolResult):
                return refusal(-32042, "it asks for input that only a person could give")
            return result_of(result)

        return await self._ask(ask, limit_s, f"The tool {name!r} did not answer within {limit_s:g} s.")

    async def close(self) -> None:
        self._stop.set()
        owner = self._owner
        if owner is not None and not owner.done():
            # Before the handshake there is nobody to say goodbye to.
            grace_s = self._target.limits.close_s + _CLOSE_S if self._client else 0
            done, _ = await asyncio.wait({owner}, timeout=grace_s)
            if not done:
                owner.cancel()
                await asyncio.wait({owner})
        if self._pipes is not None:
            await self._pipes.kill()
        if self._target.own:
            self._guard.close()

    async def _own(self) -> None:
        try:
            async with self._client_of() as client:
                self._client, self._facts = client, facts_of(client)
                self._ready.set()
                await self._stop.wait()
        except (Exception, BaseExceptionGroup) as error:  # noqa: BLE001  told to whoever asks next
            # What breaks while we hang up is of no interest.
            if self._fault is None and not self._stop.is_set():
                self._fault = self._why(error)
        finally:
            self._stop.set()
            self._ready.set()

    def _client_of(self) -> Client:
        return Client(
            self._streams(),
            mode="legacy" if self._target.transport == "sse" else "auto",
            client_info=mcp_types.Implementation(name="ammeter", version=__version__),
            cache=None,
        )

    @asynccontextmanager
    async def _streams(self) -> AsyncIterator[TransportStreams]:
        target = self._target
        if self._pipes is not None:
            async with self._pipes.open() as streams:
                yield streams
            return

        await asyncio.to_thread(trusted)

        def client_factory(headers: Any = None, timeout: Any = None, auth: Any = None) -> Any:
            renew = self._renewed if target.renew else None
            return make_client(
                self._guard, target.headers, target.limits, self._seen, read_s=_READ_S, renew=renew
            )

        if target.transport == "sse":
            async with sse_client(
                target.url, sse_read_timeout=_READ_S, httpx_client_factory=client_factory
            ) as streams:
                yield streams
            return
        async with (
            client_factory() as http,
            streamable_http_client(
                target.url, http_client=http, max_sse_event_size=target.limits.message_bytes
            ) as streams,
        ):
            yield streams

    async def _renewed(self) -> Mapping[str, str] | None:
        renewed = await self._target.renew() if self._target.renew else None
        if renewed is None:
            return None
        self._target = replace(self._target, secrets=self._target.secrets | renewed.secrets)
        return renewed.headers

    async def _all(
        self, ask: Callable[[Client, str | None], Awaitable[V]], rows_of: Callable[[V], list[T]]
    ) -> list[T]:
        await self.initialize()
        rows: list[T] = []
        cursor: str | None = None
        limit_s = self._target.limits.initialize_s
        for _ in range(_PAGES):

            async def next_page(client: Client, at: str | None = cursor) -> V | None:
                try:
                    return await ask(client, at)
                except MCPError as error:
                    if error.code == METHOD_NOT_FOUND and is_servers_own(error):
                        return None
                    raise

            page: Any = await self._ask(
                next_page, limit_s, f"The server did not list what it has within {limit_s:g} s."
            )
            if page is None:
                return rows
            rows += rows_of(page)
            if len(rows) > self._target.limits.listed:
                raise SourceFault(
                    "too_large", f"The server lists more than {self._target.limits.listed} entries."
                )
            cursor = page.next_cursor
            if not cursor:
                return rows
        raise SourceFault("protocol", f"The server's list has no end: {_PAGES} pages and still more.")

    async def _ask(self, ask: Callable[[Client], Awaitable[T]], limit_s: float, too_late: str) -> T:
        """One request, which ends with the session, or after its time."""
        client, owner = self._client, self._owner
        if client is None or owner is None or self._stop.is_set():
            raise self._fault or SourceFault("unreachable", "The connection is closed.")
        asking = asyncio.ensure_future(ask(client))
        try:
            await asyncio.wait({asking, owner}, timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                return asking.result()
            if owner.done():
                raise self._fault or SourceFault("unreachable", "The connection is closed.")
            raise SourceFault("timeout", too_late)
        except SourceFault:
            raise
        except Exception as error:
            raise self._why(error) from error
        finally:
            if not asking.done():
                asking.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await asking

    def _why(self, error: BaseException) -> SourceFault:
        fault = translated(error, self._seen, self._target)
        if self._pipes is not None and (self._pipes.fault is not None or fault.kind == "unreachable"):
            return self._pipes.why_ended()
        return fault
