"""Runs and what came of them. Values only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

Status = Literal["running", "pass", "fail", "partial"]
Phase = Literal["queued", "connecting", "testing", "judging", "finished"]
Outcome = Literal["Passed", "PartlyPassed", "Incomplete", "Failed", "Errored"]
Classification = Literal[
    "none",
    "criteria_failed",
    "source_unreachable",
    "source_error",
    "auth_error",
    "tool_policy",
    "model_error",
    "limit_reached",
    "judge_error",
    "cancelled",
    "internal",
]
Trigger = Literal["ci", "dashboard", "schedule", "suite", "initial", "mcp"]
MarkWord = Literal["pass", "fail", "not_applicable"]
JudgedBy = Literal["assertion", "model"]
Sort = Literal[
    "-startedAt", "startedAt", "-score", "score", "-durationMs", "durationMs", "-costUsd", "costUsd"
]
Range = Literal["24h", "7d", "30d"]

RUNNING: Status = "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A place of the trace, and what stands there word for word."""

    span_id: str
    excerpt: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """What became of one criterion. `mark` is None where nobody could decide; `problem` then says why."""

    criterion_id: str
    criterion_text: str
    is_required: bool
    mark: MarkWord | None
    reasoning: str
    evidence: tuple[Evidence, ...] = ()
    judged_by: JudgedBy | None = None
    problem: str | None = None
    votes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A run's end, in the words of the interface."""

    status: Status
    outcome: Outcome
    score: float | None
    classification: Classification


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    id: str
    org_id: str
    workflow_id: str
    workflow_name: str
    version_id: str
    source_id: str
    job_id: str | None
    same_key: str
    """Equal for runs of one workflow that a dispatch takes for the same: version, target, baseline."""
    status: Status
    phase: Phase
    outcome: Outcome | None = None
    score: float | None = None
    classification: Classification = "none"
    trigger: Trigger
    tags: Sequence[str] = ()
    reason: str = ""
    model_id: str
    skill_mode: str = "none"
    skill_version_id: str | None = None
    attempt: int = 1
    baseline_run_id: str | None = None
    suite_run_id: str | None = None
    at: datetime
    """When it started, or while it waits, when it was queued: the time that lists go by."""
    queued_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    duration_ms: int | None = None
    turns: int = 0
    tool_calls: int = 0
    cost_usd: float | None = None
    """None: not known, as where a model has no price."""
    input_tokens: int = 0
    output_tokens: int = 0
    judge_usd: float | None = None
    verdict: Mapping[str, Any] | None = None
    error: str | None = None
    cancel_requested: bool = False
    search_text: str = ""
    bundle_id: str | None = None
    """The stored bundle that it is played against; None: what the source serves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The newest judgement of a run, as it is stored and shown."""

    run_id: str
    number: int
    judged_at: datetime
    outcome: Outcome
    score: float | None
    text: str
    model: str | None
    prompt_digest: str | None
    marks: tuple[Mark, ...]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """What a search for runs asks for."""

    since: datetime
    workflow_id: str | None = None
    status: Status | None = None
    classification: Classification | None = None
    search: str = ""
    tags: Sequence[str] = ()
    """Runs that have each of these."""
    sort: Sort = "-startedAt"
    source_ids: Sequence[str] | None = None
    """Only of these sources; None: of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """How reliably a workflow passes: over its ended runs, per target."""

    model_id: str
    runs: int
    passed: int
    pass_rate: float
    interval: tuple[float, float]
    pass_at_k: Mapping[int, float] = field(default_factory=dict)
    """pass^k: the chance that k runs in a row all pass."""
