"""Suites: make, change, archive, read. A name is an active suite's alone; its cases are workflows that are
there and may be touched."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ammeter.base.clock import now
from ammeter.base.errors import Conflict, Detail, NotFound, ValidationFailed
from ammeter.base.ids import is_id, new_id
from ammeter.base.text import did_you_mean
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import audit
from ammeter.features.orgs.model import Actor, Role
from ammeter.features.suites import store
from ammeter.features.suites.model import MAX_RUNS, Gate, Suite, SuiteCase, SuiteDraft, SuiteStatus
from ammeter.features.workflows import service as workflows


def create_suite(tx: Tx, actor: Actor, org_id: str, draft: SuiteDraft) -> Suite:
    actor.need(Role.editor, to="create a suite")
    at = now()
    suite = Suite(
        id=new_id(),
        org_id=org_id,
        name=draft.name,
        description=draft.description,
        status="active",
        gate=draft.gate,
        repeats=draft.repeats,
        cases=_checked(tx, actor, org_id, draft),
        created_at=at,
        created_by=actor.name,
        updated_at=at,
    )
    if not store.insert_suite(tx, suite):
        raise _taken(draft.name)
    audit.record(tx, actor, org_id, "suite.create", suite.id, name=suite.name)
    return suite


def change_suite(
    tx: Tx, actor: Actor, org_id: str, suite_id: str, change: Callable[[SuiteDraft], SuiteDraft]
) -> Suite:
    """`change` makes the wanted draft out of the present one."""
    actor.need(Role.editor, to="change a suite")
    if is_id(suite_id):
        store.lock_suite(tx, suite_id)
    before = get_suite(tx, actor, org_id, suite_id)
    if before.status == "archived":
        raise Conflict("The suite is archived; an archived suite does not change.")
    draft = change(draft_of(before))
    after = replace(
        before,
        name=draft.name,
        description=draft.description,
        gate=draft.gate,
        repeats=draft.repeats,
        cases=_checked(tx, actor, org_id, draft),
        updated_at=now(),
    )
    if not store.update_suite(tx, after):
        raise _taken(draft.name)
    audit.record(tx, actor, org_id, "suite.change", before.id, name=after.name)
    return after


def archive_suite(tx: Tx, actor: Actor, org_id: str, suite_id: str) -> Suite:
    """Its suite runs stay, and its name is free. Archiving twice is archiving once."""
    actor.need(Role.editor, to="archive a suite")
    if is_id(suite_id):
        store.lock_suite(tx, suite_id)
    before = get_suite(tx, actor, org_id, suite_id)
    if before.status == "archived":
        return before
    after = replace(before, status="archived", updated_at=now())
    store.update_suite(tx, after)
    audit.record(tx, actor, org_id, "suite.archive", before.id, name=before.name)
    return after


def get_suite(tx: Tx, actor: Actor, org_id: str, suite_id: str) -> Suite:
    suite = store.find_suite(tx, org_id, suite_id) if is_id(suite_id) else None
    if suite is None or not _may_see(actor, suite):
        raise NotFound("suite")
    return suite


def get_named(tx: Tx, actor: Actor, org_id: str, id_or_name: str) -> Suite:
    """An active suite by its name, or any by its id."""
    if is_id(id_or_name):
        return get_suite(tx, actor, org_id, id_or_name)
    known = {suite.name: suite for suite in list_suites(tx, actor, org_id)}
    if id_or_name not in known:
        raise NotFound("suite", hint=did_you_mean(id_or_name, known).strip())
    return known[id_or_name]


def list_suites(tx: Tx, actor: Actor, org_id: str, status: SuiteStatus = "active") -> list[Suite]:
    """Those that the actor may see, by name."""
    return [suite for suite in store.list_suites(tx, org_id, status) if _may_see(actor, suite)]


def draft_of(suite: Suite) -> SuiteDraft:
    return SuiteDraft(
        name=suite.name,
        description=suite.description,
        case_ids=tuple(case.workflow_id for case in suite.cases),
        gate=suite.gate,
        repeats=suite.repeats,
    )


def gate_problems(gate: Gate, path: str = "$.gate") -> Iterator[Detail]:
    """What a gate cannot mean."""
    if gate.require_all:
        return
    if gate.min_score is None:
        message = "without requireAll there is no bar but minScore; give one"
        yield Detail(path=f"{path}.minScore", message=message)
    if gate.strict:
        yield Detail(
            path=f"{path}.strict", message="strict asks something of every case; leave requireAll true"
        )


def _may_see(actor: Actor, suite: Suite) -> bool:
    return all(workflows.may_touch(actor, case.source_id) for case in suite.cases)


def _checked(tx: Tx, actor: Actor, org_id: str, draft: SuiteDraft) -> tuple[SuiteCase, ...]:
    problems = list(gate_problems(draft.gate))
    cases: list[SuiteCase] = []
    for place, case_id in enumerate(draft.case_ids):
        path = f"$.caseIds[{place}]"
        if case_id in draft.case_ids[:place]:
            problems.append(Detail(path=path, message="this case is named twice"))
            continue
        try:
            found = workflows.get_workflow(tx, actor, org_id, case_id)
        except NotFound:
            problems.append(Detail(path=path, message="there is no such workflow"))
            continue
        if found.status == "archived":
            problems.append(Detail(path=path, message=f"the workflow {found.name!r} is archived"))
        cases.append(
            SuiteCase(workflow_id=found.id, name=found.name, status=found.status, source_id=found.source_id)
        )
    if len(draft.case_ids) * draft.repeats > MAX_RUNS:
        message = f"cases times repeats are at most {MAX_RUNS} runs"
        problems.append(Detail(path="$.repeats", message=message))
    if problems:
        raise ValidationFailed(problems)
    return tuple(cases)


def _taken(name: str) -> Conflict:
    return Conflict(f"There is a suite called {name!r} already; change that one, or take another name.")
