"""`/failed-searches`: what agents looked for in vain, in clusters, and what would close the gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from ammeter.base.errors import NotFound
from ammeter.base.ids import is_id
from ammeter.doors.dashboard.insights.asked import (
    RangeChoice,
    days_of,
    range_of,
    scope_for,
    with_analytics,
)
from ammeter.doors.dashboard.insights.lines import Spark, chart, series, spark
from ammeter.doors.dashboard.insights.tabs import Tab, search_tabs
from ammeter.doors.dashboard.render import said
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.tables import Listing, arranged, every
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.insights import cluster_store, page_store, sessions
from ammeter.features.insights.model import Range
from ammeter.features.insights.topic_model import Cluster, GapKind
from ammeter.features.sources import service as sources
from ammeter.features.telemetry.model import Session

_MOST = 200
_SAMPLE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A kind of gap in words."""

    name: GapKind
    title: str
    text: str
    badge: str


GAPS: dict[str, Gap] = {
    gap.name: gap
    for gap in (
        Gap(
            name="alias",
            title="Other words",
            text="An operation does it, under other words. Add the words that agents use.",
            badge="info",
        ),
        Gap(
            name="documentation",
            title="Hardly described",
            text="It is told deep down, or hardly described. Tell it in the summary.",
            badge="info",
        ),
        Gap(
            name="capability",
            title="Missing in the API",
            text="The API knows the subject, but no operation does this. Consider offering it.",
            badge="warn",
        ),
        Gap(
            name="out_of_scope",
            title="Out of scope",
            text="It is not what the API is about. Say in its description what it does not do.",
            badge="neutral",
        ),
    )
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRow:
    cluster: Cluster
    gap: Gap | None
    source: str
    line: Spark


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchesPage:
    within: RangeChoice
    tabs: tuple[Tab, ...]
    listing: Listing[ClusterRow]
    gaps: tuple[tuple[str, str], ...]
    meanings: tuple[Gap, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    within: RangeChoice
    row: ClusterRow
    chart: dict[str, Any]
    sessions: tuple[Session, ...]

    @property
    def cluster(self) -> Cluster:
        return self.row.cluster


async def show_list(visit: Visit) -> Response:
    within = range_of(visit.query)
    rows = await visit.read(_list, within.range)
    gap = visit.query.get("gap", GAPS)
    listing = arranged(
        visit.query,
        [row for row in rows if not gap or row.cluster.gap_kind == gap],
        keys={
            "label": lambda row: row.cluster.label,
            "searches": lambda row: row.cluster.searches,
            "sessions": lambda row: row.cluster.sessions,
            "seen": lambda row: row.cluster.last_seen,
        },
        default="-searches",
        text=lambda row: " ".join((row.cluster.label, row.source, *row.cluster.example_queries)),
    )
    page = SearchesPage(
        within=within,
        tabs=search_tabs(within, "/failed-searches"),
        listing=listing,
        gaps=(("", "Every gap"), *((each.name, each.title) for each in GAPS.values())),
        meanings=tuple(GAPS.values()),
    )
    return visit.page("insights/templates/searches.html", page, title="Failed searches")


async def show_search(visit: Visit) -> Response:
    page = await visit.read(_page, visit.part("id"), range_of(visit.query))
    return visit.page("insights/templates/search.html", page, title=said(page.cluster.label))


def _list(tx: Tx, me: Me, within: Range) -> list[ClusterRow]:
    scope = scope_for(me, within)
    found = cluster_store.list_clusters(tx, me.org_id, limit=_MOST, **scope)
    lines = page_store.cluster_days(tx, me.org_id, [one.id for one in found], **days_of(scope)).sessions
    names = source_names(tx, me)
    return [_row(one, names, lines[one.id]) for one in found]


def _row(cluster: Cluster, names: dict[str, str], by_day: Any) -> ClusterRow:
    return ClusterRow(
        cluster=cluster,
        gap=GAPS[cluster.gap_kind] if cluster.gap_kind else None,
        source=names.get(cluster.source_id, "A source that is gone"),
        line=spark(by_day),
    )


def _page(tx: Tx, me: Me, cluster_id: str, within: RangeChoice) -> SearchPage:
    scope = scope_for(me, within.range)
    if not is_id(cluster_id):
        raise NotFound("failed-search cluster")
    cluster = cluster_store.get_cluster(tx, me.org_id, cluster_id, **scope)
    ids = cluster_store.list_cluster_sessions(tx, me.org_id, cluster_id, limit=_SAMPLE, **scope)
    days = page_store.cluster_days(tx, me.org_id, [cluster_id], **days_of(scope))
    return SearchPage(
        within=within,
        row=_row(cluster, source_names(tx, me), days.sessions[cluster_id]),
        chart=chart(days.days, series("Sessions", days.sessions[cluster_id], "warn", "bars")),
        sessions=tuple(sessions.list_some(tx, me.actor, me.org, ids)),
    )


def source_names(tx: Tx, me: Me) -> dict[str, str]:
    found = every(lambda page: sources.list_sources(tx, me.org_id, page))
    return {source.id: source.name for source in found}


VIEWS = (
    View(path="/failed-searches", handle=with_analytics(show_list)),
    View(path="/failed-searches/{id}", handle=with_analytics(show_search)),
)
