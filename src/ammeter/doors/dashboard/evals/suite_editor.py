"""`/suites/new` and `/suites/{id}/edit`: which cases a suite has, how often they are played, and its gate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError
from starlette.responses import Response

from ammeter.base.errors import Conflict, Detail, ValidationFailed
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.orgs.fields import Name
from ammeter.features.orgs.model import Role
from ammeter.features.sources.model import Source
from ammeter.features.suites import service
from ammeter.features.suites.model import MAX_CASES, MAX_REPEATS, Gate, Suite, SuiteCase, SuiteDraft
from ammeter.features.workflows import service as workflows
from ammeter.features.workflows.model import Workflow

_FIELDS = {
    "$.name": "name",
    "$.description": "description",
    "$.caseIds": "case",
    "$.repeats": "repeats",
    "$.gate.minScore": "min_score",
    "$.gate.strict": "strict",
    "$.gate.minPassRate": "min_pass_rate",
    "$.gate.maxCostUsd": "max_cost_usd",
}
_DESCRIPTION_CHARS = 2_000
_NAME: TypeAdapter[str] = TypeAdapter(Name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteEditorPage:
    suite: Suite | None
    form: Form
    cases: tuple[tuple[Workflow, Source], ...]
    gone: tuple[SuiteCase, ...]
    """Cases of the suite that cannot be chosen any more: archived, or of a source that is."""


async def show_new(visit: Visit) -> Response:
    chosen = visit.query.get("case")
    draft = SuiteDraft(name="", case_ids=(chosen,) if chosen else ())
    return await _show(visit, None, form_of(draft))


async def show_edit(visit: Visit) -> Response:
    suite = await visit.read(_get, visit.part("id"))
    return await _show(visit, suite, form_of(service.draft_of(suite)))


async def make(visit: Visit) -> Response:
    form = await visit.form()
    try:
        suite = await visit.write(_make, form)
    except (ValidationFailed, Conflict) as fault:
        return await _show(visit, None, _refused(form, fault), status=422)
    return visit.go(f"/suites/{suite.id}", said=f"{suite.name} is there.")


async def change(visit: Visit) -> Response:
    form, suite_id = await visit.form(), visit.part("id")
    try:
        suite = await visit.write(_change, suite_id, form)
    except (ValidationFailed, Conflict) as fault:
        suite = await visit.read(_get, suite_id)
        return await _show(visit, suite, _refused(form, fault), status=422)
    return visit.go(f"/suites/{suite.id}", said=f"{suite.name} is changed.")


async def _show(visit: Visit, suite: Suite | None, form: Form, status: int = 200) -> Response:
    cases = await visit.read(_cases)
    known = {case.id for case, _ in cases}
    page = SuiteEditorPage(
        suite=suite,
        form=form,
        cases=cases,
        gone=tuple(each for each in suite.cases if each.workflow_id not in known) if suite else (),
    )
    title = f"Edit {suite.name}" if suite else "New suite"
    return visit.page("evals/templates/suite_editor.html", page, title=title, status=status)


def form_of(draft: SuiteDraft) -> Form:
    gate = draft.gate
    values: Mapping[str, list[str]] = {
        "name": [draft.name],
        "description": [draft.description],
        "case": list(draft.case_ids),
        "repeats": [str(draft.repeats)],
        "min_score": ["" if gate.min_score is None else f"{gate.min_score * 100:g}"],
        "require_all": ["yes"] if gate.require_all else [],
        "strict": ["yes"] if gate.strict else [],
        "min_pass_rate": [f"{gate.min_pass_rate * 100:g}"],
        "max_cost_usd": ["" if gate.max_cost_usd is None else f"{gate.max_cost_usd:g}"],
    }
    return Form(values=values)


def draft_in(form: Form) -> SuiteDraft:
    """The draft that the form means; ValidationFailed with the API's own paths."""
    problems: list[Detail] = []
    try:
        name = _NAME.validate_python(form.text("name"))
    except ValidationError:
        name = ""
        problems.append(Detail(path="$.name", message="a name is 1 to 200 visible characters on one line"))
    description = form.text("description")
    if len(description) > _DESCRIPTION_CHARS or "\0" in description:
        message = f"a description has at most {_DESCRIPTION_CHARS:,} characters"
        problems.append(Detail(path="$.description", message=message))
    case_ids = tuple(dict.fromkeys(form.all("case")))
    if not 1 <= len(case_ids) <= MAX_CASES:
        problems.append(Detail(path="$.caseIds", message=f"choose 1 to {MAX_CASES} cases"))
    repeats = _number(form.text("repeats") or "1", "$.repeats", 1, MAX_REPEATS, problems, is_whole=True)
    gate = Gate(
        min_score=_share(form, "min_score", "$.gate.minScore", problems, least=0),
        require_all=form.flag("require_all"),
        strict=form.flag("strict"),
        min_pass_rate=_share(form, "min_pass_rate", "$.gate.minPassRate", problems, least=1) or 1.0,
        max_cost_usd=_cost(form, problems),
    )
    if problems:
        raise ValidationFailed(problems)
    return SuiteDraft(name=name, description=description, case_ids=case_ids, gate=gate, repeats=int(repeats))


