"""What people do with runs that are there: cancel one, have one judged again."""

from __future__ import annotations

from ammeter.base.errors import Conflict
from ammeter.engines.db.database import Tx
from ammeter.engines.jobs.port import Job, Jobs, Status
from ammeter.features.evals import store
from ammeter.features.evals.finish import give_up
from ammeter.features.evals.history import get_run
from ammeter.features.evals.model import Run
from ammeter.features.evals.rejudge_job import KIND as REJUDGE
from ammeter.features.orgs import audit
from ammeter.features.orgs.model import Actor, Role


def cancel_run(tx: Tx, actor: Actor, org_id: str, run_id: str, *, jobs: Jobs) -> Run:
    """A run that waits ends at once; one under way ends in a moment; one that ended stays as it is."""
    actor.need(Role.editor, to="cancel a run")
    # The job before the run: a worker takes them in this order too.
    run = get_run(tx, actor, org_id, run_id)
    job = jobs.cancel(tx, run.job_id) if run.job_id and run.status == "running" else None
    run = get_run(tx, actor, org_id, run_id, lock=True)
    if run.status != "running":
        return run
    store.update_run(tx, run.id, {"cancel_requested": True})
    audit.record(tx, actor, org_id, "run.cancel", run.id)
    if job is None or job.status is not Status.RUNNING:
        give_up(tx, run, "cancelled", "The run was cancelled.")
    return get_run(tx, actor, org_id, run_id)


def rejudge_run(tx: Tx, actor: Actor, org_id: str, run_id: str, *, jobs: Jobs) -> Job:
    """Have the stored trace judged anew, as after a change of the judge; the run itself is not repeated."""
    actor.need(Role.editor, to="have a run judged again")
    run = get_run(tx, actor, org_id, run_id)
    if run.status == "running":
        raise Conflict("The run has not ended yet; it is judged at its end.")
    if run.outcome == "Errored":
        raise Conflict("The run could not be carried out; there is nothing to judge.")
    audit.record(tx, actor, org_id, "run.rejudge", run.id)
    return jobs.enqueue(
        tx, kind=REJUDGE, payload={"run_id": run.id}, org_id=org_id, dedup_key=f"rejudge:{run.id}"
    ).job
