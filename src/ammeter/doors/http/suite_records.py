"""Suites and suite runs as the interface writes them, for every door that shows them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ammeter.doors.http.records import Instant
from ammeter.doors.http.strict import Record
from ammeter.features.evals.model import Classification, Outcome, Run, Status, Trigger
from ammeter.features.suites.model import (
    CaseChange,
    CaseResult,
    CaseVerdict,
    Change,
    Gate,
    Suite,
    SuiteComparison,
    SuiteResult,
    SuiteRunStatus,
    SuiteStatus,
)


class GateRecord(Record):
    min_score: float | None
    require_all: bool
    strict: bool
    min_pass_rate: float
    max_cost_usd: float | None


class SuiteCaseRecord(Record):
    id: str
    name: str
    status: str
    mcp_server_id: str


class SuiteRecord(Record):
    id: str
    name: str
    description: str
    status: SuiteStatus
    gate: GateRecord
    repeats: int
    cases: list[SuiteCaseRecord]
    created_at: Instant
    created_by: str
    updated_at: Instant


class ProgressRecord(Record):
    cases: int
    cases_ended: int
    runs: int
    runs_ended: int
    runs_queued: int


class SuiteCostRecord(Record):
    usd: Annotated[float, Field(description="So far, as far as prices are known.")]
    is_complete: Annotated[bool, Field(description="False where a model has no known price.")]
    max_usd: float | None


class CaseRunRecord(Record):
    id: str
    status: Status
    outcome: Outcome | None
    score: float | None
    classification: Classification
    duration_ms: int | None
    error: str | None


class CaseResultRecord(Record):
    case_id: str
    name: str
    mcp_server_id: str
    workflow_version_id: str
    model_id: str
    outcome: CaseVerdict
    why: Annotated[str, Field(description="One sentence where it did not pass.")]
    score: float | None
    held: Annotated[int, Field(description="Runs that hold the gate.")]
    judged: Annotated[int, Field(description="Runs that ended with a judgement.")]
    pass_rate: float | None
    pass_hat: Annotated[
        dict[str, float], Field(description="By k: the chance that k runs in a row all hold.")
    ]
    runs: list[CaseRunRecord]


class SuiteMarkRecord(Record):
    criterion_id: str
    criterion_text: str
    before: str | None
    after: str | None


class CaseChangeRecord(Record):
    case_id: str
    name: str
    model_id: str
    change: Change
    before: CaseVerdict | None
    after: CaseVerdict | None
    score_delta: float | None
    pass_rate_delta: float | None
    because: str
    changed_marks: list[SuiteMarkRecord]


class ComparisonRecord(Record):
    baseline_suite_run_id: str
    undecidable: Annotated[
        list[str],
        Field(description="Why the two as wholes cannot be compared: case set, configuration or repeats."),
    ]
    regressed: int
    fixed: int
    changed: int
    new: int
    removed: int
    rows: list[CaseChangeRecord]


class SuiteRunSummary(Record):
    id: str
    suite_id: str | None
    name: str
    status: SuiteRunStatus
    ready_to_ship: bool
    reasons: Annotated[list[str], Field(description="Why it is not ready to ship; empty where it is.")]
    progress: ProgressRecord
    score: float | None
    cost: SuiteCostRecord
    gate: GateRecord
    repeats: int
    trigger: Trigger
    reason: str
    bundle_id: str | None
    baseline_suite_run_id: str | None
    created_at: Instant
    created_by: str
    started_at: Instant | None
    ended_at: Instant | None
    cancelled_at: Instant | None


class SuiteRunRecord(SuiteRunSummary):
    cases: list[CaseResultRecord]
    comparison: ComparisonRecord | None


def suite_record(suite: Suite) -> SuiteRecord:
    return SuiteRecord(
        id=suite.id,
        name=suite.name,
        description=suite.description,
        status=suite.status,
        gate=_gate(suite.gate),
        repeats=suite.repeats,
        cases=[
            SuiteCaseRecord(
                id=case.workflow_id, name=case.name, status=case.status, mcp_server_id=case.source_id
            )
            for case in suite.cases
        ],
        created_at=suite.created_at,
        created_by=suite.created_by,
        updated_at=suite.updated_at,
    )


def suite_run_summary(result: SuiteResult) -> SuiteRunSummary:
    suite_run = result.suite_run
    return SuiteRunSummary(
        id=suite_run.id,
        suite_id=suite_run.suite_id,
        name=suite_run.name,
        status=result.status,
        ready_to_ship=result.ready_to_ship,
        reasons=list(result.reasons),
        progress=ProgressRecord.model_validate(result.progress, from_attributes=True),
        score=result.score,
        cost=SuiteCostRecord(
            usd=result.cost_usd, is_complete=result.cost_is_known, max_usd=suite_run.gate.max_cost_usd
        ),
        gate=_gate(suite_run.gate),
        repeats=suite_run.repeats,
        trigger=suite_run.trigger,
        reason=suite_run.reason,
        bundle_id=suite_run.bundle_id,
        baseline_suite_run_id=suite_run.baseline_id,
        created_at=suite_run.created_at,
        created_by=suite_run.created_by,
        started_at=result.started_at,
        ended_at=result.ended_at,
        cancelled_at=suite_run.cancelled_at,
    )


def suite_run_record(result: SuiteResult) -> SuiteRunRecord:
    return SuiteRunRecord(
        **dict(suite_run_summary(result)),
        cases=[_case(case) for case in result.cases],
        comparison=_comparison(result.comparison) if result.comparison else None,
    )


def _gate(gate: Gate) -> GateRecord:
    return GateRecord.model_validate(gate, from_attributes=True)


def _case(result: CaseResult) -> CaseResultRecord:
    case = result.case
    return CaseResultRecord(
        case_id=case.workflow_id,
        name=case.name,
        mcp_server_id=case.source_id,
        workflow_version_id=case.version_id,
        model_id=case.model_id,
        outcome=result.verdict,
        why=result.why,
        score=result.score,
        held=result.held,
        judged=result.judged,
        pass_rate=result.pass_rate,
        pass_hat={str(k): chance for k, chance in result.pass_hat.items()},
        runs=[_run(run) for run in result.runs],
    )


def _run(run: Run) -> CaseRunRecord:
    return CaseRunRecord(
        id=run.id,
        status=run.status,
        outcome=run.outcome,
        score=run.score,
        classification=run.classification,
        duration_ms=run.duration_ms,
        error=run.error,
    )


def _comparison(made: SuiteComparison) -> ComparisonRecord:
    return ComparisonRecord(
        baseline_suite_run_id=made.baseline_id,
        undecidable=list(made.undecidable),
        regressed=made.count("regressed"),
        fixed=made.count("fixed"),
        changed=made.count("changed"),
        new=made.count("new"),
        removed=made.count("removed"),
        rows=[_change(row) for row in made.rows],
    )


def _change(row: CaseChange) -> CaseChangeRecord:
    return CaseChangeRecord(
        case_id=row.workflow_id,
        name=row.name,
        model_id=row.model_id,
        change=row.change,
        before=row.before,
        after=row.after,
        score_delta=row.score_delta,
        pass_rate_delta=row.pass_rate_delta,
        because=row.because,
        changed_marks=[
            SuiteMarkRecord.model_validate(mark, from_attributes=True) for mark in row.changed_marks
        ],
    )
