"""Durable work, as the rest of Ammeter sees it: enqueue on your own transaction, read the row, cancel it;
a worker calls the handler of each job's kind.

A job runs at least once; `JobRun.check_in` makes its writes happen at most once. Which database
carries the queue is absent here: `embedded.py` and `distributed.py` answer to the same contract.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx


class Status(StrEnum):
    """queued → running → succeeded | failed | cancelled; running → queued on a retry or a give-back."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    id: str
    org_id: str | None
    kind: str
    payload: Mapping[str, Any]
    status: Status
    priority: int
    attempts: int
    """How often a worker has begun it, the present time included."""
    max_attempts: int
    progress: float
    """0 to 1, of the present attempt."""
    progress_message: str
    result: Any
    error: str | None
    """Why the last attempt ended badly; also there while a retry waits."""
    cancel_requested: bool
    run_at: datetime
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Enqueued:
    job: Job
    is_new: bool
    """False where an open job of the same kind and dedup key stands in for a new one."""


class JobFailed(Exception):
    """Raised by a handler: the job ends as failed with this message, without another try."""


class JobCancelled(Exception):
    """Raised by a handler that saw `run.cancelled`: the job ends as cancelled."""


class JobLost(Exception):
    """Another worker has the job now; nothing this one does for it may be written."""


class JobRun(Protocol):
    """One attempt at a job, as its handler sees it."""

    @property
    def job(self) -> Job: ...

    @property
    def cancelled(self) -> asyncio.Event:
        """Set within about a second of a cancellation, and at the next `progress` call."""
        ...

    async def progress(self, fraction: float, message: str = "") -> None:
        """Show how far it is; JobLost where another worker has the job."""
        ...

    def check_in(self, tx: Tx) -> None:
        """Call inside each write transaction, before its writes: JobLost where another worker has the
        job; otherwise nobody takes it over before `tx` ends."""
        ...

    def stop_if_cancelled(self) -> None:
        """JobCancelled where a cancellation was seen."""
        ...


Handler = Callable[[JobRun], Awaitable[object]]
"""Gives a JSON value or None. What it raises is retried, except JobFailed and JobCancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How quickly a worker looks, beats and tries again; the same for all workers of a database."""

    poll_s: float = 0.5
    """How late a delayed job, a retry or another process's job may be noticed."""
    watch_s: float = 1.0
    """How late a cancellation or a loss may be noticed."""
    lease_s: float = 15.0
    """A worker silent for this long is taken for dead; it beats three times as often."""
    retry_base_s: float = 2.0
    retry_cap_s: float = 600.0
    wind_down_s: float = 5.0
    """How long a handler may take to end once it is cancelled by a stop."""

    def backoff_s(self, attempts: int) -> float:
        return float(min(self.retry_cap_s, self.retry_base_s * 2 ** min(attempts - 1, 30)))


class Worker(Protocol):
    async def start(self) -> None:
        """Begin in the running event loop and return at once; a database that is away is waited for."""
        ...

    async def stop(self, grace_s: float = 10.0) -> None:
        """Claim no more, let running jobs end within `grace_s`, give the rest back untried."""
        ...


class Jobs(Protocol):
    def enqueue(
        self,
        tx: Tx,
        *,
        kind: str,
        payload: Mapping[str, Any],
        org_id: str | None = None,
        dedup_key: str | None = None,
        delay_s: float = 0,
        priority: int = 0,
        max_attempts: int = 5,
    ) -> Enqueued:
        """A job that exists if and only if `tx` commits. A higher priority runs first. A dedup key is
        unique per kind over all organizations, so put the org into it where that matters."""
        ...

    def find(self, tx: Tx, job_id: str) -> Job | None: ...

    def list(self, tx: Tx, page: PageRequest) -> Page[Job]:
        """Jobs, newest first."""
        ...

    def cancel(self, tx: Tx, job_id: str) -> Job | None:
        """Queued: cancelled at once. Running: asked to stop. Ended: as it was. None: no such job."""
        ...

    def prune(self, tx: Tx, before: datetime) -> int:
        """Delete jobs that ended before this instant and say how many."""
        ...

    def worker(
        self, handlers: Mapping[str, Handler], *, concurrency: int = 8, pace: Pace | None = None
    ) -> Worker:
        """A worker for the kinds that `handlers` names; other kinds are left to other workers."""
        ...
