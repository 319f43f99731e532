"""The queue of many machines: procrastinate carries tickets, the `jobs` row carries the state.

A ticket is a procrastinate job that names a row; its id is the claim's fencing token. Each open row
has exactly one ticket, put there and taken away in the row's own transaction, and a ticket is fetched
once: trying again or taking over means a new ticket. Procrastinate's own Worker is absent: it ends
when the database is away for a moment. Its manager gives us fetching, notifications and heartbeats.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import psycopg
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job as Ticket
from procrastinate.jobs import Notification
from procrastinate.jobs import Status as TicketStatus
from procrastinate.manager import JobManager
from procrastinate.psycopg_connector import PsycopgConnector
from procrastinate.sync_psycopg_connector import SyncPsycopgConnector
from psycopg_pool import AsyncConnectionPool
from sqlalchemy import bindparam, text

from ammeter.base.clock import now
from ammeter.base.errors import Unavailable
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.db.tables import jobs
from ammeter.engines.db.together import SharedWrites
from ammeter.engines.jobs import rows
from ammeter.engines.jobs.port import Enqueued, Handler, Job, Pace, Status, Worker
from ammeter.engines.jobs.rows import Claim, Outcome, Seen
from ammeter.engines.jobs.worker import QueueWorker, end

log = logging.getLogger(__name__)

_TASK = "ammeter"
_CLAIMING = rows.claiming(jobs.c.id == bindparam("chosen"))
_RELISTEN_S = 1.0
_CLOSE_S = 5.0


class DistributedJobs:
    def __init__(self, db: Database) -> None:
        self._db = db
        self._tickets = _Tickets(db)

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
        if enqueued.is_new:
            self._tickets.put(tx, enqueued.job)
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
        source = _Fetcher(self._db, self._tickets, kinds=list(handlers), pace=pace)
        return QueueWorker(SharedWrites(self._db), source, handlers, concurrency=concurrency, pace=pace)


class _Tickets:
    """Tickets on a transaction of the caller."""

    def __init__(self, db: Database) -> None:
        self._db = db
        # Never opened: it only runs procrastinate's statements on the connections it is handed.
        self._manager = JobManager(SyncPsycopgConnector())

    def put(self, tx: Tx, job: Job) -> None:
        ticket = Ticket(
            queue=job.kind,
            task_name=_TASK,
            priority=job.priority,
            lock=None,
            queueing_lock=None,
            task_kwargs={"job_id": job.id},
            # Without a time, a difference between our clock and the server's delays nothing.
            scheduled_at=job.run_at if job.run_at > now() else None,
        )
        with unavailable_in_words(self._db):
            self._manager.defer_job(ticket, connection=tx.connection.driver_connection)

    def drop(self, tx: Tx, ticket_id: int) -> bool:
        """Whether the ticket was still there and this transaction took it away."""
        gone = text("DELETE FROM procrastinate_jobs WHERE id = :id AND status = 'doing'")
        return tx.execute(gone, {"id": ticket_id}).rowcount == 1


class _Fetcher:
    def __init__(self, db: Database, tickets: _Tickets, *, kinds: Sequence[str], pace: Pace) -> None:
        self._db = db
        self._tickets = tickets
        self._kinds = kinds
        self._pace = pace
        self._pool: AsyncConnectionPool | None = None
        self._manager: JobManager | None = None
        self._worker_id: int | None = None
        self._listener: asyncio.Task[None] | None = None
        self._reaped_at = -pace.lease_s
        self._beaten_at = 0.0

    async def open(self, wake: Callable[[], None]) -> None:
        if self._pool is None:
            self._pool = AsyncConnectionPool(
                kwargs=_connect_arguments(self._db),
                min_size=1,
                max_size=2,
                timeout=5,
                open=False,
                check=AsyncConnectionPool.check_connection,
                name="jobs",
            )
            await self._pool.open()
            connector = PsycopgConnector()
            await connector.open_async(self._pool)
            self._manager = JobManager(connector)
            self._listener = asyncio.create_task(self._listening(self._manager, wake), name="jobs listening")
        if self._worker_id is None and self._manager is not None:
            with unavailable_in_words(self._db):
                self._worker_id = await self._manager.register_worker()

    async def claim(self, limit: int, *, active: Set[str], woken: bool) -> Sequence[Claim]:
        manager, worker_id = self._manager, self._worker_id
        if limit <= 0 or manager is None or worker_id is None:
            return ()
        with unavailable_in_words(self._db):
            if time.monotonic() - self._reaped_at >= self._pace.lease_s / 3:
                await self._reap(manager, worker_id, active)
                self._reaped_at = time.monotonic()
            return await self._fetch(manager, worker_id, limit)

    async def watch(self, claims: Sequence[Claim]) -> Seen:
        if self._manager is None or self._worker_id is None:
            return Seen()
        if time.monotonic() - self._beaten_at >= self._pace.lease_s / 3:
            with unavailable_in_words(self._db):
                await self._manager.update_heartbeat(self._worker_id)
            self._beaten_at = time.monotonic()
        return await self._db.run(self._look, claims) if claims else Seen()

    def settle(self, tx: Tx, claim: Claim, outcome: Outcome) -> None:
        job = rows.settle(tx, claim, outcome, self._pace)
        self._tickets.drop(tx, int(claim.token))
        if job.status is Status.QUEUED:
            self._tickets.put(tx, job)

    async def close(self) -> None:
        if self._listener is not None:
            await end(self._listener)
        try:
            async with asyncio.timeout(_CLOSE_S):
                if self._manager is not None and self._worker_id is not None:
                    await self._manager.unregister_worker(self._worker_id)
        except (ConnectorException, TimeoutError):
            log.warning("the worker could not sign off; its silence will tell the others")
        if self._pool is not None:
            await self._pool.close()

    async def _fetch(self, manager: JobManager, worker_id: int, limit: int) -> list[Claim]:
        claims: list[Claim] = []
        while len(claims) < limit:
            try:
                ticket = await manager.fetch_job(queues=self._kinds, worker_id=worker_id)
                if ticket is None:
                    break
                claims += await self._db.run(self._claim, ticket)
            except (ConnectorException, Unavailable) as fault:
                if isinstance(fault.__cause__, psycopg.errors.ForeignKeyViolation):
                    # Taken for dead and removed from the list of workers: come back as a new one.
                    self._worker_id = None
                elif not claims:
                    raise
                break
        return claims

    async def _reap(self, manager: JobManager, worker_id: int, active: Set[str]) -> None:
        stalled = await manager.get_stalled_jobs(seconds_since_heartbeat=self._pace.lease_s)
        # Fetched by us and then lost sight of: the answer, or the claim after it, met a broken connection.
        mine = await manager.list_jobs_async(status=TicketStatus.DOING.value, worker_id=worker_id)
        orphans: Iterable[Ticket] = [*stalled, *(t for t in mine if str(t.id) not in active)]
        for ticket in orphans:
            await self._db.run(self._take_over, ticket)
        await manager.prune_stalled_workers(self._pace.lease_s)

    def _claim(self, ticket: Ticket) -> list[Claim]:
        assert ticket.id is not None
        with self._db.write() as tx:
            claims = rows.claim(tx, _CLAIMING, token=str(ticket.id), chosen=str(ticket.task_kwargs["job_id"]))
            if not claims:
                self._tickets.drop(tx, ticket.id)
            return claims

    def _take_over(self, ticket: Ticket) -> None:
        assert ticket.id is not None
        with self._db.write() as tx:
            # The row before the ticket, as in `settle`: two orders would be a deadlock.
            job = rows.find(tx, str(ticket.task_kwargs["job_id"]), lock=True)
            if not self._tickets.drop(tx, ticket.id) or job is None:
                return
            if job.status is Status.RUNNING:
                job = rows.take_back(tx, job)
            if job.status is Status.QUEUED:
                self._tickets.put(tx, job)

    def _look(self, claims: Sequence[Claim]) -> Seen:
        with self._db.read() as tx:
            return rows.look(tx, claims)

    async def _listening(self, manager: JobManager, wake: Callable[[], None]) -> None:
        async def on_notification(*, channel: str, notification: Notification) -> None:
            wake()

        while True:
            try:
                await manager.listen_for_jobs(on_notification=on_notification, queues=self._kinds)
            except ConnectorException as fault:
                log.warning("not listening for jobs, polling goes on: %s", fault.__cause__)
            await asyncio.sleep(_RELISTEN_S)


@contextmanager
def unavailable_in_words(db: Database) -> Iterator[None]:
    """What `Database.faults` does for SQLAlchemy's errors, for procrastinate's."""
    try:
        yield
    except ConnectorException as error:
        reason = db.dialect.why_unavailable(error.__cause__) if error.__cause__ else None
        if reason is None:
            raise
        raise Unavailable(f"Not done: {reason}.") from error


def _connect_arguments(db: Database) -> dict[str, Any]:
    """What the driver takes, from either spelling of the URL."""
    _, arguments = db.writer.dialect.create_connect_args(db.writer.url)
    arguments.pop("context", None)
    return {"connect_timeout": 5, "application_name": "ammeter jobs", **arguments}
