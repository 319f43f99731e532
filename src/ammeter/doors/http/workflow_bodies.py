"""What is sent to make or change a workflow, in shape: bodies in, drafts out. What a field may hold is said
here once; what a workflow may be is the service's to say."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from ammeter.base.errors import Detail, ValidationFailed
from ammeter.base.ids import is_id, new_id
from ammeter.doors.http.strict import Body
from ammeter.features.orgs.fields import Name
from ammeter.features.workflows.model import (
    MAX_CRITERIA,
    MAX_PROMPT_CHARS,
    MAX_TARGETS,
    MIN_SCHEDULE_MINUTES,
    Criterion,
    Draft,
    Limits,
    RetryOn,
    RetryPolicy,
    SkillMode,
    Target,
    ToolPolicy,
    WorkflowSchedule,
)

_METADATA_CHARS = 16_384

ModelId = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^\S+$")]
Prompt = Annotated[str, StringConstraints(min_length=1, max_length=MAX_PROMPT_CHARS, pattern=r"\S")]
Glob = Annotated[str, StringConstraints(min_length=1, max_length=200)]
SourceId = Annotated[str, StringConstraints(min_length=1, max_length=63)]

AssertionKind = Literal[
    "tool_called",
    "tool_not_called",
    "tool_result_contains",
    "final_answer_contains",
    "final_answer_matches",
    "max_tool_calls",
    "json_path_equals",
]
_TAKES: dict[str, tuple[set[str], set[str]]] = {
    # What each kind needs, and what it may have beside.
    "tool_called": ({"tool"}, {"arguments", "times"}),
    "tool_not_called": ({"tool"}, {"arguments", "times"}),
    "tool_result_contains": ({"text"}, {"tool"}),
    "final_answer_contains": ({"text"}, set()),
    "final_answer_matches": ({"pattern"}, set()),
    "max_tool_calls": ({"value"}, set()),
    "json_path_equals": ({"tool", "path", "value"}, set()),
}


class TargetIn(Body):
    model_id: ModelId
    skill_mode: SkillMode = "none"
    skill_version_id: str | None = None

    @model_validator(mode="after")
    def _skill(self) -> TargetIn:
        if self.skill_mode == "pinned" and (
            self.skill_version_id is None or not is_id(self.skill_version_id)
        ):
            raise ValueError("skillMode pinned needs the skillVersionId of a version")
        if self.skill_mode != "pinned" and self.skill_version_id is not None:
            raise ValueError("skillVersionId goes with skillMode pinned alone")
        return self

    def value(self) -> Target:
        return Target(
            model_id=self.model_id, skill_mode=self.skill_mode, skill_version_id=self.skill_version_id
        )


class AssertionIn(Body):
    kind: AssertionKind
    tool: Annotated[Glob | None, Field(description="Name of the tool, or a glob.")] = None
    arguments: Annotated[
        dict[str, Any] | None, Field(description="Arguments that the call must have, each equal.")
    ] = None
    times: Annotated[int | None, Field(ge=0, le=10_000, description="Exactly so often.")] = None
    text: Annotated[str | None, Field(min_length=1, max_length=10_000)] = None
    pattern: Annotated[
        str | None, Field(min_length=1, max_length=500, description="A regular expression (RFC 9485).")
    ] = None
    path: Annotated[
        str | None, Field(min_length=1, max_length=500, description="A JSONPath (RFC 9535), without filters.")
    ] = None
    value: Any = None

    @model_validator(mode="after")
    def _fits_its_kind(self) -> AssertionIn:
        needed, more = _TAKES[self.kind]
        given = self.model_fields_set - {"kind"}
        if missing := sorted(needed - given):
            raise ValueError(f"{self.kind} needs {' and '.join(missing)}")
        if other := sorted(given - needed - more):
            raise ValueError(f"{self.kind} takes no {other[0]}")
        if nothing := sorted(name for name in needed - {"value"} if getattr(self, name) is None):
            raise ValueError(f"{nothing[0]} must not be null")
        if self.kind == "max_tool_calls" and (type(self.value) is not int or self.value < 0):
            raise ValueError("the value of max_tool_calls is a whole number from 0")
        _check_pattern(self.pattern)
        _check_path(self.path)
        return self

    def stored(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in sorted(self.model_fields_set)}


class CriterionIn(Body):
    id: Annotated[str | None, Field(description="Of a criterion that the workflow has, to keep it.")] = None
    criterion_text: Annotated[str, StringConstraints(min_length=1, max_length=4_000, pattern=r"\S")]
    is_required: bool = True
    assertion: AssertionIn | None = None


class ScheduleIn(Body):
    cron: Annotated[str | None, Field(max_length=200, examples=["0 9 * * 1-5"])] = None
    timezone: Annotated[str, Field(max_length=100)] = "UTC"
    every_minutes: Annotated[int | None, Field(ge=MIN_SCHEDULE_MINUTES, le=525_600)] = None
    enabled: bool = True

    @model_validator(mode="after")
    def _one_of_two(self) -> ScheduleIn:
        if (self.cron is None) == (self.every_minutes is None):
            raise ValueError("a schedule needs either cron or everyMinutes, and not both")
        if self.every_minutes is not None and "timezone" in self.model_fields_set:
            raise ValueError("timezone goes with cron")
        return self


class LimitsIn(Body):
    max_turns: Annotated[int, Field(ge=1, le=500)] = Limits().max_turns
    max_tool_calls: Annotated[int, Field(ge=1, le=1_000)] = Limits().max_tool_calls
    max_duration_seconds: Annotated[int, Field(ge=1, le=7_200)] = Limits().max_duration_seconds
    max_cost_usd: Annotated[float, Field(gt=0, le=1_000, allow_inf_nan=False)] = Limits().max_cost_usd
    max_output_tokens: Annotated[int, Field(ge=1, le=200_000)] = Limits().max_output_tokens


class RetryPolicyIn(Body):
    max_attempts: Annotated[int, Field(ge=1, le=5)] = RetryPolicy().max_attempts
    backoff_seconds: Annotated[float, Field(ge=0, le=600, allow_inf_nan=False)] = (
        RetryPolicy().backoff_seconds
    )
    retry_on: Annotated[list[RetryOn], Field(max_length=2)] = Field(default=list(RetryPolicy().retry_on))


class ToolPolicyIn(Body):
    allow: Annotated[list[Glob] | None, Field(max_length=200)] = None
    deny: Annotated[list[Glob], Field(max_length=200)] = Field(default=[])
    read_only: bool = False


def _bounded(value: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(value)) > _METADATA_CHARS:
        raise ValueError(f"metadata has at most {_METADATA_CHARS:,} characters as JSON")
    return value


Metadata = Annotated[dict[str, Any], AfterValidator(_bounded)]
Targets = Annotated[list[TargetIn], Field(min_length=1, max_length=MAX_TARGETS)]
ModelIds = Annotated[list[ModelId], Field(min_length=1, max_length=MAX_TARGETS)]
Criteria = Annotated[list[CriterionIn], Field(max_length=MAX_CRITERIA)]


class _Fields(Body):
    description: Annotated[str, Field(max_length=2_000)] = ""
    default_mcp_auth_profile_id: Annotated[str | None, Field(max_length=63)] = None
    tester_model_id: ModelId | None = None
    tester_model_ids: ModelIds | None = None
    tester_targets: Targets | None = None
    criteria: Criteria = Field(default=[])
    schedule: Annotated[ScheduleIn | None, Field(description="null: only by hand.")] = None
    limits: LimitsIn = LimitsIn()
    retry_policy: RetryPolicyIn = RetryPolicyIn()
    tool_policy: ToolPolicyIn = ToolPolicyIn()
    metadata: Metadata = Field(default={})


class CreateWorkflow(_Fields):
    name: Name
    mcp_server_id: SourceId
    tester_prompt: Prompt


class ChangeWorkflow(_Fields):
    """Any of the fields; one that is absent stays as it is."""

    name: Name = Field(default_factory=str)
    mcp_server_id: SourceId = Field(default_factory=str)
    tester_prompt: Prompt = Field(default_factory=str)


def draft_from(body: CreateWorkflow) -> Draft:
    return changed(
        body, Draft(name=body.name, source_id=body.mcp_server_id, tester_prompt=body.tester_prompt)
    )


def changed(body: CreateWorkflow | ChangeWorkflow, before: Draft) -> Draft:
    """`before` with what the body gives in place of what was there."""
    refuse_unstorable(body)
    given = body.model_fields_set
    has_targets = {"tester_model_id", "tester_model_ids", "tester_targets"} & given
    limits, retry, tools = body.limits, body.retry_policy, body.tool_policy
    return Draft(
        name=body.name if "name" in given else before.name,
        source_id=body.mcp_server_id if "mcp_server_id" in given else before.source_id,
        tester_prompt=body.tester_prompt if "tester_prompt" in given else before.tester_prompt,
        description=body.description if "description" in given else before.description,
        auth_profile_id=body.default_mcp_auth_profile_id
        if "default_mcp_auth_profile_id" in given
        else before.auth_profile_id,
        targets=_targets(body) if has_targets else before.targets,
        criteria=_criteria(body.criteria, before.criteria) if "criteria" in given else before.criteria,
        schedule=_schedule(body.schedule) if "schedule" in given else before.schedule,
        limits=Limits(**limits.model_dump()) if "limits" in given else before.limits,
        retry_policy=RetryPolicy(
            max_attempts=retry.max_attempts,
            backoff_seconds=retry.backoff_seconds,
            retry_on=tuple(dict.fromkeys(retry.retry_on)),
        )
        if "retry_policy" in given
        else before.retry_policy,
        tool_policy=ToolPolicy(
            allow=None if tools.allow is None else tuple(tools.allow),
            deny=tuple(tools.deny),
            read_only=tools.read_only,
        )
        if "tool_policy" in given
        else before.tool_policy,
        metadata=body.metadata if "metadata" in given else before.metadata,
    )


def refuse_unstorable(body: Body) -> None:
    """Letters that no database keeps, wherever they stand."""
    given = body.model_dump(by_alias=True, exclude_unset=True)
    if paths := list(_unstorable(given, "$")):
        message = "this holds a NUL or half of a surrogate pair, which cannot be stored"
        raise ValidationFailed([Detail(path=path, message=message) for path in paths])


def _unstorable(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
            yield path
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _unstorable(name, path)
            yield from _unstorable(inner, f"{path}.{name}")
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from _unstorable(inner, f"{path}[{i}]")


def _targets(body: _Fields) -> tuple[Target, ...]:
    """The three ways to name models, as one list with the default first; what contradicts is refused."""
    first, ids, targets = body.tester_model_id, body.tester_model_ids, body.tester_targets
    made = (
        [target.value() for target in targets]
        if targets is not None
        else [Target(model_id=i) for i in ids or []]
    )
    named = {target.model_id for target in made}
    problems = []
    if targets is not None and ids is not None and set(ids) != named:
        problems.append(Detail(path="$.testerModelIds", message="these are not the models of testerTargets"))
    if ids is not None and len(set(ids)) != len(ids):
        problems.append(Detail(path="$.testerModelIds", message="a model is named twice"))
    if first is not None and made and first not in named:
        told = f"{first!r} is not among the other models that are given"
        problems.append(Detail(path="$.testerModelId", message=told))
    if problems:
        raise ValidationFailed(problems)
    if first is not None and not made:
        return (Target(model_id=first),)
    return tuple(sorted(made, key=lambda target: target.model_id != first)) if first else tuple(made)


def _criteria(given: Sequence[CriterionIn], before: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """Criteria keep their ids where they are the same, so that runs can be compared across versions."""
    by_id = {criterion.id: criterion for criterion in before}
    by_text = {criterion.criterion_text: criterion for criterion in before}
    made: list[Criterion] = []
    problems = []
    for i, one in enumerate(given):
        known = by_id.get(one.id) if one.id is not None else by_text.get(one.criterion_text)
        if one.id is not None and known is None:
            problems.append(Detail(path=f"$.criteria[{i}].id", message="the workflow has no such criterion"))
        taken = {criterion.id for criterion in made}
        made.append(
            Criterion(
                id=known.id if known is not None and known.id not in taken else new_id(),
                criterion_text=one.criterion_text,
                is_required=one.is_required,
                assertion=one.assertion.stored() if one.assertion else None,
            )
        )
    if problems:
        raise ValidationFailed(problems)
    return tuple(made)


def _schedule(body: ScheduleIn | None) -> WorkflowSchedule | None:
    return WorkflowSchedule(**body.model_dump()) if body else None


def _check_pattern(pattern: str | None) -> None:
    if pattern is None:
        return
    from ammeter.engines.compiler.iregexp import BadPattern, Pattern

    try:
        Pattern(pattern, search=True)
    except BadPattern as error:
        raise ValueError(f"pattern cannot be used: {error}") from None


def _check_path(path: str | None) -> None:
    if path is None:
        return
    # Imported here: its parser is for those who use it.
    import jsonpath

    try:
        compiled = jsonpath.JSONPathEnvironment(strict=True).compile(path)
    except (jsonpath.JSONPathError, RecursionError) as error:
        raise ValueError(f"path is not a JSONPath: {str(error)[:200]}") from None
    if "?" in path or not isinstance(compiled, jsonpath.JSONPath):
        raise ValueError("path may have names, indexes, wildcards and descents, and no filter")
