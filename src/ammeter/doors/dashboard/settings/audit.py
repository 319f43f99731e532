"""`/settings/audit`: every change, newest first."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from ammeter.base.pages import Page, PageRequest
from ammeter.doors.dashboard.settings.tabs import Tab, tabs
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.tables import Listing
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import audit
from ammeter.features.orgs.model import AuditEvent, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    tabs: tuple[Tab, ...]
    listing: Listing[AuditEvent]


async def show(visit: Visit) -> Response:
    query = visit.query
    found = await visit.read(_list, query.request)
    page = AuditPage(tabs=tabs(visit), listing=Listing(query=query, page=found, sort="-at"))
    return visit.page("settings/templates/audit.html", page, title="Audit log")


def _list(tx: Tx, me: Me, page: PageRequest) -> Page[AuditEvent]:
    return audit.list_events(tx, me.actor, me.org_id, page)


VIEWS = (View(path="/settings/audit", handle=show, role=Role.admin, to="read the audit log"),)
