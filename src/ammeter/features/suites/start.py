"""Starts and cancels suite runs. All runs of one and their jobs are made in one transaction, or none are:
what is asked for comes in, a SuiteRun goes out. From there on workers carry the runs out like any others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ammeter.base.clock import now
from ammeter.base.errors import Conflict, Detail, NotFound, ValidationFailed
from ammeter.base.ids import is_id, new_id
from ammeter.base.pages import PageRequest
from ammeter.engines.db.database import Tx
from ammeter.engines.jobs.port import Jobs
from ammeter.features.bundles import service as bundles
from ammeter.features.evals import service as runs_service
from ammeter.features.evals.dispatch import KEY_LIFE, Dispatched, Order, dispatch
from ammeter.features.evals.model import Run
from ammeter.features.orgs import audit
from ammeter.features.orgs.model import Actor, Role
from ammeter.features.suites import store
from ammeter.features.suites.gate import over_limit
from ammeter.features.suites.model import LAST, MAX_RUNS, Gate, PlannedCase, Suite, SuiteOrder, SuiteRun
from ammeter.features.suites.results import get_suite_run, result_of
from ammeter.features.suites.service import gate_problems, get_suite
from ammeter.features.workflows import service as workflows
from ammeter.features.workflows import store as workflow_store


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedSuite:
    suite_run: SuiteRun
    deduplicated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    name: str
    suite: Suite | None
    case_ids: Sequence[str]
    gate: Gate
    repeats: int


def start_suite_run(tx: Tx, actor: Actor, org_id: str, order: SuiteOrder, *, jobs: Jobs) -> StartedSuite:
    """QuotaExhausted where the included runs do not suffice for all: then none starts."""
    actor.need(Role.editor, to="start a suite run")
    known = _known(tx, actor, org_id, order)
    if known is not None:
        return StartedSuite(suite_run=known, deduplicated=True)
    wanted = _wanted(tx, actor, org_id, order)
    made = SuiteRun(
        id=new_id(),
        org_id=org_id,
        suite_id=wanted.suite.id if wanted.suite else None,
        name=wanted.name,
        gate=wanted.gate,
        repeats=wanted.repeats,
        cases=(),
        baseline_id=_baseline(tx, actor, org_id, order, wanted.suite),
        bundle_id=order.bundle_id,
        trigger=order.trigger,
        reason=order.reason,
        idempotency_key=order.idempotency_key,
        cancelled_at=None,
        created_at=now(),
        created_by=actor.name,
    )
    if not store.insert_suite_run(tx, made):
        # Another start with the key came first, at this very moment.
        earlier = store.find_by_key(tx, org_id, order.idempotency_key or "")
        if earlier is None:
            raise Conflict("Another suite run was started at the same moment; ask again.")
        return StartedSuite(suite_run=earlier, deduplicated=True)
    cases = _dispatch(tx, actor, made, wanted, order, jobs)
    store.set_cases(tx, made.id, cases)
    audit.record(tx, actor, org_id, "suite.run", made.id, suite=made.name, cases=len(cases))
    return StartedSuite(suite_run=replace(made, cases=tuple(cases)), deduplicated=False)


def cancel_suite_run(tx: Tx, actor: Actor, org_id: str, suite_run_id: str, *, jobs: Jobs) -> SuiteRun:
    """Runs that wait end at once, those under way in a moment; what ended stays as it is."""
    actor.need(Role.editor, to="cancel a suite run")
    suite_run = get_suite_run(tx, actor, org_id, suite_run_id)
    still = [run for run in store.runs_of(tx, [suite_run.id])[suite_run.id] if run.status == "running"]
    if not still:
        return suite_run
    if suite_run.cancelled_at is None:
        store.set_cancelled(tx, suite_run.id, now())
        audit.record(tx, actor, org_id, "suite.cancel", suite_run.id)
    for run in still:
        runs_service.cancel_run(tx, actor, org_id, run.id, jobs=jobs)
    return get_suite_run(tx, actor, org_id, suite_run_id)


def why_not_begin(tx: Tx, run: Run) -> str | None:
    """Asked before a run begins: why it should not, where its suite has spent what it may."""
    if run.suite_run_id is None:
        return None
    suite_run = store.find_suite_run(tx, run.suite_run_id)
    if suite_run is None or suite_run.gate.max_cost_usd is None:
        return None
    return over_limit(suite_run.gate, store.runs_of(tx, [suite_run.id])[suite_run.id])


def _known(tx: Tx, actor: Actor, org_id: str, order: SuiteOrder) -> SuiteRun | None:
    """The suite run that the idempotency key stands for."""
    if order.idempotency_key is None:
        return None
    known = store.find_by_key(tx, org_id, order.idempotency_key)
    if known is not None and known.created_at < now() - KEY_LIFE:
        store.free_key(tx, known.id)
        return None
    return get_suite_run(tx, actor, org_id, known.id) if known is not None else None


def _wanted(tx: Tx, actor: Actor, org_id: str, order: SuiteOrder) -> _Wanted:
    ways = [name for name in ("suite_id", "case_ids", "category") if getattr(order, name) is not None]
    if len(ways) != 1:
        message = "name one of them: a suite, case ids or a category"
        raise ValidationFailed([Detail(path="$.caseIds", message=message)])
    suite = get_suite(tx, actor, org_id, order.suite_id) if order.suite_id is not None else None
    gate = order.gate or (suite.gate if suite else Gate())
    repeats = order.repeats or (suite.repeats if suite else 1)
    if suite is not None:
        if suite.status == "archived":
            raise Conflict("The suite is archived; an archived suite starts no runs.")
        name, case_ids = suite.name, [case.workflow_id for case in suite.cases]
    elif order.category is not None:
        found = workflows.list_workflows(tx, actor, org_id, category=order.category)
        name, case_ids = f"category {order.category}", [workflow.id for workflow, _ in found]
    else:
        name, case_ids = "chosen cases", list(dict.fromkeys(order.case_ids or ()))
    problems = list(gate_problems(gate))
    if not case_ids:
        problems.append(Detail(path="$.caseIds", message="there is no case to run"))
    if len(case_ids) * repeats * len(order.model_ids or (1,)) > MAX_RUNS:
        message = f"cases times repeats times models are at most {MAX_RUNS} runs"
        problems.append(Detail(path="$.repeats", message=message))
    if problems:
        raise ValidationFailed(problems)
    return _Wanted(name=name, suite=suite, case_ids=case_ids, gate=gate, repeats=repeats)


def _dispatch(
    tx: Tx, actor: Actor, made: SuiteRun, wanted: _Wanted, order: SuiteOrder, jobs: Jobs
) -> list[PlannedCase]:
    # All of them first, and in one order: who holds one may wait for what we take later.
    for case_id in sorted(filter(is_id, wanted.case_ids)):
        workflow_store.lock_workflow(tx, case_id)
    bundle_source = _bundle_source(tx, actor, made)
    tags = ("suite",) if made.trigger == "suite" else ("suite", made.trigger)
    cases: list[PlannedCase] = []
    for case_id in wanted.case_ids:
        source_id = _source_of(tx, actor, made.org_id, case_id)
        run_order = Order(
            reason=made.reason or made.name,
            force_new_run=True,
            tester_model_ids=order.model_ids,
            trigger="suite",
            tags=tags,
            suite_run_id=made.id,
            bundle_id=made.bundle_id if source_id == bundle_source else None,
        )
        for repeat in range(wanted.repeats):
            started = _start_case(tx, actor, made.org_id, case_id, run_order, jobs)
            if repeat == 0:
                cases += [_planned(one.run) for one in started]
    if bundle_source is not None and all(case.source_id != bundle_source for case in cases):
        message = "no case of the suite tests the source that the bundle belongs to"
        raise ValidationFailed([Detail(path="$.bundleId", message=message)])
    return cases


def _source_of(tx: Tx, actor: Actor, org_id: str, case_id: str) -> str:
    try:
        return workflows.get_workflow(tx, actor, org_id, case_id).source_id
    except NotFound:
        message = f"there is no such workflow: {case_id[:63]}"
        raise ValidationFailed([Detail(path="$.caseIds", message=message)]) from None


def _start_case(
    tx: Tx, actor: Actor, org_id: str, case_id: str, order: Order, jobs: Jobs
) -> list[Dispatched]:
    """A refusal names the case: whoever starts a suite named many at once."""
    try:
        return dispatch(tx, actor, org_id, case_id, order, jobs=jobs)
    except Conflict as refused:
        name = workflows.get_workflow(tx, actor, org_id, case_id).name
        raise Conflict(f"The case {name!r}: {refused.message}") from None
    except ValidationFailed as refused:
        name = workflows.get_workflow(tx, actor, org_id, case_id).name
        details = [Detail(path=d.path, message=f"the case {name!r}: {d.message}") for d in refused.details]
        raise ValidationFailed(details) from None


def _planned(run: Run) -> PlannedCase:
    return PlannedCase(
        workflow_id=run.workflow_id,
        name=run.workflow_name,
        version_id=run.version_id,
        source_id=run.source_id,
        model_id=run.model_id,
        skill_mode=run.skill_mode,
        skill_version_id=run.skill_version_id,
    )


def _baseline(tx: Tx, actor: Actor, org_id: str, order: SuiteOrder, suite: Suite | None) -> str | None:
    if order.baseline_id is None:
        return None
    if order.baseline_id == LAST:
        if suite is None:
            message = f"{LAST!r} is the last run of a suite; chosen cases have none"
            raise ValidationFailed([Detail(path="$.baselineSuiteRunId", message=message)])
        return _last_ended(tx, org_id, suite.id)
    try:
        return get_suite_run(tx, actor, org_id, order.baseline_id).id
    except NotFound:
        path = "$.baselineSuiteRunId"
        raise ValidationFailed([Detail(path=path, message="there is no such suite run")]) from None


def _last_ended(tx: Tx, org_id: str, suite_id: str) -> str | None:
    """The newest that was decided; None at the first time."""
    newest = store.list_suite_runs(tx, org_id, PageRequest(page_size=20), suite_id=suite_id).rows
    runs = store.runs_of(tx, [one.id for one in newest])
    return next((one.id for one in newest if result_of(one, runs[one.id]).status in ("pass", "fail")), None)


def _bundle_source(tx: Tx, actor: Actor, made: SuiteRun) -> str | None:
    if made.bundle_id is None:
        return None
    actor.need(Role.admin, to="run a suite against a bundle that is not promoted")
    try:
        bundle = bundles.get_bundle(tx, made.org_id, made.bundle_id)
        if not workflows.may_touch(actor, bundle.source_id):
            raise NotFound("bundle")
    except NotFound:
        raise ValidationFailed([Detail(path="$.bundleId", message="there is no such bundle")]) from None
    return bundle.source_id
