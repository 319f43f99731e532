"""Workflows: make, change, archive, read. Each change writes a version; a schedule is a row that enqueues."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ammeter.base.clock import now
from ammeter.base.errors import AmmeterError, Conflict, Detail, NotFound, ValidationFailed
from ammeter.base.ids import is_id, new_id
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.engines.jobs.schedule import add_schedule, remove_schedule, update_schedule
from ammeter.engines.jobs.timing import Timing, next_after
from ammeter.features.orgs import audit
from ammeter.features.orgs.model import Actor, Role
from ammeter.features.sources import service as sources
from ammeter.features.sources.model import Source
from ammeter.features.sources.skills import get_skill_version
from ammeter.features.workflows import store
from ammeter.features.workflows.model import (
    MIN_SCHEDULE_MINUTES,
    Draft,
    Target,
    Version,
    Workflow,
    WorkflowSchedule,
)
from ammeter.features.workflows.preflight import preflight

SCHEDULED_KIND = "evals.scheduled"
"""The job that a schedule enqueues; `evals` answers to it."""
_TICKS_LOOKED_AT = 60


class PreflightRejected(AmmeterError):
    code = "preflight_rejected"

    def __init__(self, findings: Sequence[Detail]) -> None:
        count = len(findings)
        told = (
            f"{count} {'thing speaks' if count == 1 else 'things speak'} against this workflow; see details."
        )
        super().__init__(told, details=findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a workflow is checked against beside itself."""

    default_model: str
    model_problem: Callable[[str], str | None]


def create_workflow(tx: Tx, actor: Actor, org_id: str, draft: Draft, around: Surroundings) -> Workflow:
    actor.need(Role.editor, to="create a workflow")
    draft = _checked(tx, actor, org_id, draft, around)
    at = now()
    workflow_id = new_id()
    version = _version(draft, workflow_id=workflow_id, number=1, actor=actor)
    schedule_id = _schedule(tx, org_id, workflow_id, draft.schedule, None)
    workflow = Workflow(
        id=workflow_id,
        org_id=org_id,
        source_id=draft.source_id,
        name=draft.name,
        description=draft.description,
        status="active",
        version=version,
        schedule=draft.schedule,
        schedule_id=schedule_id,
        created_at=at,
        updated_at=at,
    )
    store.insert_workflow(tx, workflow)
    audit.record(tx, actor, org_id, "workflow.create", workflow_id, name=draft.name)
    return workflow


def change_workflow(
    tx: Tx,
    actor: Actor,
    org_id: str,
    workflow_id: str,
    change: Callable[[Draft], Draft],
    around: Surroundings,
) -> Workflow:
    """`change` makes the wanted draft out of the present one; whatever it changes, a version is written."""
    actor.need(Role.editor, to="change a workflow")
    if is_id(workflow_id):
        store.lock_workflow(tx, workflow_id)
    before = get_workflow(tx, actor, org_id, workflow_id)
    if before.status == "archived":
        raise Conflict("The workflow is archived; an archived workflow does not change.")
    draft = _checked(tx, actor, org_id, change(draft_of(before)), around)
    version = _version(draft, workflow_id=before.id, number=before.version.number + 1, actor=actor)
    schedule_id = before.schedule_id
    if draft.schedule != before.schedule:
        schedule_id = _schedule(tx, org_id, before.id, draft.schedule, before.schedule_id)
    after = replace(
        before,
        name=draft.name,
        description=draft.description,
        source_id=draft.source_id,
        version=version,
        schedule=draft.schedule,
        schedule_id=schedule_id,
        updated_at=now(),
    )
    store.insert_version(tx, version)
    store.update_workflow(tx, after)
    audit.record(tx, actor, org_id, "workflow.change", before.id, version=version.number)
    return after


def archive_workflow(tx: Tx, actor: Actor, org_id: str, workflow_id: str) -> Workflow:
    """Its runs stay; its schedule goes. Archiving twice is archiving once."""
    actor.need(Role.editor, to="archive a workflow")
    if is_id(workflow_id):
        store.lock_workflow(tx, workflow_id)
    before = get_workflow(tx, actor, org_id, workflow_id)
    if before.status == "archived":
        return before
    if before.schedule_id is not None:
        remove_schedule(tx, before.schedule_id)
    after = replace(before, status="archived", schedule_id=None, updated_at=now())
    store.update_workflow(tx, after)
    audit.record(tx, actor, org_id, "workflow.archive", before.id, name=before.name)
    return after


def get_workflow(tx: Tx, actor: Actor, org_id: str, workflow_id: str) -> Workflow:
    workflow = store.find_workflow(tx, org_id, workflow_id) if is_id(workflow_id) else None
    if workflow is None or not may_touch(actor, workflow.source_id):
        raise NotFound("workflow")
    return workflow


def list_workflows(
    tx: Tx,
    actor: Actor,
    org_id: str,
    *,
    any_category: Collection[str] | None = None,
    category: str | None = None,
) -> list[tuple[Workflow, Source]]:
    """Active ones, with their source: an active one of production that the actor may touch."""
    found = sources.list_active_sources(tx, actor, org_id, any_category=any_category, category=category)
    by_id = {source.id: source for source in found}
    return [(each, by_id[each.source_id]) for each in store.list_workflows(tx, org_id, list(by_id))]


