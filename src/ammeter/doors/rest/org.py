"""`/org`: the organization of the key, and its audit log."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import APIRouter

from ammeter.base.pages import PageRequest
from ammeter.doors.http.call import Caller
from ammeter.doors.http.records import Instant, PageRecord, Paging, page_record
from ammeter.doors.http.strict import CurrentCall, Record, StrictRoute
from ammeter.doors.rest.errors import errors
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import audit, service
from ammeter.features.orgs.model import AuditEvent, RoleName

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
    usage = service.read_usage(tx, org)
    return OrgRecord(
        id=org.id,
        name=org.name,
        slug=org.slug,
        region=org.region,
        created_at=org.created_at,
        role=caller.principal.role.word,
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


@router.get(
    "/org/audit",
    operation_id="listAuditEvents",
    summary="List changes, newest first",
    responses=errors("role"),
)
async def list_audit(call: CurrentCall, page: Paging) -> PageRecord[AuditRecord]:
    return await call.read(_audit, page)


def _audit(tx: Tx, caller: Caller, page: PageRequest) -> PageRecord[AuditRecord]:
    events = audit.list_events(tx, caller.actor, caller.principal.org.id, page)
    return page_record(events, _audit_record)


def _audit_record(event: AuditEvent) -> AuditRecord:
    return AuditRecord.model_validate(event, from_attributes=True)
