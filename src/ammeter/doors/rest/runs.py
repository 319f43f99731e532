"""`/runs`: search and read runs, their traces and evaluations; cancel one, have one judged again."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import StringConstraints

from ammeter.base.pages import PageRequest
from ammeter.doors.http.call import Caller
from ammeter.doors.http.records import Instant, PageRecord, Paging, page_record
from ammeter.doors.http.strict import CurrentCall, Record, StrictRoute
from ammeter.doors.rest.errors import errors
from ammeter.doors.rest.source_records import JobRecord
from ammeter.engines.db.database import Tx
from ammeter.engines.models.port import provider_of
from ammeter.features.evals import history, service
from ammeter.features.evals.compare import Comparison
from ammeter.features.evals.model import (
    Classification,
    Evaluation,
    Mark,
    Outcome,
    Phase,
    Range,
    Run,
    RunQuery,
    Sort,
    Status,
    Trigger,
)
from ammeter.features.evals.spans import CallRow, Span
from ammeter.wiring import House

router = APIRouter(tags=["runs"], route_class=StrictRoute)


class ModelRecord(Record):
    id: str
    provider: str


class CostRecord(Record):
    usd: float | None
    input_tokens: int
    output_tokens: int
    judge_usd: float | None


class EvaluatorOutput(Record):
    verdict: str
    summary: str
    criteria_passed: int
    criteria_failed: int
    criteria_not_applicable: int


class RunRecord(Record):
    id: str
    workflow_id: str
    workflow_name: str
    workflow_version_id: str
    mcp_server_id: str
    status: Status
    phase: Phase
    outcome: Outcome | None
    score: float | None
    classification: Classification
    trigger: Trigger
    tags: list[str]
    reason: str
    model: ModelRecord
    skill_mode: str
    skill_version_id: str | None
    attempt: int
    baseline_run_id: str | None
    suite_run_id: str | None
    queued_at: Instant
    started_at: Instant | None
    ended_at: Instant | None
    duration_ms: int | None
    turns: int
    tool_calls: int
    cost: CostRecord
    evaluator_output: EvaluatorOutput | None
    error: str | None


class RunToolCallRecord(Record):
    id: str
    span_id: str
    tool_name: str
    arguments: dict[str, Any]
    result_body: str | None
    is_error: bool
    duration_ms: int | None
    started_at: Instant


class SpanRecord(Record):
    id: str
    parent_id: str | None
    kind: str
    name: str
    started_at: Instant
    duration_ms: int | None
    status: str
    attributes: dict[str, Any]
    input: Any = None
    output: Any = None


class TraceRecord(Record):
    run_id: str
    spans: list[SpanRecord]
    tool_calls: list[RunToolCallRecord]


class ToolCallList(Record):
    rows: list[RunToolCallRecord]


class EvidenceRecord(Record):
    span_id: str
    excerpt: str


class MarkRecord(Record):
    criterion_id: str
    criterion_text: str
    is_required: bool
    mark: str | None
    reasoning: str
    evidence: list[EvidenceRecord]
    judged_by: str | None
    problem: str | None
    votes: list[str]


class VerdictRecord(Record):
    text: str
    model: str | None
    prompt_digest: str | None


class ChangedMarkRecord(Record):
    criterion_id: str
    criterion_text: str
    before: str | None
    after: str | None


class BaselineRecord(Record):
    run_id: str
    score_delta: float | None
    changed_marks: list[ChangedMarkRecord]


class EvaluationRecord(Record):
    run_id: str
    outcome: Outcome
    score: float | None
    verdict: VerdictRecord
    criteria: list[MarkRecord]
    warnings: list[str]
    judged_at: Instant
    baseline: BaselineRecord | None


class RejudgeRecord(Record):
    job: JobRecord


RangeQuery = Annotated[Range, Query(alias="range", description="How far back.")]
StatusQuery = Annotated[Status | None, Query()]
ClassificationQuery = Annotated[Classification | None, Query()]
SortQuery = Annotated[Sort, Query()]
WorkflowQuery = Annotated[str | None, Query(alias="workflowId", max_length=63)]
SearchQuery = Annotated[
    str,
    StringConstraints(max_length=200),
    Query(
        description="Words that must all occur in the workflow's name, model, reason, trigger, tags or ids."
    ),
]


@router.get("/runs", operation_id="listRuns", summary="Search runs", responses=errors())
async def list_runs(
    call: CurrentCall,
    page: Paging,
    within: RangeQuery = "24h",
    workflow_id: WorkflowQuery = None,
    status: StatusQuery = None,
    classification: ClassificationQuery = None,
    search: SearchQuery = "",
    sort: SortQuery = "-startedAt",
) -> PageRecord[RunRecord]:
    asked = replace(
        history.since(within),
        workflow_id=workflow_id,
        status=status,
        classification=classification,
        search=search,
        sort=sort,
    )
    return await call.read(_list, asked, page)


@router.get("/runs/{id}", operation_id="getRun", summary="Read a run", responses=errors("id"))
async def get_run(call: CurrentCall, id: str) -> RunRecord:  # noqa: A002
    return await call.read_few(_get, id)


@router.get(
    "/runs/{id}/trace", operation_id="getRunTrace", summary="Read a run's trace", responses=errors("id")
)
async def get_trace(call: CurrentCall, id: str) -> TraceRecord:  # noqa: A002
    return await call.read(_trace, id)


@router.get(
    "/runs/{id}/evaluation",
    operation_id="getRunEvaluation",
    summary="Read what became of each criterion, with evidence",
    responses=errors("id"),
)
async def get_evaluation(call: CurrentCall, id: str) -> EvaluationRecord:  # noqa: A002
    return await call.read(_evaluation, id)


@router.get(
    "/runs/{id}/tool-calls",
    operation_id="listRunToolCalls",
    summary="List a run's tool calls",
    responses=errors("id"),
)
async def list_tool_calls(call: CurrentCall, id: str) -> ToolCallList:  # noqa: A002
    return await call.read(_tool_calls, id)


@router.post(
    "/runs/{id}/cancel", operation_id="cancelRun", summary="Cancel a run", responses=errors("role", "id")
)
async def cancel_run(call: CurrentCall, id: str) -> RunRecord:  # noqa: A002
    return await call.write(_cancel, call.house, id)


@router.post(
    "/runs/{id}/rejudge",
    operation_id="rejudgeRun",
    summary="Have the stored trace of a run judged again",
    status_code=202,
    responses=errors("role", "id", "conflict"),
)
async def rejudge_run(call: CurrentCall, id: str) -> RejudgeRecord:  # noqa: A002
    return await call.write(_rejudge, call.house, id)


def _cancel(tx: Tx, caller: Caller, house: House, run_id: str) -> RunRecord:
    org_id = caller.principal.org.id
    return _record(service.cancel_run(tx, caller.actor, org_id, run_id, jobs=house.jobs))


def _rejudge(tx: Tx, caller: Caller, house: House, run_id: str) -> RejudgeRecord:
    job = service.rejudge_run(tx, caller.actor, caller.principal.org.id, run_id, jobs=house.jobs)
    return RejudgeRecord(job=JobRecord(id=job.id, status=job.status.value))


def _list(tx: Tx, caller: Caller, asked: RunQuery, page: PageRequest) -> PageRecord[RunRecord]:
    found = history.search_runs(tx, caller.actor, caller.principal.org.id, asked, page)
    return page_record(found, _record)


def _get(tx: Tx, caller: Caller, run_id: str) -> RunRecord:
    return _record(history.get_run(tx, caller.actor, caller.principal.org.id, run_id))


def _trace(tx: Tx, caller: Caller, run_id: str) -> TraceRecord:
    trace = history.get_trace(tx, caller.actor, caller.principal.org.id, run_id)
    return TraceRecord(
        run_id=trace.run.id,
        spans=[_span(span) for span in trace.spans],
        tool_calls=[_call(row) for row in trace.calls],
    )


def _tool_calls(tx: Tx, caller: Caller, run_id: str) -> ToolCallList:
    trace = history.get_trace(tx, caller.actor, caller.principal.org.id, run_id)
    return ToolCallList(rows=[_call(row) for row in trace.calls])


def _evaluation(tx: Tx, caller: Caller, run_id: str) -> EvaluationRecord:
    found, baseline = history.get_evaluation(tx, caller.actor, caller.principal.org.id, run_id)
    return evaluation_record(found, baseline)


def evaluation_record(found: Evaluation, baseline: Comparison | None) -> EvaluationRecord:
    return EvaluationRecord(
        run_id=found.run_id,
        outcome=found.outcome,
        score=found.score,
        verdict=VerdictRecord(text=found.text, model=found.model, prompt_digest=found.prompt_digest),
        criteria=[_mark(mark) for mark in found.marks],
        warnings=list(found.warnings),
        judged_at=found.judged_at,
        baseline=None if baseline is None else BaselineRecord.model_validate(baseline, from_attributes=True),
    )


def _mark(mark: Mark) -> MarkRecord:
    return MarkRecord(
        criterion_id=mark.criterion_id,
        criterion_text=mark.criterion_text,
        is_required=mark.is_required,
        mark=mark.mark,
        reasoning=mark.reasoning,
        evidence=[EvidenceRecord(span_id=each.span_id, excerpt=each.excerpt) for each in mark.evidence],
        judged_by=mark.judged_by,
        problem=mark.problem,
        votes=list(mark.votes),
    )


def _span(span: Span) -> SpanRecord:
    return SpanRecord.model_validate(span, from_attributes=True)


def _call(row: CallRow) -> RunToolCallRecord:
    return RunToolCallRecord.model_validate(row, from_attributes=True)


def _record(run: Run) -> RunRecord:
    return RunRecord(
        id=run.id,
        workflow_id=run.workflow_id,
        workflow_name=run.workflow_name,
        workflow_version_id=run.version_id,
        mcp_server_id=run.source_id,
        status=run.status,
        phase=run.phase,
        outcome=run.outcome,
        score=run.score,
        classification=run.classification,
        trigger=run.trigger,
        tags=list(run.tags),
        reason=run.reason,
        model=ModelRecord(id=run.model_id, provider=provider_of(run.model_id)),
        skill_mode=run.skill_mode,
        skill_version_id=run.skill_version_id,
        attempt=run.attempt,
        baseline_run_id=run.baseline_run_id,
        suite_run_id=run.suite_run_id,
        queued_at=run.queued_at,
        started_at=run.started_at,
        ended_at=run.ended_at,
        duration_ms=run.duration_ms,
        turns=run.turns,
        tool_calls=run.tool_calls,
        cost=CostRecord(
            usd=run.cost_usd,
            input_tokens=run.input_tokens,
            output_tokens=run.output_tokens,
            judge_usd=run.judge_usd,
        ),
        evaluator_output=None if run.verdict is None else EvaluatorOutput(**run.verdict),
        error=run.error,
    )
