"""`/mcp-servers/{id}/skills`: instruction texts of a source, in versions."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from ammeter.doors.http.call import Caller
from ammeter.doors.http.records import Instant
from ammeter.doors.http.strict import Body, CurrentCall, SnakeRecord, StrictRoute
from ammeter.doors.rest.errors import errors
from ammeter.engines.db.database import Tx
from ammeter.features.orgs.fields import Name
from ammeter.features.sources import service, skills
from ammeter.features.sources.model import SkillVersion
from ammeter.features.sources.skills import SkillText

router = APIRouter(tags=["mcpServers"], route_class=StrictRoute)


class SkillVersionRow(SnakeRecord):
    id: str
    name: str
    number: int
    created_at: Instant
    created_by: str


class SkillVersionRecord(SkillVersionRow):
    text: str


class SkillVersionsRecord(SnakeRecord):
    rows: list[SkillVersionRow]


class AddSkill(Body):
    name: Name
    text: SkillText


@router.get(
    "/mcp-servers/{id}/skills",
    operation_id="listSkills",
    summary="List the versions of a source's skills, newest first",
    responses=errors("id"),
)
async def list_skills(call: CurrentCall, id: str) -> SkillVersionsRecord:  # noqa: A002 - the published name
    return await call.read(_list, id)


@router.post(
    "/mcp-servers/{id}/skills",
    operation_id="addSkill",
    summary="Add a skill, or a version of it",
    status_code=201,
    responses=errors("role", "id", "body", "conflict"),
)
async def add_skill(call: CurrentCall, id: str, body: AddSkill) -> SkillVersionRecord:  # noqa: A002
    return await call.write(_add, id, body)


@router.get(
    "/mcp-servers/{id}/skills/{versionId}",
    operation_id="getSkill",
    summary="Read a version of a skill",
    responses=errors("id"),
)
async def get_skill(
    call: CurrentCall,
    id: str,  # noqa: A002
    version_id: Annotated[str, Path(alias="versionId")],
) -> SkillVersionRecord:
    return await call.read(_get, id, version_id)


def _list(tx: Tx, caller: Caller, source_id: str) -> SkillVersionsRecord:
    source = service.get_source_by_id(tx, caller.actor, caller.principal.org.id, source_id)
    rows = [
        SkillVersionRow.model_validate(each, from_attributes=True)
        for each in skills.list_skill_versions(tx, source)
    ]
    return SkillVersionsRecord(rows=rows)


def _add(tx: Tx, caller: Caller, source_id: str, body: AddSkill) -> SkillVersionRecord:
    source = service.get_source_by_id(tx, caller.actor, caller.principal.org.id, source_id)
    return _record(skills.add_skill_version(tx, caller.actor, source, name=body.name, text=body.text))


def _get(tx: Tx, caller: Caller, source_id: str, version_id: str) -> SkillVersionRecord:
    source = service.get_source_by_id(tx, caller.actor, caller.principal.org.id, source_id)
    return _record(skills.get_skill_version(tx, source, version_id))


def _record(version: SkillVersion) -> SkillVersionRecord:
    return SkillVersionRecord.model_validate(version, from_attributes=True)
