"""`/runs`: the history of runs, by filters, tags and order of the address; those under way are kept fresh."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

from starlette.responses import Response

from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.tables import Listing, Query
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.evals import history
from ammeter.features.evals.model import Classification, Range, Run, RunQuery, Sort, Status
from ammeter.features.sources import service as sources
from ammeter.features.workflows import service as workflows
from ammeter.features.workflows.model import Workflow

TAGS = ("ci", "suite", "schedule", "dashboard", "initial", "mcp")
RANGES: tuple[tuple[Range, str], ...] = (("24h", "24 hours"), ("7d", "7 days"), ("30d", "30 days"))
STATUSES: tuple[tuple[Status, str], ...] = (
    ("running", "Running"),
    ("pass", "Passed"),
    ("partial", "Partly"),
    ("fail", "Failed"),
)
CLASSIFICATIONS: tuple[Classification, ...] = get_args(Classification)
_SORTS: tuple[Sort, ...] = get_args(Sort)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsPage:
    listing: Listing[Run]
    case: Workflow | None
    """The one whose runs these are, where the address names one."""
    sources: Mapping[str, str]
    """Names by id."""
    tags: tuple[str, ...]
    """Those that can be asked for."""
    asked_tags: tuple[str, ...]
    is_under_way: bool
    is_cut: bool
    """Whether there are more runs than words and tags are looked for in."""


async def show(visit: Visit) -> Response:
    page = await visit.read(_page, visit.query)
    return visit.page("evals/templates/runs.html", page, title="Runs")


def _page(tx: Tx, me: Me, query: Query) -> RunsPage:
    asked = asked_for(query)
    found = history.search_runs(tx, me.actor, me.org_id, asked, query.request)
    case = workflows.get_workflow(tx, me.actor, me.org_id, asked.workflow_id) if asked.workflow_id else None
    names = {
        source_id: sources.get_source(tx, me.org_id, source_id).name
        for source_id in {run.source_id for run in found.rows}
    }
    return RunsPage(
        listing=Listing(query=query, page=found, sort=asked.sort),
        case=case,
        sources=names,
        tags=tuple(dict.fromkeys((*TAGS, *asked.tags))),
        asked_tags=tuple(asked.tags),
        is_under_way=any(run.status == "running" for run in found.rows),
        is_cut=history.is_cut(tx, me.org_id, asked),
    )


def asked_for(query: Query) -> RunQuery:
    """What the address asks of runs; words that it does not know are taken as not given."""
    within = next(word for word, _ in RANGES if word == query.get("range", dict(RANGES), "7d"))
    status = next((word for word, _ in STATUSES if word == query.get("status")), None)
    cause = next((word for word in CLASSIFICATIONS if word == query.get("cause")), None)
    sort: Sort = next((word for word in _SORTS if word == query.get("sort")), "-startedAt")
    return replace(
        history.since(within),
        workflow_id=query.get("case") or None,
        status=status,
        classification=cause,
        search=query.get("q"),
        tags=tuple(dict.fromkeys(filter(None, query.get("tag").split(",")))),
        sort=sort,
    )


VIEWS = (View(path="/runs", handle=show),)
