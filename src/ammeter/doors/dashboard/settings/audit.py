"""`/settings/audit`: every change, by actor, action, target and time of the address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from starlette.responses import Response

from ammeter.base.pages import Page, PageRequest
from ammeter.doors.dashboard import cookies
from ammeter.doors.dashboard.settings.tabs import Tab, tabs
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.tables import Listing, Query
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import audit
from ammeter.features.orgs.model import AuditEvent, AuditQuery, Role

_FIRST, _LAST = date(1971, 1, 1), date(9000, 1, 1)
"""Days that have a day before and after them in every zone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    tabs: tuple[Tab, ...]
    listing: Listing[AuditEvent]
    actions: Sequence[tuple[str, str]]
    """What can be chosen: an action or all of a kind, and its words."""


async def show(visit: Visit) -> Response:
    query = visit.query
    asked = asked_for(query, cookies.zone_of(visit.request))
    found, known = await visit.read(_list, asked, query.request)
    page = AuditPage(
        tabs=tabs(visit),
        listing=Listing(query=query, page=found, sort="at" if asked.oldest_first else "-at"),
        actions=_choices(known, asked.action),
    )
    return visit.page("settings/templates/audit.html", page, title="Audit log")


def asked_for(query: Query, zone: ZoneInfo) -> AuditQuery:
    """What the address asks of the log; a day that is none is taken as not given."""
    first, last = _day(query.get("from")), _day(query.get("to"))
    return AuditQuery(
        actor=query.get("actor"),
        action=query.get("action"),
        target=query.get("target"),
        since=_midnight(first, zone) if first else None,
        until=_midnight(last + timedelta(days=1), zone) if last else None,
        oldest_first=query.get("sort") == "at",
    )


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if _FIRST <= day <= _LAST else None


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)


def _list(tx: Tx, me: Me, asked: AuditQuery, page: PageRequest) -> tuple[Page[AuditEvent], list[str]]:
    found = audit.list_events(tx, me.actor, me.org_id, page, asked)
    return found, audit.list_actions(tx, me.actor, me.org_id)


def _choices(known: Sequence[str], asked: str) -> list[tuple[str, str]]:
    """Each kind of action before its own; and the one that is asked for, whether it is known or not."""
    kinds = dict.fromkeys(action.partition(".")[0] + "." for action in known)
    words = sorted({*kinds, *known, asked} - {""})
    return [
        ("", "Every action"),
        *((word, f"All of {word[:-1]}" if word.endswith(".") else word) for word in words),
    ]


VIEWS = (View(path="/settings/audit", handle=show, role=Role.admin, to="read the audit log"),)
