"""The queue of one machine: the `jobs` table itself, claimed with leases and fencing tokens.

A commit in this process wakes its workers at once; a short poll finds what other processes of the
same file have enqueued and what has become due. A lease that its worker no longer extends is taken over.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Integer, bindparam, event, select

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.db.tables import jobs
from ammeter.engines.db.together import SharedWrites
from ammeter.engines.db.types import Instant
from ammeter.engines.jobs import rows
from ammeter.engines.jobs.port import Enqueued, Handler, Job, Pace, Status, Worker
from ammeter.engines.jobs.rows import Claim, Outcome, Seen
from ammeter.engines.jobs.worker import QueueWorker


class EmbeddedJobs:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._wakers: set[Callable[[], None]] = set()

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
        enqueued = rows.enqueue(
            tx,
            kind=kind,
            payload=payload,
            org_id=org_id,
            dedup_key=dedup_key,
            delay_s=delay_s,
            priority=priority,
            max_attempts=max_attempts,
        )
        event.listen(tx, "commit", self._committing)
        return enqueued

    def find(self, tx: Tx, job_id: str) -> Job | None:
        return rows.find(tx, job_id)

    def list(self, tx: Tx, page: PageRequest) -> Page[Job]:
        return rows.list_jobs(tx, page)

    def cancel(self, tx: Tx, job_id: str) -> Job | None:
        return rows.cancel(tx, job_id)

    def prune(self, tx: Tx, before: datetime) -> int:
        return rows.prune(tx, before)

    def worker(
        self, handlers: Mapping[str, Handler], *, concurrency: int = 8, pace: Pace | None = None
    ) -> Worker:
        pace = pace or Pace()
        writes = SharedWrites(self._db)
        source = _Leases(self._db, writes, self._wakers, kinds=list(handlers), pace=pace)
        return QueueWorker(writes, source, handlers, concurrency=concurrency, pace=pace)

    def _committing(self, _: Tx) -> None:
        for wake in tuple(self._wakers):
            wake()


class _Leases:
    def __init__(
        self,
        db: Database,
        writes: SharedWrites,
        wakers: set[Callable[[], None]],
        *,
        kinds: Sequence[str],
        pace: Pace,
    ) -> None:
        self._db = db
        self._writes = writes
        self._wakers = wakers
        self._pace = pace
        self._ready = (
            select(jobs.c.id)
            .where(
                jobs.c.status == Status.QUEUED.value,
                jobs.c.run_at <= bindparam("at", type_=Instant),
                jobs.c.kind.in_(kinds),
            )
            .order_by(jobs.c.priority.desc(), jobs.c.run_at, jobs.c.id)
            .limit(bindparam("limit", type_=Integer))
        )
        self._claiming = rows.claiming(jobs.c.id.in_(self._ready))
        self._waker: Callable[[], None] | None = None
        self._extended_at = 0.0

    async def open(self, wake: Callable[[], None]) -> None:
        if self._waker is None:
            loop = asyncio.get_running_loop()
            self._waker = lambda: _call_soon(loop, wake)
            self._wakers.add(self._waker)

    async def claim(self, limit: int, *, active: Set[str], woken: bool) -> Sequence[Claim]:
        # A waker is called just before the commit that it announces. The write waits its turn behind
        # that commit and sees the job; a look from a reader might not.
        if limit <= 0 or not (woken or await self._db.run(self._has_work)):
            return ()
        return await self._writes.write(lambda tx: self._claim(tx, limit))

    async def watch(self, claims: Sequence[Claim]) -> Seen:
        if not claims:
            return Seen()
        return await self._db.run(self._watch, claims)

    def settle(self, tx: Tx, claim: Claim, outcome: Outcome) -> None:
        rows.settle(tx, claim, outcome, self._pace)

    async def close(self) -> None:
        if self._waker is not None:
            self._wakers.discard(self._waker)

    def _has_work(self) -> bool:
        with self._db.read() as tx:
            at = now()
            if tx.scalar(self._ready, {"at": at, "limit": 1}) is not None:
                return True
            return bool(rows.list_expired(tx, at, lock=False))

    def _claim(self, tx: Tx, limit: int) -> list[Claim]:
        for job in rows.list_expired(tx, now(), lock=True):
            rows.take_back(tx, job)
        return rows.claim(
            tx,
            self._claiming,
            token=new_id(),
            lease_until=now() + timedelta(seconds=self._pace.lease_s),
            limit=limit,
        )

    def _watch(self, claims: Sequence[Claim]) -> Seen:
        if time.monotonic() - self._extended_at >= self._pace.lease_s / 3:
            with self._db.write_behind() as tx:
                rows.extend(tx, claims, now() + timedelta(seconds=self._pace.lease_s))
            self._extended_at = time.monotonic()
        with self._db.read() as tx:
            return rows.look(tx, claims)


def _call_soon(loop: asyncio.AbstractEventLoop, wake: Callable[[], None]) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(wake)
