"""`/runs/{id}`: one run: what became of each criterion and where that stands in the trace, the trace itself,
what it cost, how it compares with an earlier run; cancelling it, judging it again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from starlette.responses import Response

from ammeter.base.errors import NotFound
from ammeter.base.pages import PageRequest
from ammeter.doors.dashboard.evals.trace import TraceView, view_of, whole_texts
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.engines.jobs.port import Job
from ammeter.features.evals import history, service
from ammeter.features.evals.compare import Comparison, compare
from ammeter.features.evals.model import Evaluation, Run
from ammeter.features.evals.spans import Span
from ammeter.features.orgs.model import Role
from ammeter.features.sources import service as sources
from ammeter.features.sources.model import Source
from ammeter.features.workflows import service as workflows
from ammeter.features.workflows import store as workflow_store
from ammeter.features.workflows.model import Version, Workflow
from ammeter.wiring import House

_EARLIER = 15
_OPEN = ("queued", "running")
STEPS = ("queued", "connecting", "testing", "judging")


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """An earlier run of the case, held against this one."""

    run: Run
    comparison: Comparison
    is_own: bool
    """Whether the run was started with it; else a person chose it here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    run: Run
    source: Source
    case: Workflow
    version: Version | None
    evaluation: Evaluation | None
    trace: TraceView
    prompt: str
    baseline: Baseline | None
    earlier: tuple[Run, ...]
    """Runs of the case that it may be compared with."""
    rejudging: Job | None
    is_rejudging: bool

    @property
    def steps(self) -> tuple[str, ...]:
        return STEPS

    @property
    def calls(self) -> int:
        return sum(row.kind == "tool_call" for row in self.trace.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanPage:
    run: Run
    span: Span
    texts: tuple[tuple[str, str], ...]


async def show(visit: Visit) -> Response:
    page = await visit.read(
        _page, visit.house, visit.part("id"), visit.query.get("baseline"), visit.query.get("judging")
    )
    return visit.page("evals/templates/run.html", page, title=f"Run of {page.run.workflow_name}")


async def show_live(visit: Visit) -> Response:
    """What is under way; once it is over, the page is loaded anew."""
    page = await visit.read(_page, visit.house, visit.part("id"), "", visit.query.get("judging"))
    response = visit.fragment("evals/templates/run_part.html", page)
    if page.run.status != "running" and not page.is_rejudging:
        failed = page.rejudging if page.rejudging and page.rejudging.error else None
        response.headers["hx-redirect"] = f"/runs/{page.run.id}{f'?judging={failed.id}' if failed else ''}"
    return response


async def show_span(visit: Visit) -> Response:
    page = await visit.read(_span, visit.part("id"), visit.part("span"))
    return visit.page("evals/templates/span.html", page, title=page.span.name)


async def cancel(visit: Visit) -> Response:
    run = await visit.write(_cancel, visit.house, visit.part("id"))
    told = "The run is being cancelled." if run.status == "running" else "The run has ended."
    return visit.go(f"/runs/{run.id}", said=told)


async def rejudge(visit: Visit) -> Response:
    run_id = visit.part("id")
    job = await visit.write(_rejudge, visit.house, run_id)
    return visit.go(f"/runs/{run_id}?judging={job.id}", said="The trace is being judged again.")


def _page(tx: Tx, me: Me, house: House, run_id: str, baseline_id: str, job_id: str) -> RunPage:
    trace = history.get_trace(tx, me.actor, me.org_id, run_id)
    run = trace.run
    evaluation, comparison = None, None
    if run.status != "running":
        evaluation, comparison = _judged(tx, me, run)
    case = workflows.get_workflow(tx, me.actor, me.org_id, run.workflow_id)
    version = workflow_store.find_version(tx, run.version_id)
    job = house.jobs.find(tx, job_id) if job_id else None
    job = job if job is not None and job.payload.get("run_id") == run.id else None
    return RunPage(
        run=run,
        source=sources.get_source(tx, me.org_id, run.source_id),
        case=case,
        version=version,
        evaluation=evaluation,
        trace=view_of(trace.spans, evaluation.marks if evaluation else ()),
        prompt=version.tester_prompt if version else "",
        baseline=_baseline(tx, me, run, evaluation, comparison, baseline_id),
        earlier=_earlier(tx, me, run) if evaluation else (),
        rejudging=job,
        is_rejudging=job is not None and job.status.value in _OPEN,
    )


def _judged(tx: Tx, me: Me, run: Run) -> tuple[Evaluation | None, Comparison | None]:
    try:
        return history.get_evaluation(tx, me.actor, me.org_id, run.id)
    except NotFound:
        return None, None


def _baseline(
    tx: Tx, me: Me, run: Run, evaluation: Evaluation | None, own: Comparison | None, chosen: str
) -> Baseline | None:
    if evaluation is None:
        return None
    if chosen and chosen != run.id:
        before = history.get_run(tx, me.actor, me.org_id, chosen)
        if before.workflow_id != run.workflow_id:
            raise NotFound("run", hint="A run is compared with another of the same eval case.")
        found, _ = _judged(tx, me, before)
        if found is not None:
            return Baseline(run=before, comparison=compare(evaluation, found), is_own=False)
    if own is not None:
        return Baseline(run=history.get_run(tx, me.actor, me.org_id, own.run_id), comparison=own, is_own=True)
    return None


def _earlier(tx: Tx, me: Me, run: Run) -> tuple[Run, ...]:
    asked = replace(history.since("30d"), workflow_id=run.workflow_id)
    found = history.search_runs(tx, me.actor, me.org_id, asked, PageRequest(page_size=_EARLIER + 1))
    return tuple(each for each in found.rows if each.id != run.id and each.status != "running")[:_EARLIER]


def _span(tx: Tx, me: Me, run_id: str, span_id: str) -> SpanPage:
    trace = history.get_trace(tx, me.actor, me.org_id, run_id)
    span = next((each for each in trace.spans if each.id == span_id), None)
    if span is None:
        raise NotFound("span")
    return SpanPage(run=trace.run, span=span, texts=tuple(whole_texts(span)))


def _cancel(tx: Tx, me: Me, house: House, run_id: str) -> Run:
    return service.cancel_run(tx, me.actor, me.org_id, run_id, jobs=house.jobs)


def _rejudge(tx: Tx, me: Me, house: House, run_id: str) -> Job:
    return service.rejudge_run(tx, me.actor, me.org_id, run_id, jobs=house.jobs)


VIEWS = (
    View(path="/runs/{id}", handle=show),
    View(path="/runs/{id}/live", handle=show_live),
    View(path="/runs/{id}/spans/{span}", handle=show_span),
    View(path="/runs/{id}/cancel", method="POST", handle=cancel, role=Role.editor, to="cancel a run"),
    View(
        path="/runs/{id}/rejudge",
        method="POST",
        handle=rejudge,
        role=Role.editor,
        to="have a run judged again",
    ),
)
