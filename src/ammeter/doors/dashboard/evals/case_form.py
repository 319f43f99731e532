"""The form of an eval case: a draft in, the fields that show it out; fields in, the body that the API takes
out. So a case is checked by the same rules, whichever door it comes through."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from ammeter.base.errors import AmmeterError, Detail, ValidationFailed
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.render import words
from ammeter.doors.http.errors import from_validation
from ammeter.doors.http.workflow_bodies import CreateWorkflow, changed, draft_from
from ammeter.features.workflows.model import Criterion, Draft, Limits, RetryPolicy

CHECKS = (
    ("", "The judge model decides"),
    ("tool_called", "A tool was called"),
    ("tool_not_called", "A tool was not called"),
    ("tool_result_contains", "A result contains a text"),
    ("json_path_equals", "A result has a value at a path"),
    ("final_answer_contains", "The final answer contains a text"),
    ("final_answer_matches", "The final answer matches a pattern"),
    ("max_tool_calls", "At most so many tool calls"),
)
_VALUE_OF = {
    "tool_called": "arguments",
    "tool_not_called": "arguments",
    "tool_result_contains": "text",
    "final_answer_contains": "text",
    "final_answer_matches": "pattern",
    "json_path_equals": "value",
    "max_tool_calls": "value",
}
_IS_JSON = ("arguments", "value")
_LIMITS = {
    "max_turns": "maxTurns",
    "max_tool_calls": "maxToolCalls",
    "max_duration_seconds": "maxDurationSeconds",
    "max_cost_usd": "maxCostUsd",
    "max_output_tokens": "maxOutputTokens",
}
_FIELDS = {
    "$.name": "name",
    "$.mcpServerId": "source",
    "$.testerPrompt": "prompt",
    "$.description": "description",
    "$.defaultMcpAuthProfileId": "profile",
    "$.testerTargets": "targets",
    "$.criteria": "criteria",
    "$.schedule": "schedule",
    "$.schedule.cron": "cron",
    "$.schedule.timezone": "timezone",
    "$.schedule.everyMinutes": "minutes",
    "$.metadata": "metadata",
    "$.metadata.replayRunId": "metadata",
    "$.toolPolicy.allow": "allow",
    "$.toolPolicy.deny": "deny",
    **{f"$.limits.{camel}": name for name, camel in _LIMITS.items()},
    "$.retryPolicy.maxAttempts": "max_attempts",
    "$.retryPolicy.backoffSeconds": "backoff_seconds",
}
_SAID = {
    "string_too_short": "this is required",
    "string_pattern_mismatch": "this holds blanks or signs that it may not hold",
}
_WORDS = {"testerTargets": "Model", "criteria": "Criterion"}
_PLACED = re.compile(r"\$\.(testerTargets|criteria)\[(\d+)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class CriterionRow:
    id: str
    text: str
    is_required: bool
    check: str
    tool: str
    path: str
    value: str
    times: str
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRow:
    model: str
    skill: str
    """none, latest, or the id of a version."""
    problem: str = ""


def form_of(draft: Draft) -> Form:
    """Every field as the page shows it."""
    schedule = draft.schedule
    tools, retry = draft.tool_policy, draft.retry_policy
    values: dict[str, list[str]] = {
        "name": [draft.name],
        "description": [draft.description],
        "source": [draft.source_id],
        "prompt": [draft.tester_prompt],
        "profile": [draft.auth_profile_id or ""],
        "model": [target.model_id for target in draft.targets],
        "skill": [target.skill_version_id or target.skill_mode for target in draft.targets],
        "schedule": ["" if schedule is None else "cron" if schedule.cron else "every"],
        "cron": [schedule.cron or "" if schedule else ""],
        "timezone": [schedule.timezone if schedule else "UTC"],
        "minutes": [str(schedule.every_minutes or "") if schedule else ""],
        "paused": ["yes"] if schedule is not None and not schedule.enabled else [],
        "allow": ["\n".join(tools.allow or ())],
        "deny": ["\n".join(tools.deny)],
        "read_only": ["yes"] if tools.read_only else [],
        "max_attempts": [str(retry.max_attempts)],
        "backoff_seconds": [f"{retry.backoff_seconds:g}"],
        "retry_on": list(retry.retry_on),
        "metadata": [json.dumps(draft.metadata, ensure_ascii=False) if draft.metadata else ""],
        **{name: [f"{getattr(draft.limits, name):g}"] for name in _LIMITS},
        **_criteria_values(draft.criteria),
    }
    return Form(values=values)


def criteria_of(form: Form) -> tuple[CriterionRow, ...]:
    """The rows that say something."""
    names = ("criterion_id", "criterion", "required", "check", "tool", "path", "value", "times")
    found: list[CriterionRow] = []
    for row in _rows(form, names):
        if not row["criterion"].strip() and not row["check"]:
            continue
        found.append(
            CriterionRow(
                id=row["criterion_id"],
                text=row["criterion"].strip(),
                is_required=row["required"] != "no",
                check=row["check"],
                tool=row["tool"].strip(),
                path=row["path"].strip(),
                value=row["value"],
                times=row["times"].strip(),
                problem=form.problems.get(f"criteria-{len(found)}", ""),
            )
        )
    return tuple(found)


def targets_of(form: Form) -> tuple[TargetRow, ...]:
    found: list[TargetRow] = []
    for row in _rows(form, ("model", "skill")):
        if row["model"].strip():
            problem = form.problems.get(f"testerTargets-{len(found)}", "")
            found.append(TargetRow(model=row["model"].strip(), skill=row["skill"] or "none", problem=problem))
    return tuple(found)


def draft_in(form: Form, before: Draft | None = None) -> Draft:
    """The draft that the form means; ValidationFailed with the API's own paths."""
    body = _body(form)
    try:
        given = CreateWorkflow.model_validate(body)
    except ValidationError as error:
        errors = [
            {**each, "loc": ("body", *each["loc"]), "msg": _SAID.get(each["type"], each["msg"])}
            for each in error.errors(include_url=False)
        ]
        raise from_validation(RequestValidationError(errors), CreateWorkflow) from None
    return draft_from(given) if before is None else changed(given, before)


