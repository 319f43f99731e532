"""`/org/members`: people in the organization and their roles."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from ammeter.base.errors import NotFound
from ammeter.base.ids import is_id
from ammeter.base.pages import PageRequest
from ammeter.doors.http.call import Caller
from ammeter.doors.http.records import Instant, PageRecord, Paging, page_record
from ammeter.doors.http.strict import Body, CurrentCall, Record, StrictRoute
from ammeter.doors.rest.errors import errors
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import members
from ammeter.features.orgs.fields import Email, Name
from ammeter.features.orgs.model import Member, Role, RoleName

router = APIRouter(tags=["org"], route_class=StrictRoute)


class MemberRecord(Record):
    id: str
    email: str
    name: str
    role: RoleName
    created_at: Instant


class AddMember(Body):
    email: Email
    name: Annotated[Name, Field(description="How the person is shown; a known person keeps their name.")]
    role: RoleName


class ChangeMember(Body):
    role: RoleName


@router.get("/org/members", operation_id="listMembers", summary="List members", responses=errors())
async def list_members(call: CurrentCall, page: Paging) -> PageRecord[MemberRecord]:
    return await call.read(_list, page)


@router.post(
    "/org/members",
    operation_id="addMember",
    summary="Add a member",
    status_code=201,
    responses=errors("role", "body", "conflict"),
)
async def add_member(call: CurrentCall, body: AddMember) -> MemberRecord:
    return await call.write(_add, body)


@router.patch(
    "/org/members/{id}",
    operation_id="changeMember",
    summary="Change a member's role",
    responses=errors("role", "id", "body", "conflict"),
)
async def change_member(call: CurrentCall, id: str, body: ChangeMember) -> MemberRecord:  # noqa: A002
    return await call.write(_change, id, body)


@router.delete(
    "/org/members/{id}",
    operation_id="removeMember",
    summary="Remove a member",
    responses=errors("role", "id", "conflict"),
)
async def remove_member(call: CurrentCall, id: str) -> MemberRecord:  # noqa: A002
    return await call.write(_remove, id)


def _list(tx: Tx, caller: Caller, page: PageRequest) -> PageRecord[MemberRecord]:
    return page_record(members.list_members(tx, caller.principal.org.id, page), _record)


def _add(tx: Tx, caller: Caller, body: AddMember) -> MemberRecord:
    org_id = caller.principal.org.id
    role = Role[body.role]
    return _record(members.add_member(tx, caller.actor, org_id, email=body.email, name=body.name, role=role))


def _change(tx: Tx, caller: Caller, member_id: str, body: ChangeMember) -> MemberRecord:
    _check_id(member_id)
    return _record(members.set_role(tx, caller.actor, caller.principal.org.id, member_id, Role[body.role]))


def _remove(tx: Tx, caller: Caller, member_id: str) -> MemberRecord:
    _check_id(member_id)
    return _record(members.remove_member(tx, caller.actor, caller.principal.org.id, member_id))


def _check_id(member_id: str) -> None:
    if not is_id(member_id):
        raise NotFound("member")


def _record(member: Member) -> MemberRecord:
    return MemberRecord(
        id=member.id,
        email=member.email,
        name=member.name,
        role=member.role.word,
        created_at=member.created_at,
    )
