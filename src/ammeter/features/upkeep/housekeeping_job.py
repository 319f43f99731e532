"""What grows and is of no more use goes: rate buckets that are full again, jobs that ended long ago,
telemetry and runs past their time.
Scheduled by a row like any other schedule, so that of many nodes one does it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from sqlalchemy.exc import IntegrityError

from ammeter.base.clock import now
from ammeter.engines import buckets
from ammeter.engines.db.database import Database
from ammeter.engines.jobs.port import Handler, JobRun, Jobs
from ammeter.engines.jobs.schedule import add_schedule, find_schedule
from ammeter.engines.jobs.timing import Timing
from ammeter.features.evals import retention as runs
from ammeter.features.telemetry import retention as telemetry

KIND = "upkeep.housekeeping"

_SCHEDULE_ID = "upkeep"
_EVERY_MINUTES = 60
_BUCKET_LIFE = timedelta(days=1)
_JOB_LIFE = timedelta(days=30)


def housekeeping_job(db: Database, jobs: Jobs, *, telemetry_days: int = 90, run_days: int = 365) -> Handler:
    def tidy(run: JobRun) -> dict[str, Any]:
        at = now()
        with db.write() as tx:
            run.check_in(tx)
            done = {
                "buckets": buckets.prune(tx, at - _BUCKET_LIFE),
                "jobs": jobs.prune(tx, at - _JOB_LIFE),
            }
        return done | {
            "telemetry": telemetry.prune(db, keep_days=telemetry_days, at=at, check=run.check_in),
            "runs": runs.prune(db, keep_days=run_days, at=at, check=run.check_in),
        }

    async def handler(run: JobRun) -> object:
        return await db.run(tidy, run)

    return handler


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