def refused(form: Form, fault: AmmeterError) -> Form:
    """The form with what was wrong, at its field or row."""
    fields = dict(_FIELDS)
    for detail in fault.details:
        if placed := _PLACED.match(detail.path):
            fields[detail.path] = f"{placed[1]}-{placed[2]}"
    return form.refused(fault, fields)


def place_of(path: str) -> str:
    """What the page calls the field that a path means."""
    if placed := _PLACED.match(path):
        return f"{_WORDS[placed[1]]} {int(placed[2]) + 1}"
    return words(_FIELDS.get(path, path.removeprefix("$.")))


def _criteria_values(criteria: Sequence[Criterion]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {
        name: []
        for name in ("criterion_id", "criterion", "required", "check", "tool", "path", "value", "times")
    }
    for one in criteria:
        check = one.assertion or {}
        kind = str(check.get("kind", ""))
        value = check.get(_VALUE_OF.get(kind, ""))
        is_text = isinstance(value, str) and _VALUE_OF.get(kind) not in _IS_JSON
        row = {
            "criterion_id": one.id,
            "criterion": one.criterion_text,
            "required": "yes" if one.is_required else "no",
            "check": kind,
            "tool": str(check.get("tool") or ""),
            "path": str(check.get("path") or ""),
            "value": ""
            if value is None and kind != "json_path_equals"
            else value
            if is_text
            else _json(value),
            "times": str(check.get("times", "") if check.get("times") is not None else ""),
        }
        for name, text in row.items():
            values[name].append(str(text))
    return values


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _rows(form: Form, names: Sequence[str]) -> list[dict[str, str]]:
    columns = [form.all(name) for name in names]
    most = max((len(column) for column in columns), default=0)
    padded = [column + [""] * (most - len(column)) for column in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*padded, strict=True)]