def list_archived(tx: Tx, actor: Actor, org_id: str) -> list[tuple[Workflow, Source]]:
    """Archived ones that the actor may touch, with their source, of whatever status that is."""
    found = [each for each in store.list_archived(tx, org_id) if may_touch(actor, each.source_id)]
    by_id = {one: sources.get_source(tx, org_id, one) for one in {each.source_id for each in found}}
    return [(each, by_id[each.source_id]) for each in found]


def list_versions(tx: Tx, actor: Actor, org_id: str, workflow_id: str, page: PageRequest) -> Page[Version]:
    """Of one workflow, newest first."""
    return store.list_versions(tx, get_workflow(tx, actor, org_id, workflow_id).id, page)


def get_version(tx: Tx, actor: Actor, org_id: str, workflow_id: str, version_id: str) -> Version:
    workflow = get_workflow(tx, actor, org_id, workflow_id)
    version = store.find_version(tx, version_id) if is_id(version_id) else None
    if version is None or version.workflow_id != workflow.id:
        raise NotFound("version")
    return version


def may_touch(actor: Actor, source_id: str) -> bool:
    return actor.source_ids is None or source_id in actor.source_ids


def draft_of(workflow: Workflow) -> Draft:
    version = workflow.version
    return Draft(
        name=workflow.name,
        source_id=workflow.source_id,
        tester_prompt=version.tester_prompt,
        description=workflow.description,
        auth_profile_id=version.auth_profile_id,
        targets=version.targets,
        criteria=version.criteria,
        schedule=workflow.schedule,
        limits=version.limits,
        retry_policy=version.retry_policy,
        tool_policy=version.tool_policy,
        metadata=version.metadata,
    )


def _checked(tx: Tx, actor: Actor, org_id: str, draft: Draft, around: Surroundings) -> Draft:
    problems: list[Detail] = []
    try:
        source = sources.get_source(tx, org_id, draft.source_id)
        if source.status != "active" or not may_touch(actor, source.id):
            raise NotFound("source")
        draft = replace(draft, source_id=source.id)
        problems += _belonging_problems(tx, source, draft)
    except NotFound:
        problems.append(Detail(path="$.mcpServerId", message="there is no such MCP source"))
    problems += _schedule_problems(draft.schedule)
    if problems:
        raise ValidationFailed(problems)
    named = bool(draft.targets)
    if not named:
        draft = replace(draft, targets=(Target(model_id=around.default_model),))
    is_default = [target.model_id for target in draft.targets] == [around.default_model]
    findings = preflight(draft, around.model_problem, models_named=named and not is_default)
    if findings:
        raise PreflightRejected(findings)
    return draft


def _belonging_problems(tx: Tx, source: Source, draft: Draft) -> Iterator[Detail]:
    """What a draft names and the source does not have."""
    if draft.auth_profile_id is not None and not sources.find_auth_profile(tx, source, draft.auth_profile_id):
        yield Detail(path="$.defaultMcpAuthProfileId", message="the MCP source has no such auth profile")
    for i, target in enumerate(draft.targets):
        if target.skill_version_id is not None:
            try:
                get_skill_version(tx, source, target.skill_version_id)
            except NotFound:
                path = f"$.testerTargets[{i}].skillVersionId"
                yield Detail(path=path, message="the MCP source has no such skill version")


def _schedule_problems(schedule: WorkflowSchedule | None) -> list[Detail]:
    if schedule is None:
        return []
    try:
        timing = _timing(schedule)
        if _minutes_between(timing) < MIN_SCHEDULE_MINUTES:
            message = f"not more often than every {MIN_SCHEDULE_MINUTES} minutes"
            path = "$.schedule.cron" if timing.cron else "$.schedule.everyMinutes"
            return [Detail(path=path, message=message)]
    except ValueError as error:
        place = "timezone" if "time zone" in str(error) else "cron"
        return [Detail(path=f"$.schedule.{place}", message=str(error))]
    return []


def _minutes_between(timing: Timing) -> float:
    """The least time between two of the ticks that come soon."""
    if timing.every_minutes is not None:
        return timing.every_minutes
    tick = next_after(timing, now())
    least = float("inf")
    for _ in range(_TICKS_LOOKED_AT):
        following = next_after(timing, tick)
        least = min(least, (following - tick).total_seconds() / 60)
        if least < MIN_SCHEDULE_MINUTES:
            break
        tick = following
    return least


def _timing(schedule: WorkflowSchedule) -> Timing:
    return Timing(cron=schedule.cron, timezone=schedule.timezone, every_minutes=schedule.every_minutes)


def _schedule(
    tx: Tx, org_id: str, workflow_id: str, wanted: WorkflowSchedule | None, known_id: str | None
) -> str | None:
    """Make, move or take away the row that fires; its id."""
    if wanted is None:
        if known_id is not None:
            remove_schedule(tx, known_id)
        return None
    timing = _timing(wanted)
    if known_id is not None and update_schedule(tx, known_id, timing=timing, enabled=wanted.enabled):
        return known_id
    payload = {"workflow_id": workflow_id}
    made = add_schedule(
        tx, kind=SCHEDULED_KIND, payload=payload, timing=timing, org_id=org_id, enabled=wanted.enabled
    )
    return made.id


def _version(draft: Draft, *, workflow_id: str, number: int, actor: Actor) -> Version:
    parts: dict[str, Any] = {
        name: getattr(draft, name)
        for name in (
            *("source_id", "tester_prompt", "criteria", "targets", "auth_profile_id"),
            *("limits", "retry_policy", "tool_policy", "metadata"),
        )
    }
    return Version(
        id=new_id(), workflow_id=workflow_id, number=number, created_at=now(), created_by=actor.name, **parts
    )