def _share(form: Form, name: str, path: str, problems: list[Detail], *, least: float) -> float | None:
    """Written in per cent; empty: none."""
    text = form.text(name).removesuffix("%").strip()
    return _number(text, path, least, 100, problems) / 100 if text else None


def _cost(form: Form, problems: list[Detail]) -> float | None:
    text = form.text("max_cost_usd").removeprefix("$").strip()
    return _number(text, "$.gate.maxCostUsd", 0.0001, 1_000_000, problems) if text else None


def _number(
    text: str, path: str, least: float, most: float, problems: list[Detail], *, is_whole: bool = False
) -> float:
    shape = r"[0-9]{1,7}" if is_whole else r"[0-9]{1,7}([.,][0-9]{1,9})?"
    value = float(text.replace(",", ".")) if re.fullmatch(shape, text) else None
    if value is None or not least <= value <= most:
        kind = "whole number" if is_whole else "number"
        problems.append(Detail(path=path, message=f"write a {kind} from {least:g} to {most:,.10g}"))
        return most
    return value


def _refused(form: Form, fault: ValidationFailed | Conflict) -> Form:
    fields = dict(_FIELDS)
    for detail in fault.details:
        if detail.path.startswith("$.caseIds["):
            fields[detail.path] = "case"
    return form.refused(fault, fields)


def _get(tx: Tx, me: Me, suite_id: str) -> Suite:
    return service.get_suite(tx, me.actor, me.org_id, suite_id)


def _cases(tx: Tx, me: Me) -> tuple[tuple[Workflow, Source], ...]:
    found = workflows.list_workflows(tx, me.actor, me.org_id)
    return tuple(sorted(found, key=lambda pair: (pair[1].name.lower(), pair[0].name.lower())))


def _make(tx: Tx, me: Me, form: Form) -> Suite:
    return service.create_suite(tx, me.actor, me.org_id, draft_in(form))


def _change(tx: Tx, me: Me, suite_id: str, form: Form) -> Suite:
    return service.change_suite(tx, me.actor, me.org_id, suite_id, lambda _: draft_in(form))


_TO_MAKE, _TO_CHANGE = "create a suite", "change a suite"
VIEWS = (
    View(path="/suites/new", handle=show_new, role=Role.editor, to=_TO_MAKE),
    View(path="/suites/new", method="POST", handle=make, role=Role.editor, to=_TO_MAKE),
    View(path="/suites/{id}/edit", handle=show_edit, role=Role.editor, to=_TO_CHANGE),
    View(path="/suites/{id}/edit", method="POST", handle=change, role=Role.editor, to=_TO_CHANGE),
)
