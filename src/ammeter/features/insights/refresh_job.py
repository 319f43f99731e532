"""The refresh as a job: one for each organization with analytics, set off every hour by one without any."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict

from sqlalchemy.exc import IntegrityError

from ammeter.base.pages import PageRequest
from ammeter.engines.blobs.port import Blobs
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.jobs.port import Enqueued, Handler, JobRun, Jobs
from ammeter.engines.jobs.schedule import add_schedule, find_schedule
from ammeter.engines.jobs.timing import Timing
from ammeter.features.insights.refresh_store import Superseded
from ammeter.features.orgs import store as orgs

KIND = "insights.refresh"

_SCHEDULE_ID = "insights"
_EVERY_MINUTES = 60
_PAGE = 200

Progress = Callable[[float, str], None]


def refresh_job(db: Database, blobs: Blobs, jobs: Jobs, *, telemetry_days: int = 90) -> Handler:
    async def handler(run: JobRun) -> object:
        org_id = run.job.org_id
        if org_id is None:
            return {"organizations": await db.run(_enqueue_all, run)}
        loop = asyncio.get_running_loop()

        def progress(share: float, message: str) -> None:
            run.stop_if_cancelled()
            asyncio.run_coroutine_threadsafe(run.progress(share, message), loop).result()

        return await asyncio.to_thread(_refresh, run, org_id, progress)

    def _enqueue_all(run: JobRun) -> int:
        with db.write() as tx:
            run.check_in(tx)
            wanted = _orgs_with_analytics(tx)
            for org_id in wanted:
                enqueue(tx, jobs, org_id)
        return len(wanted)

    def _refresh(run: JobRun, org_id: str, progress: Progress) -> object:
        # Imported here: numpy and the embedding are for workers that have something to refresh.
        from ammeter.features.insights.refresh import refresh

        try:
            done = refresh(db, blobs, org_id, keep_days=telemetry_days, check=run.check_in, progress=progress)
        except Superseded:
            return {"superseded": True}
        return asdict(done)

    return handler


def enqueue(tx: Tx, jobs: Jobs, org_id: str) -> Enqueued:
    """A refresh of an organization; one that waits or runs stands in for a second one."""
    return jobs.enqueue(tx, kind=KIND, payload={}, org_id=org_id, dedup_key=f"insights:{org_id}")


def ensure_scheduled(db: Database) -> None:
    """Every worker calls this at its start; the first one makes the row."""
    with db.read() as tx:
        if find_schedule(tx, _SCHEDULE_ID):
            return
    try:
        with db.write() as tx:
            timing = Timing(every_minutes=_EVERY_MINUTES)
            add_schedule(tx, kind=KIND, payload={}, timing=timing, schedule_id=_SCHEDULE_ID)
    except IntegrityError:
        return  # Another worker was first.


def _orgs_with_analytics(tx: Tx) -> list[str]:
    found: list[str] = []
    number = 1
    while True:
        page = orgs.list_orgs(tx, PageRequest(page=number, page_size=_PAGE))
        found += [org.id for org in page.rows if org.mcp_analytics]
        if not page.has_more:
            return found
        number += 1
