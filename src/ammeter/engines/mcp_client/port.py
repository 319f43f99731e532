"""An MCP server as its clients see it: where it is (Target), what it says of itself (ServerFacts), what it
offers and what a call gave, as plain values; and the one fault, of a closed set of kinds.

A tool that fails is a ToolResult with `is_error`; only what goes wrong around it is a SourceFault. Absent:
organizations, secrets by name, and how a local process is confined.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Transport = Literal["streamable_http", "sse", "stdio"]
FaultKind = Literal["unreachable", "auth", "protocol", "timeout", "too_large", "blocked"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    connect_s: float = 10.0
    initialize_s: float = 30.0
    """How long a server may take to answer the handshake, or a list; a process to start as well."""
    message_bytes: int = 10 * 1024 * 1024
    """Of one answer."""
    stream_bytes: int = 100 * 1024 * 1024
    """Of one stream of events, which may hold many answers."""
    listed: int = 5_000
    """Tools, resources or prompts of one server."""
    close_s: float = 2.0
    """How long a process may take to end by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Renewed:
    """Other credentials than those that were refused, and what of them is secret."""

    headers: Mapping[str, str] = field(repr=False)
    secrets: frozenset[str] = field(repr=False)


Renew = Callable[[], Awaitable[Renewed | None]]
"""None: there are no others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a server is and with what it is met. HTTP transports have a URL, stdio has a command."""

    transport: Transport
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    timeout_s: float = 60.0
    """Of a tool call that names no other."""
    own: bool = False
    """This very server's hosted endpoint, which may be at a private address."""
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The whole environment of the process; nothing is added to it."""
    cwd: str = "/"
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """Values that must not be seen in a fault's message."""
    renew: Renew | None = field(default=None, repr=False)
    """Asked once for a request that the server answers with 401."""
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFacts:
    name: str
    version: str
    protocol_version: str
    instructions: str | None
    capabilities: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    title: str | None
    description: str | None
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any] | None = None
    annotations: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    uri: str
    name: str
    title: str | None
    description: str | None
    mime_type: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    name: str
    title: str | None
    description: str | None
    arguments: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    content: tuple[Mapping[str, Any], ...]
    """Blocks as the protocol has them: `{"type": "text", "text": …}` and so on."""
    structured: Any
    """`structuredContent`, or None where there is none."""
    is_error: bool
    raw_text: str
    """The text blocks, joined; what a model reads."""


class SourceFault(Exception):
    """The server could not be used. The message is for a person, says what to do, and holds no secret.

    unreachable: no connection, or it broke · auth: it wants other credentials · protocol: it answers, but
    not as an MCP server does · timeout · too_large · blocked: our own rules forbid it
    """

    def __init__(self, kind: FaultKind, message: str) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.message = message


class Connection(Protocol):
    """One connection, from `connect`. Any method may raise SourceFault; after one of them but `timeout`, the
    connection may be of no more use. Methods may be called from any task, several at once."""

    @property
    def secrets(self) -> frozenset[str]:
        """What the server is met with and must be seen nowhere else."""
        ...

    async def initialize(self) -> ServerFacts:
        """Connect and shake hands, once; the other methods do it where nobody has."""
        ...

    async def list_tools(self) -> tuple[Tool, ...]: ...

    async def list_resources(self) -> tuple[Resource, ...]:
        """Empty where the server has no such capability; the same for prompts."""
        ...

    async def list_prompts(self) -> tuple[Prompt, ...]: ...

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], timeout_s: float | None = None
    ) -> ToolResult: ...

    async def close(self) -> None:
        """End the connection and, over stdio, the process. Twice is once."""
        ...
