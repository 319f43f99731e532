"""`/suites`: named sets of cases with a gate; one of them with its suite runs; starting one, archiving it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from starlette.responses import Response

from ammeter.base.errors import Detail, NotFound, ValidationFailed
from ammeter.base.pages import PageRequest
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.tables import Listing, Query, arranged
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.evals import store as runs_store
from ammeter.features.evals.model import Run
from ammeter.features.orgs.model import Role
from ammeter.features.sources import service as sources
from ammeter.features.suites import results, service
from ammeter.features.suites.model import MAX_REPEATS, Gate, Suite, SuiteOrder, SuiteResult
from ammeter.features.suites.start import StartedSuite, start_suite_run
from ammeter.features.workflows import service as workflows
from ammeter.wiring import House

_REASON_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRow:
    suite: Suite
    last: SuiteResult | None

    @property
    def gate(self) -> str:
        return gate_words(self.suite.gate)

    @property
    def status(self) -> str:
        return self.last.status if self.last else "never"

    @property
    def last_at(self) -> datetime | None:
        return self.last.suite_run.created_at if self.last else None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitesPage:
    listing: Listing[SuiteRow]
    has_cases: bool
    has_archived: bool
    is_archive: bool
    is_under_way: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SuitePage:
    suite: Suite
    gate: str
    listing: Listing[SuiteResult]
    last_runs: Mapping[str, Run]
    """The newest run of each case, whoever started it."""
    sources: Mapping[str, str]
    is_under_way: bool
    most_repeats: int
    command: str
    """What CI runs; whoever copies it gets a name and nothing else."""


def gate_words(gate: Gate) -> str:
    """What a gate asks, in a sentence."""
    if gate.strict:
        each = "passes every criterion"
    elif gate.min_score is not None:
        each = f"scores {gate.min_score:.0%} or more"
    else:
        each = "passes"
    told = f"Every case {each}"
    if not gate.require_all:
        told = f"The mean score is {gate.min_score or 0:.0%} or more"
    if gate.min_pass_rate < 1 and gate.require_all:
        told += f" in {gate.min_pass_rate:.0%} of its repeats"
    if gate.max_cost_usd is not None:
        told += f", for at most ${gate.max_cost_usd:,.2f}"
    return told + "."


async def show(visit: Visit) -> Response:
    is_archive = visit.query.get("show") == "archived"
    rows, has_cases, has_archived = await visit.read(_list, is_archive)
    status = visit.query.get("status", ("pass", "fail", "undecided", "cancelled", "running", "never"))
    listing = arranged(
        visit.query,
        [row for row in rows if not status or row.status == status],
        keys={
            "name": lambda row: row.suite.name,
            "cases": lambda row: len(row.suite.cases),
            "last": lambda row: row.last_at,
        },
        default="name",
        text=lambda row: f"{row.suite.name} {row.suite.description}",
    )
    page = SuitesPage(
        listing=listing,
        has_cases=has_cases,
        has_archived=has_archived,
        is_archive=is_archive,
        is_under_way=any(row.status == "running" for row in listing.rows),
    )
    return visit.page("evals/templates/suites.html", page, title="Suites")


async def show_one(visit: Visit) -> Response:
    page = await visit.read(_page, visit.part("id"), visit.query)
    return visit.page("evals/templates/suite.html", page, title=page.suite.name)


async def start(visit: Visit) -> Response:
    form = await visit.form()
    await visit.spend(visit.house.runs_policy, "Too many runs were started at once.")
    order = SuiteOrder(
        suite_id=visit.part("id"),
        baseline_id=form.text("baseline") or None,
        repeats=_repeats(form.text("repeats")),
        reason=form.text("reason").replace("\0", "")[:_REASON_CHARS],
        trigger="dashboard",
    )
    started = await visit.write(_start, visit.house, order)
    return visit.go(f"/suites/runs/{started.suite_run.id}", said="The suite is under way.")


async def archive(visit: Visit) -> Response:
    suite = await visit.write(_archive, visit.part("id"))
    return visit.go("/suites", said=f"{suite.name} is archived.")


def _repeats(text: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or not 1 <= int(text[:9]) <= MAX_REPEATS:
        message = f"repeats are a whole number from 1 to {MAX_REPEATS}"
        raise ValidationFailed([Detail(path="$.repeats", message=message)])
    return int(text)


def _list(tx: Tx, me: Me, is_archive: bool) -> tuple[list[SuiteRow], bool, bool]:
    """The rows, whether there is a case to make a suite of, and whether any suite is archived."""
    rows = []
    archived = service.list_suites(tx, me.actor, me.org_id, "archived")
    for suite in archived if is_archive else service.list_suites(tx, me.actor, me.org_id):
        newest = results.list_results(tx, me.actor, me.org_id, PageRequest(page_size=1), suite_id=suite.id)
        rows.append(SuiteRow(suite=suite, last=newest.rows[0] if newest.rows else None))
    return rows, bool(workflows.list_workflows(tx, me.actor, me.org_id)), bool(archived)


def _page(tx: Tx, me: Me, suite_id: str, query: Query) -> SuitePage:
    suite = service.get_suite(tx, me.actor, me.org_id, suite_id)
    found = results.list_results(tx, me.actor, me.org_id, query.request, suite_id=suite.id)
    return SuitePage(
        suite=suite,
        gate=gate_words(suite.gate),
        listing=Listing(query=query, page=found),
        last_runs=runs_store.last_runs(tx, me.org_id, [case.workflow_id for case in suite.cases]),
        sources={source_id: _name(tx, me, source_id) for source_id in {c.source_id for c in suite.cases}},
        is_under_way=any(result.status == "running" for result in found.rows),
        most_repeats=MAX_REPEATS,
        command=f"ammeter gate --suite {shlex.quote(suite.name)}",
    )


def _name(tx: Tx, me: Me, source_id: str) -> str:
    try:
        return sources.get_source(tx, me.org_id, source_id).name
    except NotFound:
        return ""


def _start(tx: Tx, me: Me, house: House, order: SuiteOrder) -> StartedSuite:
    return start_suite_run(tx, me.actor, me.org_id, order, jobs=house.jobs)


def _archive(tx: Tx, me: Me, suite_id: str) -> Suite:
    return service.archive_suite(tx, me.actor, me.org_id, suite_id)


VIEWS = (
    View(path="/suites", handle=show),
    View(path="/suites/{id}", handle=show_one),
    View(path="/suites/{id}/run", method="POST", handle=start, role=Role.editor, to="start a suite run"),
    View(path="/suites/{id}/archive", method="POST", handle=archive, role=Role.editor, to="archive a suite"),
)
