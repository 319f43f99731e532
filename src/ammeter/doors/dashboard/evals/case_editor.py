"""`/cases/new` and `/cases/{id}/edit`: writing an eval case, with the preflight beside it while one types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from starlette.responses import Response

from ammeter.base.clock import now
from ammeter.base.errors import AmmeterError, Detail, ValidationFailed
from ammeter.doors.dashboard.evals.case_form import (
    CHECKS,
    CriterionRow,
    TargetRow,
    criteria_of,
    draft_in,
    form_of,
    place_of,
    refused,
    targets_of,
)
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.engines.jobs.timing import Timing, next_after
from ammeter.engines.models.endpoints import BUILTIN, VENDORS
from ammeter.engines.models.scripted import SCRIPTED, Plan, PlanError, parse_plan
from ammeter.features.evals.dispatch import dispatch_initial
from ammeter.features.orgs.model import Role
from ammeter.features.sources import service as sources
from ammeter.features.sources import skills
from ammeter.features.sources.model import AuthProfile, SkillVersion, Source
from ammeter.features.workflows import service
from ammeter.features.workflows.model import Draft, Target, Workflow, WorkflowSchedule
from ammeter.features.workflows.preflight import preflight
from ammeter.features.workflows.service import PreflightRejected, Surroundings
from ammeter.wiring import House

_NEXT = 3
_EXAMPLE = """Say what the tester is to do. Without a language model, give it a plan:

