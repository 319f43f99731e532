"""`/org`: the organization of the key, and its audit log."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import StringConstraints

from ammeter.base.pages import PageRequest
from ammeter.doors.http.call import Caller
from ammeter.doors.http.records import Instant, InstantIn, PageRecord, Paging, page_record
from ammeter.doors.http.strict import CurrentCall, Record, StrictRoute
from ammeter.doors.rest.errors import errors
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import audit, service
from ammeter.features.orgs.model import AuditEvent, AuditQuery, Organization, Role, RoleName, Usage

router = APIRouter(tags=["org"], route_class=StrictRoute)


class FeaturesRecord(Record):
    mcp_analytics: bool
    code_mode: bool


class UsageRecord(Record):
    period_start: Instant
    period_end: Instant
    included_runs: int | None
    used_runs: int
    remaining_runs: int | None


class OrgRecord(Record):
    id: str
    name: str
    slug: str
    region: Literal["us", "eu"]
    created_at: Instant
    role: RoleName
    features: FeaturesRecord
    usage: UsageRecord


@router.get("/org", operation_id="getOrg", summary="Read the organization of the key", responses=errors())
async def get_org(call: CurrentCall) -> OrgRecord:
    return await call.read_few(_org)


def _org(tx: Tx, caller: Caller) -> OrgRecord:
    org = caller.principal.org
    return _org_record(org, caller.principal.role, service.read_usage(tx, org))


@lru_cache(maxsize=1_000)
def _org_record(org: Organization, role: Role, usage: Usage) -> OrgRecord:
    """The same for the same: what is asked at each start of a client seldom changes."""
    return OrgRecord(
        id=org.id,
        name=org.name,
        slug=org.slug,
        region=org.region,
        created_at=org.created_at,
        role=role.word,
        features=FeaturesRecord(mcp_analytics=org.mcp_analytics, code_mode=org.code_mode),
        usage=UsageRecord(
            period_start=usage.period_start,
            period_end=usage.period_end,
            included_runs=usage.included,
            used_runs=usage.used,
            remaining_runs=usage.remaining,
        ),
    )


class AuditRecord(Record):
    id: str
    at: Instant
    actor_kind: Literal["key", "member", "operator"]
    actor: str
    origin: str
    request_id: str | None
    action: str
    target: str
    details: dict[str, Any]


Word = StringConstraints(max_length=320)
ActorQuery = Annotated[str, Word, Query(description="Whose: an e-mail address, the id of a key, a name.")]
ActionQuery = Annotated[
    str, Word, Query(description="Such as `key.mint`; `key.` is every action that begins so.")
]
TargetQuery = Annotated[str, Word, Query(description="Of what, as the rows tell it.")]
SinceQuery = Annotated[InstantIn | None, Query(description="At this instant or later.")]
UntilQuery = Annotated[InstantIn | None, Query(description="Before this instant.")]
AuditSort = Annotated[Literal["-at", "at"], Query(description="Newest or oldest first.")]


@router.get(
    "/org/audit",
    operation_id="listAuditEvents",
    summary="List changes, newest first",
    responses=errors("role"),
)
async def list_audit(
    call: CurrentCall,
    page: Paging,
    actor: ActorQuery = "",
    action: ActionQuery = "",
    target: TargetQuery = "",
    since: SinceQuery = None,
    until: UntilQuery = None,
    sort: AuditSort = "-at",
) -> PageRecord[AuditRecord]:
    asked = AuditQuery(
        actor=actor, action=action, target=target, since=since, until=until, oldest_first=sort == "at"
    )
    return await call.read(_audit, asked, page)


def _audit(tx: Tx, caller: Caller, asked: AuditQuery, page: PageRequest) -> PageRecord[AuditRecord]:
    events = audit.list_events(tx, caller.actor, caller.principal.org.id, page, asked)
    return page_record(events, _audit_record)


def _audit_record(event: AuditEvent) -> AuditRecord:
    return AuditRecord.model_validate(event, from_attributes=True)
