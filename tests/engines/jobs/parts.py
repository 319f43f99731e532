"""What the tests of jobs share: a quick pace, a bounded wait, a worker for the length of a block, and a
handler whose effect is one fenced row."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from sqlalchemy import text

from ammeter.engines.db.database import Database
from ammeter.engines.jobs.port import Handler, Job, JobRun, Jobs, Pace, Status, Worker

T = TypeVar("T")

QUICK = Pace(poll_s=0.05, watch_s=0.1, lease_s=5, retry_base_s=0.05, wind_down_s=1)
ENDED = {Status.SUCCEEDED, Status.FAILED, Status.CANCELLED}


async def until(look: Callable[[], T], what: str, *, timeout_s: float = 15) -> T:
    """The first truthy answer of `look`; the test fails where none comes in time."""
    try:
        async with asyncio.timeout(timeout_s):
            while not (seen := look()):  # noqa: ASYNC110 - other processes set no event of ours
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(f"not within {timeout_s} s: {what}") from None
    return seen


async def bounded(event: asyncio.Event, what: str, *, timeout_s: float = 15) -> None:
    await until(event.is_set, what, timeout_s=timeout_s)


@asynccontextmanager
async def working(
    jobs: Jobs, handlers: Mapping[str, Handler], *, concurrency: int = 4, pace: Pace = QUICK
) -> AsyncIterator[Worker]:
    worker = jobs.worker(handlers, concurrency=concurrency, pace=pace)
    await worker.start()
    try:
        yield worker
    finally:
        await worker.stop(grace_s=5)


def enqueue(db: Database, jobs: Jobs, kind: str = "work", **options: Any) -> str:
    with db.write() as tx:
        return jobs.enqueue(tx, kind=kind, **{"payload": {}, **options}).job.id


def find(db: Database, jobs: Jobs, job_id: str) -> Job:
    with db.read() as tx:
        job = jobs.find(tx, job_id)
    assert job is not None
    return job


async def ended(db: Database, jobs: Jobs, job_id: str, *, timeout_s: float = 15) -> Job:
    def look() -> Job | None:
        job = find(db, jobs, job_id)
        return job if job.status in ENDED else None

    job = await until(look, f"job {job_id} ends", timeout_s=timeout_s)
    assert job is not None
    return job


def make_effects(db: Database) -> None:
    with db.write() as tx:
        tx.execute(text("CREATE TABLE effects (job_id TEXT NOT NULL, done_by TEXT NOT NULL)"))


def effects(db: Database) -> list[tuple[str, str]]:
    with db.read() as tx:
        return [(row.job_id, row.done_by) for row in tx.execute(text("SELECT job_id, done_by FROM effects"))]


def write_effect(db: Database, run: JobRun, done_by: str) -> None:
    with db.write() as tx:
        run.check_in(tx)
        tx.execute(text("INSERT INTO effects VALUES (:job_id, :by)"), {"job_id": run.job.id, "by": done_by})


def fenced(db: Database, done_by: str) -> Handler:
    async def handler(run: JobRun) -> object:
        await db.run(write_effect, db, run, done_by)
        return {"by": done_by}

    return handler
