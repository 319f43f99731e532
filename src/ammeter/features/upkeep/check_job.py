"""A job that does nothing but show that jobs work: it takes its time, tells its progress, and at the
end writes one line into the audit log, once, whichever worker ends it. `ammeter admin job check`."""

from __future__ import annotations

import asyncio

from ammeter.engines.db.database import Database
from ammeter.engines.jobs.port import Handler, JobFailed, JobRun
from ammeter.features.orgs import audit
from ammeter.features.orgs.model import Actor, Role

KIND = "upkeep.check"

_STEP_S = 0.1


def check_job(db: Database) -> Handler:
    def write_down(run: JobRun) -> None:
        actor = Actor(kind="operator", name="jobs", role=Role.owner, origin="worker")
        with db.write() as tx:
            run.check_in(tx)
            audit.record(tx, actor, run.job.org_id, "jobs.check", run.job.id, attempts=run.job.attempts)

    async def handler(run: JobRun) -> object:
        seconds = run.job.payload.get("seconds", 0)
        if not isinstance(seconds, int | float) or not 0 <= seconds <= 600:
            raise JobFailed(f"A check takes 0 to 600 seconds, not {seconds!r}.")
        steps = round(seconds / _STEP_S)
        for step in range(steps):
            run.stop_if_cancelled()
            await run.progress(step / steps, f"step {step + 1} of {steps}")
            await asyncio.sleep(_STEP_S)
        await db.run(write_down, run)
        return {"seconds": seconds}

    return handler
