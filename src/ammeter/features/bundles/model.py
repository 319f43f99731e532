"""A stored bundle as a record: what it was made from, how large it is, whether it is served. And how much
the operations of a source are used, for those who would break them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Protocol

from ammeter.engines.db.database import Tx

Status = Literal["generated", "active"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    repository: str | None = None
    commit_sha: str | None = None
    branch: str | None = None
    pull_request_number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBundle:
    id: str
    org_id: str
    source_id: str
    environment: str
    content_hash: str
    """Of everything that was uploaded to make it: equal uploads are one bundle."""
    digest: str
    openapi_hash: str
    overlay_hash: str | None
    size_bytes: int
    operations: int
    repository: str | None
    commit_sha: str | None
    branch: str | None
    pull_request_number: int | None
    created_at: datetime
    created_by: str
    is_active: bool

    @property
    def status(self) -> Status:
        return "active" if self.is_active else "generated"


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """Of one operation, in the last 30 days."""

    scripts: int = 0
    sessions: int = 0


class RecentUse(Protocol):
    """Who has telemetry says how much each of some operations of a source was used; what it does not
    name was not."""

    def __call__(
        self, tx: Tx, *, source_id: str, environment: str, operation_ids: Sequence[str]
    ) -> Mapping[str, Use]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentScript:
    """A stored script of the last 30 days that called some operations; equal ones are one."""

    event_id: str
    session_id: str
    last_run_at: datetime
    intent: str | None
    code: str | None
    operation_ids: tuple[str, ...]
    """Of those that were asked about."""
    runs: int

    def counted(self, runs: int) -> RecentScript:
        return replace(self, runs=runs)


class RecentScripts(Protocol):
    """Who has telemetry names the scripts that called some operations of a source."""

    def __call__(
        self, tx: Tx, *, org_id: str, source_id: str, environment: str, operation_ids: Sequence[str]
    ) -> Sequence[RecentScript]: ...


def unknown_scripts(
    tx: Tx, *, org_id: str, source_id: str, environment: str, operation_ids: Sequence[str]
) -> Sequence[RecentScript]:
    """Where nothing is recorded yet."""
    return ()


def unknown_use(
    tx: Tx, *, source_id: str, environment: str, operation_ids: Sequence[str]
) -> Mapping[str, Use]:
    """Where nothing is recorded yet."""
    return {}
