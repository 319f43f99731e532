"""What goes out to an API and what comes back, as values: a request, its answer, the facts of the trip
and the one fault. Absent: how a request is made of an operation, and what an answer means.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

FaultKind = Literal["blocked", "network", "timeout", "too_large", "malformed", "credentials"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    repeatable: bool = False
    """Whether sending it twice does no more than sending it once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    """Only those that someone reads, by name in lower case."""
    body: bytes = field(repr=False)

    @property
    def content_type(self) -> str:
        """The media type alone, in lower case; empty where none is told."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


@dataclass(slots=True, kw_only=True)
class Facts:
    """One trip as it goes, true at any moment: whoever is cut off in the middle reads it here."""

    status: int | None = None
    unanswered: bool = False
    """Whether a request has left of which nothing was heard again: the API may have carried it out."""
    retries: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    injected: set[str] = field(default_factory=set, repr=False)
    """Every credential value that was put on the wire, exactly."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    connect_s: float = 10.0
    call_s: float = 60.0
    response_bytes: int = 10 * 1024 * 1024
    redirects: int = 5
    retries: int = 2
    longest_pause_s: float = 10.0
    connections: int = 512
    connections_per_host: int = 128
    # Shorter than the five seconds after which many servers close an idle connection.
    keep_alive_s: float = 4.0


class EgressFault(Exception):
    """No answer that could be passed on. The message never holds a credential or a whole URL."""

    def __init__(self, kind: FaultKind, message: str) -> None:
        super().__init__(message)
        self.kind: FaultKind = kind
        self.message = message