def _body(form: Form) -> dict[str, Any]:
    problems: list[Detail] = []
    allow, deny = _lines(form, "allow"), _lines(form, "deny")
    body: dict[str, Any] = {
        "name": form.text("name"),
        "description": form.text("description"),
        "mcpServerId": form.text("source"),
        "testerPrompt": form.text("prompt"),
        "defaultMcpAuthProfileId": form.text("profile") or None,
        "criteria": [_criterion(row, i, problems) for i, row in enumerate(criteria_of(form))],
        "schedule": _schedule(form, problems),
        "limits": _numbers(form, problems),
        "retryPolicy": _retries(form, problems),
        "toolPolicy": {"allow": allow or None, "deny": deny, "readOnly": form.flag("read_only")},
        "metadata": _object(form.text("metadata"), "$.metadata", problems),
    }
    if targets := targets_of(form):
        body["testerTargets"] = [_target(row) for row in targets]
    if problems:
        raise ValidationFailed(problems)
    return body


def _target(row: TargetRow) -> dict[str, Any]:
    if row.skill in ("none", "latest"):
        return {"modelId": row.model, "skillMode": row.skill}
    return {"modelId": row.model, "skillMode": "pinned", "skillVersionId": row.skill}


def _criterion(row: CriterionRow, place: int, problems: list[Detail]) -> dict[str, Any]:
    made: dict[str, Any] = {"criterionText": row.text, "isRequired": row.is_required}
    if row.id:
        made["id"] = row.id
    if not row.check:
        return made
    path = f"$.criteria[{place}].assertion"
    assertion: dict[str, Any] = {"kind": row.check}
    named = _VALUE_OF.get(row.check, "text")
    takes_tool = row.check.startswith("tool") or row.check == "json_path_equals"
    if row.tool and takes_tool:
        assertion["tool"] = row.tool
    if row.check == "json_path_equals":
        assertion["path"] = row.path
    if row.times and row.check in ("tool_called", "tool_not_called"):
        assertion["times"] = _whole(row.times, f"{path}.times", problems)
    if named == "arguments":
        if row.value.strip():
            assertion[named] = _object(row.value, f"{path}.arguments", problems)
    elif named == "value":
        assertion[named] = _any_json(row.value)
    elif row.value:
        assertion[named] = row.value.replace("\r\n", "\n")
    return {**made, "assertion": assertion}


def _schedule(form: Form, problems: list[Detail]) -> dict[str, Any] | None:
    enabled = not form.flag("paused")
    match form.text("schedule"):
        case "cron":
            zone = form.text("timezone") or "UTC"
            return {"cron": form.text("cron"), "timezone": zone, "enabled": enabled}
        case "every":
            minutes = _whole(form.text("minutes"), "$.schedule.everyMinutes", problems)
            return {"everyMinutes": minutes, "enabled": enabled}
        case _:
            return None


def _numbers(form: Form, problems: list[Detail]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, camel in _LIMITS.items():
        text = form.text(name) or f"{getattr(Limits(), name):g}"
        read = _decimal if name == "max_cost_usd" else _whole
        made[camel] = read(text, f"$.limits.{camel}", problems)
    return made


def _retries(form: Form, problems: list[Detail]) -> dict[str, Any]:
    usual = RetryPolicy()
    attempts = form.text("max_attempts") or str(usual.max_attempts)
    pause = form.text("backoff_seconds") or f"{usual.backoff_seconds:g}"
    return {
        "maxAttempts": _whole(attempts, "$.retryPolicy.maxAttempts", problems),
        "backoffSeconds": _decimal(pause, "$.retryPolicy.backoffSeconds", problems),
        "retryOn": form.all("retry_on"),
    }


def _lines(form: Form, name: str) -> list[str]:
    return [line.strip() for line in form.text(name).splitlines() if line.strip()]


def _whole(text: str, path: str, problems: list[Detail]) -> int:
    if re.fullmatch(r"[0-9]{1,9}", text):
        return int(text)
    problems.append(Detail(path=path, message="write a whole number"))
    return 0


def _decimal(text: str, path: str, problems: list[Detail]) -> float:
    if re.fullmatch(r"[0-9]{1,9}([.,][0-9]{1,9})?", text):
        return float(text.replace(",", "."))
    problems.append(Detail(path=path, message="write a number, such as 0.5"))
    return 0.0


def _object(text: str, path: str, problems: list[Detail]) -> Mapping[str, Any]:
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        problems.append(Detail(path=path, message='write a JSON object, such as {"id": 1}'))
        return {}
    return value


def _any_json(text: str) -> Any:
    """A JSON value; what is none is a text, so that nobody has to quote words."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()
