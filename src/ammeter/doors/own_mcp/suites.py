"""The tools of suites: which cases there are, start some, are they ready to ship, which were run, cancel one.
Each is the same feature that the dashboard calls, in the caller's name and role."""

from __future__ import annotations

import asyncio
import time

from ammeter.base.errors import Detail, RateLimited, ValidationFailed
from ammeter.base.pages import PageRequest
from ammeter.doors.http.call import Call, Caller
from ammeter.doors.http.suite_records import SuiteRunRecord, suite_run_record, suite_run_summary
from ammeter.doors.own_mcp.arguments import (
    CancelSuiteRun,
    CaseSource,
    EvalCase,
    EvalCases,
    GetSuiteRun,
    ListEvalCases,
    ListSuiteRuns,
    NamedSuite,
    RunEvalSuite,
    StartedSuiteRun,
    SuiteRuns,
)
from ammeter.doors.own_mcp.visit import OwnVisit
from ammeter.engines.db.database import Tx
from ammeter.features.evals import store as runs_store
from ammeter.features.evals.model import Run
from ammeter.features.sources.model import Source
from ammeter.features.suites import results, service
from ammeter.features.suites.model import SuiteOrder, SuiteResult
from ammeter.features.suites.start import cancel_suite_run, start_suite_run
from ammeter.features.workflows import service as workflows
from ammeter.features.workflows.model import Workflow
from ammeter.wiring import House

_LOOK_S = 0.5


async def list_eval_cases(visit: OwnVisit, asked: ListEvalCases) -> EvalCases:
    return await visit.call.read(_list, asked)


async def run_eval_suite(visit: OwnVisit, asked: RunEvalSuite) -> StartedSuiteRun:
    await _spend(visit.call)
    suite_run_id, deduplicated = await visit.call.write(_start, visit.call.house, asked)
    result = await _ended(visit, suite_run_id, None, asked.wait_seconds)
    return StartedSuiteRun(**dict(suite_run_record(result)), deduplicated=deduplicated)


async def get_suite_run(visit: OwnVisit, asked: GetSuiteRun) -> SuiteRunRecord:
    baseline = asked.baseline_suite_run_id
    return suite_run_record(await _ended(visit, asked.suite_run_id, baseline, asked.wait_seconds))


async def list_suite_runs(visit: OwnVisit, asked: ListSuiteRuns) -> SuiteRuns:
    return await visit.call.read(_list_runs, asked)


async def cancel(visit: OwnVisit, asked: CancelSuiteRun) -> SuiteRunRecord:
    return await visit.call.write(_cancel, visit.call.house, asked.suite_run_id)


async def _ended(visit: OwnVisit, suite_run_id: str, baseline: str | None, wait_s: int) -> SuiteResult:
    """The result once it is over, or as it stands when the waiting is."""
    until = time.monotonic() + wait_s
    while True:
        result = await visit.call.read(_result, suite_run_id, baseline)
        visit.look_at(result)
        left_s = until - time.monotonic()
        if result.status != "running" or left_s <= 0:
            return result
        await asyncio.sleep(min(_LOOK_S, left_s))


async def _spend(call: Call) -> None:
    """What a trigger over REST costs, a trigger here does."""
    policy = call.house.runs_policy
    rate = f"{policy.burst} dispatches at once, or {policy.per_second:g} a second"
    try:
        await call.spend(policy, f"More than {rate}, in one organization.")
    except RateLimited as limited:
        limited.message += " Nothing was started."
        raise


def _result(tx: Tx, caller: Caller, suite_run_id: str, baseline: str | None) -> SuiteResult:
    org_id = caller.principal.org.id
    return results.get_result(tx, caller.actor, org_id, suite_run_id, baseline_id=baseline)


def _start(tx: Tx, caller: Caller, house: House, asked: RunEvalSuite) -> tuple[str, bool]:
    org_id = caller.principal.org.id
    suite_id = None
    if asked.suite is not None:
        suite_id = service.get_named(tx, caller.actor, org_id, asked.suite).id
    order = SuiteOrder(
        suite_id=suite_id,
        case_ids=None if asked.case_ids is None else tuple(asked.case_ids),
        category=asked.category,
        model_ids=None if asked.model_ids is None else tuple(asked.model_ids),
        baseline_id=asked.baseline_suite_run_id,
        repeats=asked.repeats,
        gate=None if asked.gate is None else asked.gate.value(),
        idempotency_key=asked.idempotency_key,
        reason=asked.reason,
        bundle_id=asked.bundle_id,
        trigger="mcp",
    )
    try:
        started = start_suite_run(tx, caller.actor, org_id, order, jobs=house.jobs)
    except ValidationFailed as refused:
        raise ValidationFailed([_as_argument(detail) for detail in refused.details]) from None
    return started.suite_run.id, started.deduplicated


def _as_argument(detail: Detail) -> Detail:
    """A field of the feature by the name that the tool has for it."""
    path = detail.path.removeprefix("$.").replace("testerModelIds", "modelIds")
    return Detail(path=path, message=detail.message)


def _list_runs(tx: Tx, caller: Caller, asked: ListSuiteRuns) -> SuiteRuns:
    org_id = caller.principal.org.id
    suite_id = None
    if asked.suite is not None:
        suite_id = service.get_named(tx, caller.actor, org_id, asked.suite).id
    page = PageRequest(page=asked.page, page_size=asked.page_size)
    found = results.list_results(tx, caller.actor, org_id, page, suite_id=suite_id)
    return SuiteRuns(
        rows=[suite_run_summary(row) for row in found.rows],
        page=found.page,
        page_size=found.page_size,
        total=found.total,
        has_more=found.has_more,
    )


def _cancel(tx: Tx, caller: Caller, house: House, suite_run_id: str) -> SuiteRunRecord:
    org_id = caller.principal.org.id
    cancel_suite_run(tx, caller.actor, org_id, suite_run_id, jobs=house.jobs)
    return suite_run_record(results.get_result(tx, caller.actor, org_id, suite_run_id))


def _list(tx: Tx, caller: Caller, asked: ListEvalCases) -> EvalCases:
    org_id = caller.principal.org.id
    words = asked.search.lower().split()
    found = [
        (workflow, source)
        for workflow, source in workflows.list_workflows(tx, caller.actor, org_id, category=asked.category)
        if _matches(workflow, source, words)
    ]
    first = (asked.page - 1) * asked.page_size
    shown = found[first : first + asked.page_size]
    last = runs_store.last_runs(tx, org_id, [workflow.id for workflow, _ in shown])
    suites = service.list_suites(tx, caller.actor, org_id)
    return EvalCases(
        cases=[_case(workflow, source, last.get(workflow.id)) for workflow, source in shown],
        total=len(found),
        page=asked.page,
        has_more=first + len(shown) < len(found),
        suites=[
            NamedSuite(id=suite.id, name=suite.name, case_ids=[case.workflow_id for case in suite.cases])
            for suite in suites
        ],
    )


def _matches(workflow: Workflow, source: Source, words: list[str]) -> bool:
    text = f"{workflow.name} {workflow.description} {source.name}".lower()
    return all(word in text for word in words)


def _case(workflow: Workflow, source: Source, last: Run | None) -> EvalCase:
    return EvalCase(
        id=workflow.id,
        name=workflow.name,
        description=workflow.description,
        source=CaseSource(id=source.id, name=source.name),
        categories=list(source.categories),
        models=[target.model_id for target in workflow.version.targets],
        last_outcome=last.outcome if last else None,
        last_run_id=last.id if last else None,
        last_run_at=last.at if last else None,
    )
