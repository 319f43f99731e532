"""Starts runs: rows and jobs in one transaction, or none of either. What is asked for comes in, runs go out.

Dispatches of one workflow go one after the other, so that two equal ones at the same moment give one run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from ammeter.base.clock import now
from ammeter.base.errors import Conflict, Detail, QuotaExhausted, ValidationFailed
from ammeter.base.ids import is_id, new_id
from ammeter.engines.db.database import Tx
from ammeter.engines.jobs.port import Jobs
from ammeter.features.evals import store
from ammeter.features.evals.model import Run, Trigger
from ammeter.features.evals.run_job import KIND, MAX_WORKERS
from ammeter.features.orgs import audit
from ammeter.features.orgs import service as orgs
from ammeter.features.orgs.model import Actor, Role
from ammeter.features.sources import service as sources
from ammeter.features.workflows import service as workflows
from ammeter.features.workflows import store as workflow_store
from ammeter.features.workflows.model import Target, Workflow

KEY_LIFE = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What a dispatch asks for. No models and no targets: the workflow's default target."""

    reason: str = ""
    baseline_run_id: str | None = None
    idempotency_key: str | None = None
    force_new_run: bool = False
    tester_model_ids: tuple[str, ...] | None = None
    tester_targets: tuple[Target, ...] | None = None
    trigger: Trigger = "ci"
    tags: tuple[str, ...] = ()
    suite_run_id: str | None = None
    bundle_id: str | None = None
    """A stored bundle of the source to play against, instead of the one it serves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatched:
    run: Run
    deduplicated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InitialDispatch:
    queued: int
    failed: int


def dispatch(
    tx: Tx, actor: Actor, org_id: str, workflow_id: str, order: Order, *, jobs: Jobs
) -> list[Dispatched]:
    """One run a target. QuotaExhausted where the included runs do not suffice for all: then none starts."""
    actor.need(Role.editor, to="start a run")
    if is_id(workflow_id):
        workflow_store.lock_workflow(tx, workflow_id)
    workflow = workflows.get_workflow(tx, actor, org_id, workflow_id)
    if workflow.status == "archived":
        raise Conflict("The workflow is archived; an archived workflow starts no runs.")
    if sources.get_source(tx, org_id, workflow.source_id).status != "active":
        raise Conflict("The workflow's MCP source is archived; make it active again first.")
    targets = _targets(workflow, order)
    _check_baseline(tx, workflow, order.baseline_run_id)
    made = [_start(tx, workflow, target, order, jobs, single=len(targets) == 1) for target in targets]
    new = [one.run for one in made if not one.deduplicated]
    if new:
        orgs.spend_runs(tx, org_id, len(new))
        audit.record(tx, actor, org_id, "run.start", workflow.id, runs=[run.id for run in new])
    return made


def dispatch_initial(tx: Tx, workflow: Workflow, *, jobs: Jobs) -> InitialDispatch:
    """One run a target of a new workflow; those that the included runs do not cover are not started."""
    order = Order(trigger="initial", tags=("initial",), force_new_run=True)
    queued = 0
    for target in workflow.version.targets:
        try:
            orgs.spend_runs(tx, workflow.org_id, 1)
        except QuotaExhausted:
            break
        _start(tx, workflow, target, order, jobs, single=False)
        queued += 1
    return InitialDispatch(queued=queued, failed=len(workflow.version.targets) - queued)


def _start(
    tx: Tx, workflow: Workflow, target: Target, order: Order, jobs: Jobs, *, single: bool
) -> Dispatched:
    at = now()
    key = order.idempotency_key if single else None
    if key is not None and (known := store.find_key(tx, workflow.id, key, since=at - KEY_LIFE)):
        run = store.find_run(tx, known)
        if run is not None:
            return Dispatched(run=run, deduplicated=True)
    same_key = _same_key(workflow, target, order.baseline_run_id)
    twin = None if order.force_new_run else store.find_open_twin(tx, workflow.id, same_key)
    run = twin or _insert(tx, workflow, target, order, jobs, same_key)
    if key is not None:
        store.put_key(tx, workflow.id, key, run.id, at)
    return Dispatched(run=run, deduplicated=twin is not None)


def _insert(tx: Tx, workflow: Workflow, target: Target, order: Order, jobs: Jobs, same_key: str) -> Run:
    at = now()
    run_id = new_id()
    job = jobs.enqueue(
        tx, kind=KIND, payload={"run_id": run_id}, org_id=workflow.org_id, max_attempts=MAX_WORKERS
    ).job
    words = (workflow.name, target.model_id, order.reason, order.trigger, *order.tags, run_id, workflow.id)
    run = Run(
        id=run_id,
        org_id=workflow.org_id,
        workflow_id=workflow.id,
        workflow_name=workflow.name,
        version_id=workflow.version.id,
        source_id=workflow.source_id,
        job_id=job.id,
        same_key=same_key,
        status="running",
        phase="queued",
        trigger=order.trigger,
        tags=order.tags,
        reason=order.reason,
        model_id=target.model_id,
        skill_mode=target.skill_mode,
        skill_version_id=target.skill_version_id,
        baseline_run_id=order.baseline_run_id,
        suite_run_id=order.suite_run_id,
        bundle_id=order.bundle_id,
        at=at,
        queued_at=at,
        # An index entry of PostgreSQL has at most 2,704 bytes.
        search_text=" ".join(words).lower().encode()[:2_000].decode("utf-8", "ignore"),
    )
    store.insert_run(tx, run)
    return run


def _targets(workflow: Workflow, order: Order) -> Sequence[Target]:
    """The targets to run on; each must be one of the workflow's own."""
    configured = workflow.version.targets
    if order.tester_targets is not None and order.tester_model_ids is not None:
        path = "$.testerModelIds"
        raise ValidationFailed([Detail(path=path, message="give testerModelIds or testerTargets, not both")])
    if order.tester_targets is not None:
        wanted = [(f"$.testerTargets[{i}].modelId", t) for i, t in enumerate(order.tester_targets)]
    elif order.tester_model_ids is not None:
        ids = order.tester_model_ids
        wanted = [(f"$.testerModelIds[{i}]", Target(model_id=each)) for i, each in enumerate(ids)]
    else:
        return configured[:1]
    problems, chosen = [], []
    for path, target in wanted:
        found = _configured(configured, target)
        if found is None:
            known = ", ".join(dict.fromkeys(each.model_id for each in configured))
            message = f"{target.model_id!r} is not among the workflow's targets: {known}"
            problems.append(Detail(path=path, message=message))
        elif found in chosen:
            problems.append(Detail(path=path, message=f"{target.model_id!r} is asked for twice"))
        else:
            chosen.append(found)
    if problems:
        raise ValidationFailed(problems)
    return chosen


def _configured(configured: Sequence[Target], wanted: Target) -> Target | None:
    """The workflow's target that is meant; a skill other than its own may be asked for by name."""
    same_model = [target for target in configured if target.model_id == wanted.model_id]
    if wanted in same_model or not same_model:
        return wanted if same_model else None
    if wanted.skill_mode != "none":
        return replace(same_model[0], skill_mode=wanted.skill_mode, skill_version_id=wanted.skill_version_id)
    return same_model[0]


def _check_baseline(tx: Tx, workflow: Workflow, run_id: str | None) -> None:
    if run_id is None:
        return
    run = store.find_run(tx, run_id, org_id=workflow.org_id) if is_id(run_id) else None
    if run is None or run.workflow_id != workflow.id:
        message = "there is no such run of this workflow"
        raise ValidationFailed([Detail(path="$.baselineRunId", message=message)])


def _same_key(workflow: Workflow, target: Target, baseline_run_id: str | None) -> str:
    parts = (
        workflow.version.id,
        target.model_id,
        target.skill_mode,
        target.skill_version_id,
        baseline_run_id,
    )
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
