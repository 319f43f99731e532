"""Ends runs that nobody will carry on: their job is over, or gone, and they still say `running`. It also
forgets idempotency keys after their day. One row schedules it for all nodes."""

from __future__ import annotations

from sqlalchemy.exc import IntegrityError

from ammeter.base.clock import now
from ammeter.engines.db.database import Database
from ammeter.engines.jobs.port import Handler, JobRun
from ammeter.engines.jobs.schedule import add_schedule, find_schedule
from ammeter.engines.jobs.timing import Timing
from ammeter.features.evals import store
from ammeter.features.evals.dispatch import KEY_LIFE
from ammeter.features.evals.finish import give_up

KIND = "evals.sweep"

_SCHEDULE_ID = "evals.sweep"
_EVERY_MINUTES = 1
_BATCH = 200


def sweep_job(db: Database) -> Handler:
    async def handler(job: JobRun) -> object:
        return {"ended": await db.run(sweep, db, job)}

    return handler


def sweep(db: Database, job: JobRun) -> int:
    with db.write() as tx:
        job.check_in(tx)
        store.prune_keys(tx, now() - KEY_LIFE)
        abandoned = store.list_abandoned(tx, limit=_BATCH)
        for run_id in abandoned:
            run = store.find_run(tx, run_id, lock=True)
            if run is None or run.status != "running":
                continue
            if run.cancel_requested:
                give_up(tx, run, "cancelled", "The run was cancelled.")
            else:
                give_up(tx, run, "internal", "The workers that carried this run out went away too often.")
    return len(abandoned)


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
