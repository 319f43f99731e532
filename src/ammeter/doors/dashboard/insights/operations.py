"""Beside the failed searches, each on its page: names that agents made up, results that nobody used, and
what operations are called for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import Response

from ammeter.doors.dashboard.insights.asked import RangeChoice, range_of, scope_for, with_analytics
from ammeter.doors.dashboard.insights.tabs import Tab, search_tabs
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.tables import Listing, arranged
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.insights import cluster_store, page_store, topic_store
from ammeter.features.insights.model import Range
from ammeter.features.insights.topic_model import InventedName, UnusedResult

_MOST = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandRow:
    operation_id: str
    sessions: int
    topics: Sequence[tuple[str, str, int]]
    """Id, label and sessions of the topics that it was called for, most first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesPage:
    within: RangeChoice
    tabs: tuple[Tab, ...]
    listing: Listing[InventedName]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedPage:
    within: RangeChoice
    tabs: tuple[Tab, ...]
    listing: Listing[UnusedResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class DemandPage:
    within: RangeChoice
    tabs: tuple[Tab, ...]
    listing: Listing[DemandRow]


async def show_names(visit: Visit) -> Response:
    within = range_of(visit.query)
    listing = arranged(
        visit.query,
        await visit.read(_names, within.range),
        keys={
            "name": lambda row: row.name,
            "uses": lambda row: row.uses,
            "sessions": lambda row: row.sessions,
            "seen": lambda row: row.last_seen,
        },
        default="-sessions",
        text=lambda row: row.name,
    )
    page = NamesPage(within=within, tabs=search_tabs(within, visit.query.path), listing=listing)
    return visit.page("insights/templates/names.html", page, title="Invented names")


async def show_unused(visit: Visit) -> Response:
    within = range_of(visit.query)
    listing = arranged(
        visit.query,
        await visit.read(_unused, within.range),
        keys={
            "operation": lambda row: row.operation_id,
            "shown": lambda row: row.shown,
            "sessions": lambda row: row.sessions,
            "unused": lambda row: row.unused_sessions,
            "share": lambda row: row.unused_sessions / row.sessions,
        },
        default="-unused",
        text=lambda row: row.operation_id,
    )
    page = UnusedPage(within=within, tabs=search_tabs(within, visit.query.path), listing=listing)
    return visit.page("insights/templates/unused.html", page, title="Found, not used")


async def show_demand(visit: Visit) -> Response:
    within = range_of(visit.query)
    listing = arranged(
        visit.query,
        await visit.read(_demand, within.range),
        keys={"operation": lambda row: row.operation_id, "sessions": lambda row: row.sessions},
        default="-sessions",
        text=lambda row: " ".join((row.operation_id, *(label for _, label, _ in row.topics))),
    )
    page = DemandPage(within=within, tabs=search_tabs(within, visit.query.path), listing=listing)
    return visit.page("insights/templates/demand.html", page, title="Demand by operation")


def _names(tx: Tx, me: Me, within: Range) -> list[InventedName]:
    return cluster_store.list_invented_names(tx, me.org_id, limit=_MOST, **scope_for(me, within))


def _unused(tx: Tx, me: Me, within: Range) -> list[UnusedResult]:
    return cluster_store.list_unused_results(tx, me.org_id, limit=_MOST, **scope_for(me, within))


def _demand(tx: Tx, me: Me, within: Range) -> list[DemandRow]:
    found = topic_store.operation_demand(tx, me.org_id, limit=_MOST, **scope_for(me, within))
    labels = page_store.topic_labels(tx, me.org_id, {one for row in found for one, _ in row.topics})
    return [
        DemandRow(
            operation_id=row.operation_id,
            sessions=row.sessions,
            topics=tuple((one, labels.get(one, one), count) for one, count in row.topics),
        )
        for row in found
    ]


VIEWS = (
    View(path="/failed-searches/invented-names", handle=with_analytics(show_names)),
    View(path="/failed-searches/unused-results", handle=with_analytics(show_unused)),
    View(path="/failed-searches/demand", handle=with_analytics(show_demand)),
)
