"""What happens in a run, one small type a kind, and how each goes into a row and comes out of it.

A run's events are its checkpoint: whoever takes a run over reads them and goes on from there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from ammeter.features.evals.model import Classification


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """Another worker took the run over; what was under way is not repeated."""

    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Connected:
    server: str
    protocol: str
    tools: list[dict[str, Any]]
    """Name and read-only hint of each."""
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnded:
    text: str
    calls: list[dict[str, Any]]
    stop: str
    input_tokens: int
    output_tokens: int
    usd: float | None
    duration_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallBegan:
    call_id: str
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class CallEnded:
    call_id: str
    text: str
    structured: Any
    is_error: bool
    duration_ms: int
    denied: bool = False
    interrupted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Faulted:
    """Something outside the run failed; `retry` says whether it is tried again."""

    classification: Classification
    message: str
    retry: bool
    duration_ms: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached:
    limit: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestEnded:
    """The tester is done, one way or another; what follows is judging."""

    __test__ = False

    tester: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    mark: dict[str, Any]
    usd: float | None
    input_tokens: int
    output_tokens: int
    duration_ms: int


Event = Resumed | Connected | TurnEnded | CallBegan | CallEnded | Faulted | LimitReached | TestEnded | Judged

_KINDS: dict[str, type[Event]] = {
    "resumed": Resumed,
    "connected": Connected,
    "turn": TurnEnded,
    "call": CallBegan,
    "result": CallEnded,
    "fault": Faulted,
    "limit": LimitReached,
    "tested": TestEnded,
    "judged": Judged,
}
_WORDS = {kind: word for word, kind in _KINDS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """An event with its place in the run."""

    seq: int
    at: datetime
    event: Event


def to_row(event: Event) -> tuple[str, dict[str, Any]]:
    return _WORDS[type(event)], asdict(event)


def from_row(kind: str, body: Mapping[str, Any]) -> Event:
    made: Event = _KINDS[kind](**body)
    return made