```yaml
steps:
  - tool: search_sdk
    arguments: {query: list the orders of a customer}
answer: "The operation was found."
```
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belongings:
    """What a source has that a case may name."""

    source: Source
    profiles: tuple[AuthProfile, ...]
    skills: tuple[SkillVersion, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class EditorPage:
    case: Workflow | None
    """None for a new one."""
    form: Form
    belongings: tuple[Belongings, ...]
    criteria: tuple[CriterionRow, ...]
    targets: tuple[TargetRow, ...]
    models: tuple[str, ...]
    default_model: str
    judge_model: str

    @property
    def checks(self) -> Sequence[tuple[str, str]]:
        return CHECKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    where: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PreflightPart:
    problems: tuple[Finding, ...]
    """What is wrong with the form; the preflight comes after."""
    findings: tuple[Finding, ...]
    plan: Plan | None
    unknown_tools: tuple[str, ...]
    next_at: tuple[datetime, ...]


async def show_new(visit: Visit) -> Response:
    draft = Draft(
        name="",
        source_id=visit.query.get("source"),
        tester_prompt=_EXAMPLE,
        targets=(Target(model_id=visit.house.workflow_surroundings.default_model),),
    )
    form = form_of(draft)
    return await _show(visit, None, replace(form, values={**form.values, "run_now": ["yes"]}))


async def show_edit(visit: Visit) -> Response:
    case = await visit.read(_get, visit.part("id"))
    return await _show(visit, case, form_of(service.draft_of(case)))


async def make(visit: Visit) -> Response:
    form = await visit.form()
    try:
        case = await visit.write(_make, visit.house, form)
    except (ValidationFailed, PreflightRejected) as fault:
        return await _show(visit, None, refused(form, fault), status=422)
    told = f"{case.name} is there; its first run is under way."
    return visit.go(f"/cases/{case.id}", said=told if form.flag("run_now") else f"{case.name} is there.")


async def change(visit: Visit) -> Response:
    form, case_id = await visit.form(), visit.part("id")
    try:
        case = await visit.write(_change, visit.house, case_id, form)
    except (ValidationFailed, PreflightRejected) as fault:
        case = await visit.read(_get, case_id)
        return await _show(visit, case, refused(form, fault), status=422)
    return visit.go(f"/cases/{case.id}", said=f"Version {case.version.number} of {case.name} is there.")


async def show_preflight(visit: Visit) -> Response:
    form = await visit.form()
    part = await visit.read(_preflight, visit.house, form)
    return visit.fragment("evals/templates/preflight_part.html", part)


async def _show(visit: Visit, case: Workflow | None, form: Form, status: int = 200) -> Response:
    house = visit.house
    page = EditorPage(
        case=case,
        form=form,
        belongings=await visit.read(_belongings),
        criteria=criteria_of(form),
        targets=targets_of(form),
        models=_models(house),
        default_model=house.workflow_surroundings.default_model,
        judge_model=house.settings.judge_model,
    )
    title = f"Edit {case.name}" if case else "New eval case"
    return visit.page("evals/templates/case_editor.html", page, title=title, status=status)


def _models(house: House) -> tuple[str, ...]:
    """Names to choose from; vendors have too many to list."""
    reachable = house.models.reachable
    named = [f"{name}/{model}" for name, each in reachable.endpoints.items() for model in each.names]
    vendors = [f"{vendor}/" for vendor in VENDORS if reachable.vendor_keys.get(vendor)]
    usual = (house.workflow_surroundings.default_model, *BUILTIN)
    return tuple(dict.fromkeys((*usual, *named, *vendors)))


def _get(tx: Tx, me: Me, case_id: str) -> Workflow:
    return service.get_workflow(tx, me.actor, me.org_id, case_id)


def _belongings(tx: Tx, me: Me) -> tuple[Belongings, ...]:
    return tuple(
        Belongings(
            source=source,
            profiles=tuple(sources.list_auth_profiles(tx, source)),
            skills=tuple(skills.list_skill_versions(tx, source)),
        )
        for source in sources.list_active_sources(tx, me.actor, me.org_id)
    )


def _make(tx: Tx, me: Me, house: House, form: Form) -> Workflow:
    draft = draft_in(form)
    case = service.create_workflow(tx, me.actor, me.org_id, draft, house.workflow_surroundings)
    if form.flag("run_now"):
        dispatch_initial(tx, case, jobs=house.jobs)
    return case


def _change(tx: Tx, me: Me, house: House, case_id: str, form: Form) -> Workflow:
    return service.change_workflow(
        tx,
        me.actor,
        me.org_id,
        case_id,
        lambda before: draft_in(form, before),
        house.workflow_surroundings,
    )


def _preflight(tx: Tx, me: Me, house: House, form: Form) -> PreflightPart:
    """What a save would say, as far as it can be told without saving."""
    if not form.text("name"):
        # Whoever begins to write has not forgotten it yet.
        form = replace(form, values={**form.values, "name": ["New eval case"]})
    before = None
    if case_id := form.text("case"):
        before = service.draft_of(service.get_workflow(tx, me.actor, me.org_id, case_id))
    try:
        draft = draft_in(form, before)
    except ValidationFailed as fault:
        return _part(problems=fault.details)
    next_at, timing_problem = _next_times(draft.schedule)
    plan = _plan(draft, house.workflow_surroundings)
    return _part(
        problems=() if timing_problem is None else (timing_problem,),
        findings=_findings(draft, house.workflow_surroundings),
        plan=plan,
        unknown_tools=_unknown_tools(tx, me, house, draft, plan),
        next_at=next_at,
    )


def _part(
    *,
    problems: Sequence[Detail] = (),
    findings: Sequence[Detail] = (),
    plan: Plan | None = None,
    unknown_tools: tuple[str, ...] = (),
    next_at: tuple[datetime, ...] = (),
) -> PreflightPart:
    return PreflightPart(
        problems=tuple(Finding(where=place_of(each.path), message=each.message) for each in problems),
        findings=tuple(Finding(where=place_of(each.path), message=each.message) for each in findings),
        plan=plan,
        unknown_tools=unknown_tools,
        next_at=next_at,
    )


def _findings(draft: Draft, around: Surroundings) -> list[Detail]:
    """As the service asks when a case is saved."""
    named = bool(draft.targets)
    if not named:
        draft = replace(draft, targets=(Target(model_id=around.default_model),))
    is_default = [target.model_id for target in draft.targets] == [around.default_model]
    return preflight(draft, around.model_problem, models_named=named and not is_default)


def _plan(draft: Draft, around: Surroundings) -> Plan | None:
    models = [target.model_id for target in draft.targets] or [around.default_model]
    if SCRIPTED not in models:
        return None
    try:
        return parse_plan(draft.tester_prompt)
    except PlanError:
        return None


def _unknown_tools(tx: Tx, me: Me, house: House, draft: Draft, plan: Plan | None) -> tuple[str, ...]:
    """Tools of the plan that the last look at the source did not find; none where nobody has looked."""
    if plan is None:
        return ()
    try:
        source = sources.get_source_by_id(tx, me.actor, me.org_id, draft.source_id)
    except AmmeterError:
        return ()
    known = {str(tool.get("name")) for tool in sources.discovery_of(tx, source, house.jobs).tools}
    named = dict.fromkeys(step.tool for step in plan.steps)
    return tuple(name for name in named if known and name not in known)


def _next_times(schedule: WorkflowSchedule | None) -> tuple[tuple[datetime, ...], Detail | None]:
    if schedule is None or not schedule.enabled:
        return (), None
    try:
        timing = Timing(cron=schedule.cron, timezone=schedule.timezone, every_minutes=schedule.every_minutes)
        times = [next_after(timing, now())]
        while len(times) < _NEXT:
            times.append(next_after(timing, times[-1]))
    except ValueError as error:
        return (), Detail(path="$.schedule", message=str(error))
    return tuple(times), None


_TO_MAKE, _TO_CHANGE = "create an eval case", "change an eval case"
VIEWS = (
    View(path="/cases/new", handle=show_new, role=Role.editor, to=_TO_MAKE),
    View(path="/cases/new", method="POST", handle=make, role=Role.editor, to=_TO_MAKE),
    View(path="/cases/preflight", method="POST", handle=show_preflight, role=Role.editor, to=_TO_CHANGE),
    View(path="/cases/{id}/edit", handle=show_edit, role=Role.editor, to=_TO_CHANGE),
    View(path="/cases/{id}/edit", method="POST", handle=change, role=Role.editor, to=_TO_CHANGE),
)
