"""Topics and failed-search clusters as values: what readers get of them.

A topic is what agents want, told by their intents; a cluster is what they looked for and did not find.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

TopicKind = Literal["demand", "recurring"]
"""`recurring`: one intent that a program states again and again; kept apart from what people want."""
TopicSort = Literal["volume", "frustration", "trend"]
LineageKind = Literal["split_from", "merged_into"]
GapKind = Literal["alias", "documentation", "capability", "out_of_scope"]
MissReason = Literal["no_hit", "unused"]
"""`unused`: there were hits, no later script called one, and the agent searched again or gave up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationCount:
    operation_id: str
    scripts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """`topic_id` came out of, or went into, `other_id`."""

    kind: LineageKind
    topic_id: str
    other_id: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    id: str
    kind: TopicKind
    label: str
    """A person's, where one gave it."""
    is_unmet_demand: bool
    """A person's word, else what the figures propose."""
    archived: bool
    sessions: int
    """In the range, as are all figures below but `first_seen` and `last_seen`."""
    scripts: int
    avg_frustration: float | None
    trend: float
    """Change of sessions against the range before, as a share of it; of one session where there was none."""
    first_seen: datetime
    last_seen: datetime
    example_intents: Sequence[str]
    top_operations: Sequence[OperationCount]
    lineage: Sequence[Lineage]


@dataclass(frozen=True, slots=True, kw_only=True)
class NearOperation:
    operation_id: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """Stored failed searches of the cluster, asked again of an index with the overlay in it."""

    searches: int
    hits_before: int
    hits_after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    text: str
    nearest_operations: Sequence[NearOperation]
    overlay: Mapping[str, Any] | None
    """An OpenAPI Overlay that would close the gap; only for `alias` and `documentation`."""
    replay: Replay | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    id: str
    source_id: str
    environment: str
    label: str
    searches: int
    """Failed searches in the range."""
    sessions: int
    example_queries: Sequence[str]
    gap_kind: GapKind | None
    """None until it has been judged against a bundle."""
    suggestion: Suggestion
    first_seen: datetime
    last_seen: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCoverage:
    """How many of the stated intents are in a topic; the rest is the long tail."""

    intents: int
    """Sessions' intents: an intent that a session states twice counts once."""
    in_topics: int
    long_tail: int
    topics: int
    refreshed_at: datetime | None

    @property
    def share(self) -> float | None:
        return self.in_topics / self.intents if self.intents else None


@dataclass(frozen=True, slots=True, kw_only=True)
class InventedName:
    name: str
    uses: int
    sessions: int
    last_seen: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedResult:
    """An operation that searches showed and scripts did not call."""

    operation_id: str
    shown: int
    sessions: int
    """That saw it."""
    unused_sessions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationDemand:
    operation_id: str
    sessions: int
    topics: Sequence[tuple[str, int]]
    """Topic ids and the sessions of each that called it, most first."""
