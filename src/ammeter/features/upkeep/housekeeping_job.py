"""What grows and is of no more use goes: rate buckets that are full again, jobs that ended long ago,
sessions of people that are over, telemetry and runs past their time, packages that no source names.
Scheduled by a row like any other schedule, so that of many nodes one does it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.exc import IntegrityError

from ammeter.base.clock import now
from ammeter.engines import buckets
from ammeter.engines.db.database import Database
from ammeter.engines.jobs.port import Handler, JobRun, Jobs
from ammeter.engines.jobs.schedule import add_schedule, find_schedule
from ammeter.engines.jobs.timing import Timing
from ammeter.features.evals import retention as runs
from ammeter.features.orgs import sessions
from ammeter.features.orgs.sessions import Lifetime
from ammeter.features.suites import retention as suites
from ammeter.features.telemetry import retention as telemetry

KIND = "upkeep.housekeeping"

_SCHEDULE_ID = "upkeep"
_EVERY_MINUTES = 60
_BUCKET_LIFE = timedelta(days=1)
_JOB_LIFE = timedelta(days=30)
_SESSION_LIFE = Lifetime(idle=timedelta(hours=12), longest=timedelta(days=14))


def housekeeping_job(
    db: Database,
    jobs: Jobs,
    *,
    telemetry_days: int = 90,
    run_days: int = 365,
    session_life: Lifetime = _SESSION_LIFE,
    prune_installs: Callable[[datetime], int] = lambda _: 0,
) -> Handler:
    """`prune_installs` tidies the machine that does this, and says how much went."""

    def tidy(run: JobRun) -> dict[str, Any]:
        at = now()
        with db.write() as tx:
            run.check_in(tx)
            done = {
                "buckets": buckets.prune(tx, at - _BUCKET_LIFE),
                "jobs": jobs.prune(tx, at - _JOB_LIFE),
                "sessions": sessions.prune(tx, session_life, at),
            }
        return done | {
            "telemetry": telemetry.prune(db, keep_days=telemetry_days, at=at, check=run.check_in),
            "suite_runs": suites.prune(db, keep_days=run_days, at=at, check=run.check_in),
            "runs": runs.prune(db, keep_days=run_days, at=at, check=run.check_in),
            "installs": prune_installs(at),
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
