"""`/suites`: sets of cases with a gate. Their runs are started at `/mcp` and from the dashboard, not here."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from ammeter.doors.http.call import Caller
from ammeter.doors.http.strict import Body, CurrentCall, Record, StrictRoute
from ammeter.doors.http.suite_bodies import CaseIds, GateIn, Repeats
from ammeter.doors.http.suite_records import SuiteRecord, suite_record
from ammeter.doors.http.workflow_bodies import refuse_unstorable
from ammeter.doors.rest.errors import errors
from ammeter.engines.db.database import Tx
from ammeter.features.orgs.fields import Name
from ammeter.features.suites import service
from ammeter.features.suites.model import SuiteDraft

router = APIRouter(tags=["suites"], route_class=StrictRoute)

Text = Annotated[str, Field(max_length=2_000)]


class CreateSuite(Body):
    name: Name
    description: Text = ""
    case_ids: CaseIds
    gate: GateIn = Field(default_factory=GateIn)
    repeats: Repeats = 1


class ChangeSuite(Body):
    """Any of the fields; one that is absent stays as it is."""

    name: Name = Field(default_factory=str)
    description: Text = ""
    case_ids: CaseIds = Field(default_factory=list)
    gate: GateIn = Field(default_factory=GateIn)
    repeats: Repeats = 1


class SuiteList(Record):
    rows: list[SuiteRecord]


class SuiteOk(Record):
    ok: bool


@router.get("/suites", operation_id="listSuites", summary="List active suites", responses=errors())
async def list_suites(call: CurrentCall) -> SuiteList:
    return await call.read(_list)


@router.post(
    "/suites",
    operation_id="createSuite",
    summary="Create a suite",
    status_code=201,
    responses=errors("role", "body", "conflict"),
)
async def create_suite(call: CurrentCall, body: CreateSuite) -> SuiteRecord:
    return await call.write(_create, body)


@router.get("/suites/{id}", operation_id="getSuite", summary="Read a suite", responses=errors("id"))
async def get_suite(call: CurrentCall, id: str) -> SuiteRecord:  # noqa: A002
    return await call.read(_get, id)


@router.patch(
    "/suites/{id}",
    operation_id="changeSuite",
    summary="Change a suite",
    responses=errors("role", "id", "body", "conflict"),
)
async def change_suite(call: CurrentCall, id: str, body: ChangeSuite) -> SuiteRecord:  # noqa: A002
    return await call.write(_change, id, body)


@router.delete(
    "/suites/{id}",
    operation_id="archiveSuite",
    summary="Archive a suite; its suite runs stay",
    responses=errors("role", "id"),
)
async def archive_suite(call: CurrentCall, id: str) -> SuiteOk:  # noqa: A002
    return await call.write(_archive, id)


def _list(tx: Tx, caller: Caller) -> SuiteList:
    found = service.list_suites(tx, caller.actor, caller.principal.org.id)
    return SuiteList(rows=[suite_record(suite) for suite in found])


def _create(tx: Tx, caller: Caller, body: CreateSuite) -> SuiteRecord:
    refuse_unstorable(body)
    draft = SuiteDraft(
        name=body.name,
        description=body.description,
        case_ids=tuple(body.case_ids),
        gate=body.gate.value(),
        repeats=body.repeats,
    )
    return suite_record(service.create_suite(tx, caller.actor, caller.principal.org.id, draft))


def _change(tx: Tx, caller: Caller, suite_id: str, body: ChangeSuite) -> SuiteRecord:
    refuse_unstorable(body)
    given = {name: getattr(body, name) for name in body.model_fields_set}
    if "case_ids" in given:
        given["case_ids"] = tuple(body.case_ids)
    if "gate" in given:
        given["gate"] = body.gate.value()
    org_id = caller.principal.org.id
    made = service.change_suite(tx, caller.actor, org_id, suite_id, lambda before: replace(before, **given))
    return suite_record(made)


def _get(tx: Tx, caller: Caller, suite_id: str) -> SuiteRecord:
    return suite_record(service.get_suite(tx, caller.actor, caller.principal.org.id, suite_id))


def _archive(tx: Tx, caller: Caller, suite_id: str) -> SuiteOk:
    service.archive_suite(tx, caller.actor, caller.principal.org.id, suite_id)
    return SuiteOk(ok=True)
