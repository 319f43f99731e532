"""`/overview`: how the API is doing with agents, in half a minute: figures, trends, what agents want and do
not find, the latest runs, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from starlette.responses import Response

from ammeter.base.clock import now
from ammeter.base.pages import PageRequest
from ammeter.doors.dashboard.insights.asked import RangeChoice, range_of, scope_of
from ammeter.doors.dashboard.insights.lines import chart, folded, series
from ammeter.doors.dashboard.insights.searches import GAPS, Gap
from ammeter.doors.dashboard.overview.figures import Figure, figures, headline
from ammeter.doors.dashboard.overview.next_steps import NextStep, next_steps
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.evals import history
from ammeter.features.evals.model import Run, RunQuery
from ammeter.features.insights import cluster_store, topic_store
from ammeter.features.insights.model import Coverage, Overview
from ammeter.features.insights.overview import read_overview
from ammeter.features.insights.topic_model import Cluster, Topic
from ammeter.features.workflows import service as workflows

_TOP = 5
_RUNS_WITHIN = timedelta(days=90)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    id: str
    label: str
    spec: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Insights:
    """What telemetry tells; absent where MCP Analytics is off."""

    headline: str
    figures: tuple[Figure, ...]
    trends: tuple[Trend, ...]
    coverage: Coverage
    topics: tuple[Topic, ...]
    clusters: tuple[Cluster, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewPage:
    within: RangeChoice
    insights: Insights | None
    has_data: bool
    runs: tuple[Run, ...]
    steps: tuple[NextStep, ...]
    gaps: dict[str, Gap]


async def show(visit: Visit) -> Response:
    page = await visit.read(_page, range_of(visit.query))
    return visit.page("overview/templates/overview.html", page, title="Overview")


def _page(tx: Tx, me: Me, within: RangeChoice) -> OverviewPage:
    asked = RunQuery(since=now() - _RUNS_WITHIN)
    runs = history.search_runs(tx, me.actor, me.org_id, asked, PageRequest(page_size=_TOP)).rows
    overview, topics, clusters, invented = None, [], [], []
    if me.org.mcp_analytics:
        overview = read_overview(tx, me.actor, me.org, within=within.range)
        scope = scope_of(me, overview.window)
        topics = topic_store.list_topics(tx, me.org_id, limit=_TOP, **scope)
        clusters = cluster_store.list_clusters(tx, me.org_id, limit=_TOP, **scope)
        invented = cluster_store.list_invented_names(tx, me.org_id, limit=1, **scope)
    steps = next_steps(
        within=within,
        overview=overview,
        topics=topics,
        clusters=clusters,
        invented=invented,
        runs=runs,
        has_cases=bool(runs) or bool(_any_case(tx, me)),
    )
    return OverviewPage(
        within=within,
        insights=_insights(overview, within, topics, clusters) if overview else None,
        has_data=overview is not None and overview.coverage.data_since is not None,
        runs=tuple(runs),
        steps=tuple(steps),
        gaps=GAPS,
    )


def _any_case(tx: Tx, me: Me) -> bool:
    return bool(workflows.list_workflows(tx, me.actor, me.org_id))


def _insights(
    overview: Overview, within: RangeChoice, topics: list[Topic], clusters: list[Cluster]
) -> Insights:
    return Insights(
        headline=headline(overview.kpis, within),
        figures=tuple(figures(overview.kpis, within)),
        trends=_trends(overview),
        coverage=overview.coverage,
        topics=tuple(topics),
        clusters=tuple(clusters),
    )


def _trends(overview: Overview) -> tuple[Trend, ...]:
    points = overview.points
    # A week by the hour is more than an eye can follow.
    width = 6 if overview.window.range == "7d" else 1
    each = "6 hours" if width > 1 else overview.window.bucket
    at = [point.at for point in points[::width]]

    def line(label: str, values: list[int], color: str = "accent", kind: str = "line") -> Any:
        return series(label, folded(values, width), color, kind)

    sessions = line("Sessions", [point.sessions for point in points], kind="area")
    scripts = line("Scripts", [point.scripts for point in points], kind="area")
    errors = line("Errors", [point.script_errors for point in points], "bad")
    searches = line("Searches", [point.searches for point in points], kind="area")
    misses = line("Misses", [point.search_misses for point in points], "warn")
    felt = series("Frustration", [point.avg_frustration for point in points], "bad", "dots")
    return (
        Trend(id="c-sessions", label=f"Sessions each {each}", spec=chart(at, sessions)),
        Trend(id="c-scripts", label=f"Scripts each {each}", spec=chart(at, scripts, errors)),
        Trend(id="c-searches", label=f"Searches each {each}", spec=chart(at, searches, misses)),
        Trend(
            id="c-frustration",
            label=f"Stated frustration each {overview.window.bucket}, 0 to 10",
            spec=chart([point.at for point in points], felt, unit="of 10"),
        ),
    )


VIEWS = (View(path="/overview", handle=show),)
