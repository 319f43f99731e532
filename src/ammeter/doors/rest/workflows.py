"""`/workflows`: eval cases, and the dispatch of their runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from fastapi import Body as BodyParameter
from pydantic import Field, StringConstraints

from ammeter.doors.http.call import Caller
from ammeter.doors.http.strict import Body, CurrentCall, StrictRoute
from ammeter.doors.http.workflow_bodies import (
    ChangeWorkflow,
    CreateWorkflow,
    ModelIds,
    Targets,
    changed,
    draft_from,
    refuse_unstorable,
)
from ammeter.doors.rest.categories import Categories, CategorySlug, slugs_of
from ammeter.doors.rest.errors import errors
from ammeter.doors.rest.workflow_records import (
    CreatedWorkflow,
    DispatchRecord,
    InitialDispatchRecord,
    NamedRecord,
    OkRecord,
    StatisticsList,
    VersionIdRecord,
    WorkflowList,
    WorkflowRecord,
    dispatched_record,
    statistics_record,
    workflow_record,
)
from ammeter.engines.db.database import Tx
from ammeter.features.evals import history
from ammeter.features.evals import store as runs_store
from ammeter.features.evals.dispatch import Order, dispatch, dispatch_initial
from ammeter.features.sources import service as sources
from ammeter.features.workflows import service
from ammeter.features.workflows.model import Workflow
from ammeter.wiring import House

router = APIRouter(tags=["workflows"], route_class=StrictRoute)


Key = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class DispatchBody(Body):
    reason: Annotated[str, Field(max_length=500)] = ""
    baseline_run_id: Annotated[str | None, Field(max_length=63)] = None
    idempotency_key: Key | None = None
    force_new_run: bool = False
    tester_model_ids: ModelIds | None = None
    tester_targets: Targets | None = None


@router.get("/workflows", operation_id="listWorkflows", summary="List active workflows", responses=errors())
async def list_workflows(
    call: CurrentCall, category: Categories = (), category_slug: CategorySlug = None
) -> WorkflowList:
    return await call.read(_list, category, category_slug)


@router.post(
    "/workflows",
    operation_id="createWorkflow",
    summary="Create a workflow and queue its first runs",
    status_code=201,
    responses=errors("role", "body"),
)
async def create_workflow(call: CurrentCall, body: CreateWorkflow) -> CreatedWorkflow:
    return await call.write(_create, call.house, body)


@router.get(
    "/workflows/{id}",
    operation_id="getWorkflow",
    summary="Read a workflow with its current version and schedule",
    responses=errors("id"),
)
async def get_workflow(call: CurrentCall, id: str) -> WorkflowRecord:  # noqa: A002
    return await call.read(_get, id)


@router.patch(
    "/workflows/{id}",
    operation_id="changeWorkflow",
    summary="Change a workflow; writes a new version",
    responses=errors("role", "id", "body", "conflict"),
)
async def change_workflow(call: CurrentCall, id: str, body: ChangeWorkflow) -> WorkflowRecord:  # noqa: A002
    return await call.write(_change, call.house, id, body)


@router.delete(
    "/workflows/{id}",
    operation_id="archiveWorkflow",
    summary="Archive a workflow; its runs stay",
    responses=errors("role", "id"),
)
async def archive_workflow(call: CurrentCall, id: str) -> OkRecord:  # noqa: A002
    return await call.write(_archive, id)


@router.post(
    "/workflows/{id}/runs",
    operation_id="dispatchWorkflow",
    summary="Start runs of a workflow",
    status_code=202,
    responses=errors("role", "id", "body", "conflict", "quota"),
)
async def dispatch_workflow(
    call: CurrentCall,
    id: str,  # noqa: A002
    body: Annotated[DispatchBody, BodyParameter(default_factory=DispatchBody)],
) -> DispatchRecord:
    policy = call.house.runs_policy
    rate = f"{policy.burst} dispatches at once, or {policy.per_second:g} a second"
    await call.spend(policy, f"More than {rate}, in one organization.")
    return await call.write(_start, call.house, id, body)


@router.get(
    "/workflows/{id}/statistics",
    operation_id="getWorkflowStatistics",
    summary="How reliably a workflow passes, per model",
    responses=errors("id"),
)
async def get_statistics(call: CurrentCall, id: str) -> StatisticsList:  # noqa: A002
    return await call.read(_statistics, id)


def _create(tx: Tx, caller: Caller, house: House, body: CreateWorkflow) -> CreatedWorkflow:
    org_id = caller.principal.org.id
    made = service.create_workflow(tx, caller.actor, org_id, draft_from(body), house.workflow_surroundings)
    initial = dispatch_initial(tx, made, jobs=house.jobs)
    return CreatedWorkflow(
        workflow=NamedRecord(id=made.id, name=made.name),
        current_version=VersionIdRecord(id=made.version.id),
        initial_dispatch=InitialDispatchRecord(queued=initial.queued, failed=initial.failed),
    )


def _change(tx: Tx, caller: Caller, house: House, workflow_id: str, body: ChangeWorkflow) -> WorkflowRecord:
    org_id = caller.principal.org.id
    made = service.change_workflow(
        tx,
        caller.actor,
        org_id,
        workflow_id,
        lambda before: changed(body, before),
        house.workflow_surroundings,
    )
    return _full_record(tx, org_id, made)


def _start(tx: Tx, caller: Caller, house: House, workflow_id: str, body: DispatchBody) -> DispatchRecord:
    refuse_unstorable(body)
    order = Order(
        reason=body.reason,
        baseline_run_id=body.baseline_run_id,
        idempotency_key=body.idempotency_key,
        force_new_run=body.force_new_run,
        tester_model_ids=None if body.tester_model_ids is None else tuple(body.tester_model_ids),
        tester_targets=None
        if body.tester_targets is None
        else tuple(target.value() for target in body.tester_targets),
        trigger="ci",
        tags=("ci",),
    )
    org_id = caller.principal.org.id
    made = dispatch(tx, caller.actor, org_id, workflow_id, order, jobs=house.jobs)
    return DispatchRecord(run_ids=[one.run.id for one in made], runs=[dispatched_record(one) for one in made])


def _list(tx: Tx, caller: Caller, categories: tuple[str, ...], category_slug: str | None) -> WorkflowList:
    org_id = caller.principal.org.id
    found = service.list_workflows(
        tx, caller.actor, org_id, any_category=slugs_of(categories), category=category_slug
    )
    last = runs_store.last_runs(tx, org_id, [workflow.id for workflow, _ in found])
    return WorkflowList(rows=[workflow_record(each, source, last.get(each.id)) for each, source in found])


def _get(tx: Tx, caller: Caller, workflow_id: str) -> WorkflowRecord:
    org_id = caller.principal.org.id
    return _full_record(tx, org_id, service.get_workflow(tx, caller.actor, org_id, workflow_id))


def _archive(tx: Tx, caller: Caller, workflow_id: str) -> OkRecord:
    service.archive_workflow(tx, caller.actor, caller.principal.org.id, workflow_id)
    return OkRecord(ok=True)


def _statistics(tx: Tx, caller: Caller, workflow_id: str) -> StatisticsList:
    org_id = caller.principal.org.id
    workflow = service.get_workflow(tx, caller.actor, org_id, workflow_id)
    rows = [statistics_record(one) for one in history.statistics(tx, org_id, workflow.id)]
    return StatisticsList(rows=rows)


def _full_record(tx: Tx, org_id: str, workflow: Workflow) -> WorkflowRecord:
    source = sources.get_source(tx, org_id, workflow.source_id)
    return workflow_record(workflow, source, runs_store.last_runs(tx, org_id, [workflow.id]).get(workflow.id))
