"""What happened at a hosted endpoint, as values: one Event per answer, sessions made of them.

An Event is made by the door from what was asked and answered; the recorder strips secrets from it
before it is stored. Everything that came from outside may be empty, wrong or hostile text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypedDict

from ammeter.features.bundles import model as bundles

Kind = Literal["initialize", "search", "script"]
Outcome = Literal["ok", "error", "miss", "refused", "busy"]
"""`miss`: a search without a hit above the relevance floor. `refused`: not allowed. `busy`: no room;
what was refused or met no room was not carried out, and counts as neither script nor search."""
SessionSource = Literal["header", "handle", "traceparent", "recent", "new"]
Flag = Literal["blocked_egress", "secret_stripped", "unknown_outcome_write"]
Signal = Literal["searched_again", "repeated_failure", "gave_up"]
"""What an agent does when it gets stuck, whatever it says of its frustration; see `trail.py`."""

KINDS: tuple[Kind, ...] = ("initialize", "search", "script")
FLAGS: tuple[Flag, ...] = ("blocked_egress", "secret_stripped", "unknown_outcome_write")
SIGNALS: tuple[Signal, ...] = ("searched_again", "repeated_failure", "gave_up")
HIGH_FRUSTRATION = 7
"""Stated so high, or with a signal, a session is a strained one."""


class LogLine(TypedDict):
    level: str
    text: str


class Call(TypedDict, total=False):
    """One upstream call of a script; `outcome` is `ok` where the API answered with success."""

    operationId: str
    sdkName: str
    method: str
    path: str
    status: int | None
    durationMs: int
    outcome: str
    isWrite: bool
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    id: str
    org_id: str
    source_id: str
    environment: str
    key_id: str
    """Row id of the API key, not the `key_id` in its text."""
    kind: Kind
    at: datetime
    session_id: str
    session_source: SessionSource
    outcome: Outcome
    duration_ms: int
    bundle_id: str | None = None
    trace_id: str | None = None
    """Of the request's `traceparent`; what finds the session again where nothing better does."""
    client_name: str = ""
    client_version: str = ""
    protocol_version: str = ""
    request_id: str = ""
    error_class: str | None = None
    error_message: str | None = None
    intent: str | None = None
    context: str | None = None
    frustration: int | None = None
    """0 to 10."""
    frustration_text: str | None = None
    """What the agent wrote where that is no level we know."""
    tags: Mapping[str, str] = field(default_factory=dict)
    query: str | None = None
    result_operations: Sequence[str] = ()
    """Ids of the operations that a search showed, best first."""
    top_score: float | None = None
    code: str | None = None
    result: str | None = None
    """The visible output, as the agent saw it."""
    logs: Sequence[LogLine] = ()
    calls: Sequence[Call] = ()
    invented: Sequence[str] = ()
    """Names on the client that the script used and that do not exist."""
    cpu_ms: float | None = None
    bytes_in: int = 0
    bytes_out: int = 0
    truncated: bool = False
    secrets_stripped: int = 0
    """How many the door stripped itself; the recorder adds what it strips."""
    flags: Sequence[Flag] = ()
    content_dropped: bool = False
    """Set by the recorder where secrets could not be stripped: the event without its texts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """An event as it was stored, and its place in the session."""

    event: Event
    starts_session: bool
    first_script: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    id: str
    org_id: str
    source_id: str
    environment: str
    key_id: str
    client_name: str
    client_version: str
    session_source: SessionSource
    """How its first event was told to belong to it."""
    trace_id: str | None
    started_at: datetime
    last_event_at: datetime
    events: int
    scripts: int
    script_errors: int
    searches: int
    search_misses: int
    errors: int
    calls: int
    frustration_sum: int
    frustration_count: int
    frustration_max: int | None
    flags: tuple[Flag, ...]
    """By rule: what an event of the session was flagged with."""
    flagged_by_person: bool
    intents: tuple[str, ...]
    """Of its scripts, as the agent wrote them, each once; the first twenty."""
    signals: tuple[Signal, ...]
    strained: bool
    """Frustration stated as high, or a signal of it."""
    repeat: bool
    """An earlier session of the same key or client had one of its intents."""

    @property
    def flagged(self) -> bool:
        return self.flagged_by_person or bool(self.flags)

    @property
    def avg_frustration(self) -> float | None:
        return self.frustration_sum / self.frustration_count if self.frustration_count else None


SessionSort = Literal["latest", "frustration", "failed", "events", "scripts"]
"""The latest first; or the most of it first: frustration stated, scripts and searches that failed, …"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPlace:
    """Where in a list of sessions one stands: by what it is sorted by, its last event and its id."""

    value: int = 0
    at: datetime
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPage:
    rows: Sequence[Session]
    next_after: SessionPlace | None
    """Where the next page begins; None at the end."""
    cut_at: datetime | None = None
    """Where there are too many to look through: sessions from before it were left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use(bundles.Use):
    """How much an operation was used: scripts that called it, sessions they belong to, calls, failures."""

    calls: int = 0
    errors: int = 0
