"""Workflows, their versions, statistics and dispatches, as `/workflows` answers them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from ammeter.doors.http.records import Instant
from ammeter.doors.http.strict import Record
from ammeter.features.evals.dispatch import Dispatched
from ammeter.features.evals.model import Run, Statistics
from ammeter.features.sources.model import Source
from ammeter.features.workflows.model import SkillMode, Version, Workflow


class TargetRecord(Record):
    model_id: str
    skill_mode: SkillMode
    skill_version_id: str | None


class CriterionRecord(Record):
    id: str
    criterion_text: str
    is_required: bool
    assertion: dict[str, Any] | None


class LimitsRecord(Record):
    max_turns: int
    max_tool_calls: int
    max_duration_seconds: int
    max_cost_usd: float
    max_output_tokens: int


class RetryPolicyRecord(Record):
    max_attempts: int
    backoff_seconds: float
    retry_on: list[str]


class ToolPolicyRecord(Record):
    allow: list[str] | None
    deny: list[str]
    read_only: bool


class VersionRecord(Record):
    id: str
    number: int
    created_at: Instant
    created_by: str
    tester_prompt: str
    criteria: list[CriterionRecord]
    tester_targets: list[TargetRecord]
    default_mcp_auth_profile_id: str | None
    limits: LimitsRecord
    retry_policy: RetryPolicyRecord
    tool_policy: ToolPolicyRecord
    metadata: dict[str, Any]


class ScheduleRecord(Record):
    cron: str | None
    timezone: str
    every_minutes: int | None
    enabled: bool


class LastRunRecord(Record):
    id: str
    status: str
    outcome: str | None
    score: float | None
    started_at: Instant | None
    ended_at: Instant | None


class WorkflowRecord(Record):
    id: str
    name: str
    description: str
    status: Literal["active", "archived"]
    mcp_server_id: str
    categories: list[str]
    current_version: VersionRecord
    schedule: ScheduleRecord | None
    created_at: Instant
    updated_at: Instant
    last_run: LastRunRecord | None


class WorkflowList(Record):
    rows: list[WorkflowRecord]


class NamedRecord(Record):
    id: str
    name: str


class VersionIdRecord(Record):
    id: str


class InitialDispatchRecord(Record):
    queued: int
    failed: int


class CreatedWorkflow(Record):
    workflow: NamedRecord
    current_version: VersionIdRecord
    initial_dispatch: InitialDispatchRecord


class OkRecord(Record):
    ok: bool


class StatisticsRecord(Record):
    model_id: str
    runs: int
    passed: int
    pass_rate: float
    interval: Annotated[list[float], Field(description="Of the pass rate: 95 %, after Wilson.")]
    pass_hat: Annotated[
        dict[str, float], Field(description="By k: the chance that k runs in a row all pass.")
    ]


class StatisticsList(Record):
    rows: list[StatisticsRecord]


class DispatchedRun(Record):
    id: str
    model_id: str
    status: str
    deduplicated: bool


class DispatchRecord(Record):
    run_ids: list[str]
    runs: list[DispatchedRun]


def workflow_record(workflow: Workflow, source: Source, last: Run | None) -> WorkflowRecord:
    return WorkflowRecord(
        id=workflow.id,
        name=workflow.name,
        description=workflow.description,
        status=workflow.status,
        mcp_server_id=workflow.source_id,
        categories=list(source.categories),
        current_version=_version(workflow.version),
        schedule=None
        if workflow.schedule is None
        else ScheduleRecord.model_validate(workflow.schedule, from_attributes=True),
        created_at=workflow.created_at,
        updated_at=workflow.updated_at,
        last_run=LastRunRecord.model_validate(last, from_attributes=True) if last else None,
    )


def _version(version: Version) -> VersionRecord:
    tools = version.tool_policy
    return VersionRecord(
        id=version.id,
        number=version.number,
        created_at=version.created_at,
        created_by=version.created_by,
        tester_prompt=version.tester_prompt,
        criteria=[
            CriterionRecord(
                id=each.id,
                criterion_text=each.criterion_text,
                is_required=each.is_required,
                assertion=dict(each.assertion) if each.assertion else None,
            )
            for each in version.criteria
        ],
        tester_targets=[TargetRecord.model_validate(each, from_attributes=True) for each in version.targets],
        default_mcp_auth_profile_id=version.auth_profile_id,
        limits=LimitsRecord.model_validate(version.limits, from_attributes=True),
        retry_policy=RetryPolicyRecord(
            max_attempts=version.retry_policy.max_attempts,
            backoff_seconds=version.retry_policy.backoff_seconds,
            retry_on=list(version.retry_policy.retry_on),
        ),
        tool_policy=ToolPolicyRecord(
            allow=None if tools.allow is None else list(tools.allow),
            deny=list(tools.deny),
            read_only=tools.read_only,
        ),
        metadata=dict(version.metadata),
    )


def dispatched_record(one: Dispatched) -> DispatchedRun:
    run = one.run
    return DispatchedRun(id=run.id, model_id=run.model_id, status=run.status, deduplicated=one.deduplicated)


def statistics_record(one: Statistics) -> StatisticsRecord:
    return StatisticsRecord(
        model_id=one.model_id,
        runs=one.runs,
        passed=one.passed,
        pass_rate=one.pass_rate,
        interval=list(one.interval),
        pass_hat={str(k): chance for k, chance in one.pass_at_k.items()},
    )
