"""What a schedule sets off: a run of the workflow on its default target, as if somebody had asked for it."""

from __future__ import annotations

from ammeter.base.errors import Conflict, NotFound, QuotaExhausted
from ammeter.engines.db.database import Database
from ammeter.engines.jobs.port import Handler, JobFailed, JobRun, Jobs
from ammeter.features.evals.dispatch import Order, dispatch
from ammeter.features.orgs.model import Actor, Role

SCHEDULER = Actor(kind="operator", name="schedule", role=Role.editor, origin="worker")


def scheduled_job(db: Database, jobs: Jobs) -> Handler:
    def start(job: JobRun) -> list[str]:
        org_id, workflow_id = job.job.org_id, str(job.job.payload["workflow_id"])
        if org_id is None:
            raise JobFailed("A scheduled run belongs to an organization.")
        order = Order(trigger="schedule", tags=("schedule",))
        try:
            with db.write() as tx:
                job.check_in(tx)
                made = dispatch(tx, SCHEDULER, org_id, workflow_id, order, jobs=jobs)
        except (Conflict, NotFound, QuotaExhausted) as refused:
            raise JobFailed(refused.message) from None
        return [one.run.id for one in made]

    async def handler(job: JobRun) -> object:
        return {"run_ids": await db.run(start, job)}

    return handler
