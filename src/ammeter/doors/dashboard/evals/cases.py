"""`/cases`: eval cases with how they last went, one of them with its runs, reliability and versions; starting
runs of it, archiving it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from starlette.responses import Response

from ammeter.base.clock import now
from ammeter.base.errors import NotFound
from ammeter.base.pages import Page, PageRequest
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.tables import Listing, Query, arranged
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.engines.jobs.timing import Timing, next_after
from ammeter.features.evals import history
from ammeter.features.evals import store as runs_store
from ammeter.features.evals.dispatch import Dispatched, Order, dispatch
from ammeter.features.evals.model import Run, Statistics
from ammeter.features.orgs.model import Role
from ammeter.features.sources import service as sources
from ammeter.features.sources.model import Source
from ammeter.features.workflows import service
from ammeter.features.workflows.model import Version, Workflow
from ammeter.wiring import House

_RECENT = 10
_REASON_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRow:
    case: Workflow
    source: Source
    last: Run | None

    @property
    def outcome(self) -> str:
        if self.last is None:
            return "never"
        return "running" if self.last.status == "running" else self.last.outcome or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CasesPage:
    listing: Listing[CaseRow]
    categories: tuple[str, ...]
    sources: tuple[Source, ...]
    has_sources: bool
    has_archived: bool
    is_archive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRow:
    version: Version
    changes: tuple[str, ...]
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePage:
    case: Workflow
    source: Source
    runs: Sequence[Run]
    runs_total: int
    statistics: Sequence[Statistics]
    versions: Listing[VersionRow]
    next_at: datetime | None
    form: Form

    @property
    def is_under_way(self) -> bool:
        return any(run.status == "running" for run in self.runs)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionPage:
    case: Workflow
    version: Version
    source: Source | None


async def show(visit: Visit) -> Response:
    query = visit.query
    is_archive = query.get("show") == "archived"
    rows, has_sources, has_archived = await visit.read(_list, is_archive)
    category, source_id, outcome = query.get("category"), query.get("source"), query.get("outcome")
    chosen = [
        row
        for row in rows
        if (not category or category in row.source.categories)
        and (not source_id or row.source.id == source_id)
        and (not outcome or row.outcome == outcome)
    ]
    listing = arranged(
        query,
        chosen,
        keys={
            "name": lambda row: row.case.name,
            "source": lambda row: row.source.name,
            "last": lambda row: row.last.at if row.last else None,
            "score": lambda row: row.last.score if row.last else None,
        },
        default="name",
        text=lambda row: f"{row.case.name} {row.case.description} {row.source.name}",
    )
    page = CasesPage(
        listing=listing,
        categories=tuple(sorted({slug for row in rows for slug in row.source.categories})),
        sources=tuple({row.source.id: row.source for row in rows}.values()),
        has_sources=has_sources,
        has_archived=has_archived,
        is_archive=is_archive,
    )
    return visit.page("evals/templates/cases.html", page, title="Eval cases")


async def show_one(visit: Visit) -> Response:
    page = await visit.read(_page, visit.part("id"), visit.query)
    return visit.page("evals/templates/case.html", page, title=page.case.name)


async def show_version(visit: Visit) -> Response:
    page = await visit.read(_version, visit.part("id"), visit.part("version"))
    title = f"{page.case.name}, version {page.version.number}"
    return visit.page("evals/templates/version.html", page, title=title)


async def start(visit: Visit) -> Response:
    form, case_id = await visit.form(), visit.part("id")
    await visit.spend(visit.house.runs_policy, "Too many runs were started at once.")
    made = await visit.write(_start, visit.house, case_id, form)
    if len(made) == 1:
        told = "This very run is under way already." if made[0].deduplicated else "The run is started."
        return visit.go(f"/runs/{made[0].run.id}", said=told)
    return visit.go(f"/runs?case={case_id}", said=f"{len(made)} runs are started.")


async def archive(visit: Visit) -> Response:
    case = await visit.write(_archive, visit.part("id"))
    return visit.go("/cases", said=f"{case.name} is archived.")


def _list(tx: Tx, me: Me, is_archive: bool) -> tuple[list[CaseRow], bool, bool]:
    """The rows, whether there is a source to write a case for, and whether any case is archived."""
    archived = service.list_archived(tx, me.actor, me.org_id)
    found = archived if is_archive else service.list_workflows(tx, me.actor, me.org_id)
    last = runs_store.last_runs(tx, me.org_id, [case.id for case, _ in found])
    rows = [CaseRow(case=case, source=source, last=last.get(case.id)) for case, source in found]
    return rows, bool(sources.list_active_sources(tx, me.actor, me.org_id)), bool(archived)


def _page(tx: Tx, me: Me, case_id: str, query: Query) -> CasePage:
    case = service.get_workflow(tx, me.actor, me.org_id, case_id)
    asked = replace(history.since("30d"), workflow_id=case.id)
    runs = history.search_runs(tx, me.actor, me.org_id, asked, PageRequest(page_size=_RECENT))
    return CasePage(
        case=case,
        source=sources.get_source(tx, me.org_id, case.source_id),
        runs=runs.rows,
        runs_total=runs.total,
        statistics=history.statistics(tx, me.org_id, case.id),
        versions=Listing(query=query, page=_versions(tx, me, case, query.request)),
        next_at=_next(case),
        form=Form(),
    )


def _versions(tx: Tx, me: Me, case: Workflow, asked: PageRequest) -> Page[VersionRow]:
    """Newest first, each with what changed against the one before it."""
    found = service.list_versions(tx, me.actor, me.org_id, case.id, asked)
    next_row = PageRequest(page=asked.offset + asked.page_size + 1, page_size=1)
    older = service.list_versions(tx, me.actor, me.org_id, case.id, next_row).rows
    changes = {newer.id: _changes(newer, before) for newer, before in pairwise([*found.rows, *older])}
    rows = [
        VersionRow(
            version=version, changes=changes.get(version.id, ()), is_current=version.id == case.version.id
        )
        for version in found.rows
    ]
    return Page(rows=rows, page=found.page, page_size=found.page_size, total=found.total)


def _changes(newer: Version, older: Version) -> tuple[str, ...]:
    parts = {
        "source": "source_id",
        "prompt": "tester_prompt",
        "criteria": "criteria",
        "models": "targets",
        "auth profile": "auth_profile_id",
        "limits": "limits",
        "retries": "retry_policy",
        "tool policy": "tool_policy",
        "metadata": "metadata",
    }
    return tuple(word for word, name in parts.items() if getattr(newer, name) != getattr(older, name)) or (
        "name, description or schedule",
    )


def _version(tx: Tx, me: Me, case_id: str, version_id: str) -> VersionPage:
    case = service.get_workflow(tx, me.actor, me.org_id, case_id)
    version = service.get_version(tx, me.actor, me.org_id, case_id, version_id)
    try:
        source = sources.get_source(tx, me.org_id, version.source_id)
    except NotFound:
        source = None
    return VersionPage(case=case, version=version, source=source)


def _next(case: Workflow) -> datetime | None:
    schedule = case.schedule
    if schedule is None or not schedule.enabled or schedule.cron is None or case.status == "archived":
        return None
    return next_after(Timing(cron=schedule.cron, timezone=schedule.timezone), now())


def _start(tx: Tx, me: Me, house: House, case_id: str, form: Form) -> list[Dispatched]:
    models = tuple(dict.fromkeys(form.all("model")))
    order = Order(
        reason=form.text("reason").replace("\0", "")[:_REASON_CHARS],
        baseline_run_id=form.text("baseline") or None,
        tester_model_ids=models or None,
        trigger="dashboard",
        tags=("dashboard",),
    )
    return dispatch(tx, me.actor, me.org_id, case_id, order, jobs=house.jobs)


def _archive(tx: Tx, me: Me, case_id: str) -> Workflow:
    return service.archive_workflow(tx, me.actor, me.org_id, case_id)


VIEWS = (
    View(path="/cases", handle=show),
    View(path="/cases/{id}", handle=show_one),
    View(path="/cases/{id}/versions/{version}", handle=show_version),
    View(path="/cases/{id}/run", method="POST", handle=start, role=Role.editor, to="start a run"),
    View(
        path="/cases/{id}/archive", method="POST", handle=archive, role=Role.editor, to="archive an eval case"
    ),
)
