"""`/suites/runs`: every time a suite was run; one of them, live: each case, what it cost so far, whether it
is ready to ship and why not, and what changed since a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import get_args

from starlette.responses import Response

from ammeter.base.pages import PageRequest
from ammeter.doors.dashboard.evals.suites import gate_words
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.tables import Listing, Query
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.orgs.model import Role
from ammeter.features.suites import results
from ammeter.features.suites.model import CaseChange, Change, SuiteComparison, SuiteResult, SuiteRun
from ammeter.features.suites.start import cancel_suite_run
from ammeter.wiring import House

_EARLIER = 15
CHANGES: tuple[Change, ...] = ("regressed", "fixed", "changed", "new", "removed", "undecidable", "unchanged")
"""In the order in which they matter."""
assert set(CHANGES) == set(get_args(Change))


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRunsPage:
    listing: Listing[SuiteResult]
    is_under_way: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRunPage:
    result: SuiteResult
    gate: str
    baseline: SuiteRun | None
    changes: Sequence[CaseChange]
    counts: Sequence[tuple[Change, int]]
    earlier: Sequence[SuiteResult]
    """Suite runs of the same suite that it may be held against."""
    shown: str
    """The kind of change that the address asks for; empty: all."""

    @property
    def comparison(self) -> SuiteComparison | None:
        return self.result.comparison

    @property
    def run(self) -> SuiteRun:
        return self.result.suite_run


async def show_all(visit: Visit) -> Response:
    page = await visit.read(_all, visit.query)
    return visit.page("evals/templates/suite_runs.html", page, title="Suite runs")


async def show(visit: Visit) -> Response:
    page = await visit.read(_page, visit.part("id"), visit.query)
    return visit.page("evals/templates/suite_run.html", page, title=f"Suite run of {page.run.name}")


async def show_live(visit: Visit) -> Response:
    """What is under way; once it is over, the page is loaded anew."""
    page = await visit.read(_page, visit.part("id"), visit.query)
    response = visit.fragment("evals/templates/suite_run_part.html", page)
    if page.result.status != "running":
        response.headers["hx-redirect"] = f"/suites/runs/{page.run.id}"
    return response


async def cancel(visit: Visit) -> Response:
    suite_run = await visit.write(_cancel, visit.house, visit.part("id"))
    return visit.go(f"/suites/runs/{suite_run.id}", said="What had not ended is being cancelled.")


def _all(tx: Tx, me: Me, query: Query) -> SuiteRunsPage:
    found = results.list_results(tx, me.actor, me.org_id, query.request)
    return SuiteRunsPage(
        listing=Listing(query=query, page=found),
        is_under_way=any(result.status == "running" for result in found.rows),
    )


def _page(tx: Tx, me: Me, suite_run_id: str, query: Query) -> SuiteRunPage:
    chosen = query.get("baseline")
    baseline_id = chosen if chosen and chosen != suite_run_id else None
    result = results.get_result(tx, me.actor, me.org_id, suite_run_id, baseline_id=baseline_id)
    comparison, shown = result.comparison, query.get("change", CHANGES)
    rows = sorted(comparison.rows, key=lambda row: CHANGES.index(row.change)) if comparison else []
    return SuiteRunPage(
        result=result,
        gate=gate_words(result.suite_run.gate),
        baseline=results.get_suite_run(tx, me.actor, me.org_id, comparison.baseline_id)
        if comparison
        else None,
        changes=[row for row in rows if not shown or row.change == shown],
        counts=[(word, comparison.count(word)) for word in CHANGES if comparison.count(word)]
        if comparison
        else (),
        earlier=_earlier(tx, me, result.suite_run),
        shown=shown,
    )


def _earlier(tx: Tx, me: Me, suite_run: SuiteRun) -> list[SuiteResult]:
    if suite_run.suite_id is None:
        return []
    page = PageRequest(page_size=_EARLIER + 1)
    found = results.list_results(tx, me.actor, me.org_id, page, suite_id=suite_run.suite_id)
    return [each for each in found.rows if each.suite_run.id != suite_run.id][:_EARLIER]


def _cancel(tx: Tx, me: Me, house: House, suite_run_id: str) -> SuiteRun:
    return cancel_suite_run(tx, me.actor, me.org_id, suite_run_id, jobs=house.jobs)


VIEWS = (
    View(path="/suites/runs", handle=show_all),
    View(path="/suites/runs/{id}", handle=show),
    View(path="/suites/runs/{id}/live", handle=show_live),
    View(
        path="/suites/runs/{id}/cancel",
        method="POST",
        handle=cancel,
        role=Role.editor,
        to="cancel a suite run",
    ),
)
