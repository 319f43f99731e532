"""Suites: named sets of cases with a gate, the times they were run, and what came of that. Values only.

A suite run keeps what it was asked for. Its state is never stored: it is told by its runs, so that it ends
when they do, whoever carried them out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from ammeter.features.evals.compare import ChangedMark
from ammeter.features.evals.model import Run, Trigger

SuiteStatus = Literal["active", "archived"]
SuiteRunStatus = Literal["running", "pass", "fail", "undecided", "cancelled"]
CaseVerdict = Literal["running", "passed", "failed", "errored", "cancelled"]
Change = Literal["regressed", "fixed", "changed", "unchanged", "new", "removed", "undecidable"]

MAX_CASES = 200
MAX_REPEATS = 20
MAX_RUNS = 500
LAST = "last"
"""As a baseline: the newest ended run of the same suite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What must hold before one ships. Of a run: its outcome is Passed; or, with a least score, that score;
    or, if strict, every mark is a pass."""

    min_score: float | None = None
    require_all: bool = True
    """Every case holds; else the mean score of all cases reaches the least one."""
    strict: bool = False
    min_pass_rate: float = 1.0
    """Of the repeats of a case, so many must hold."""
    max_cost_usd: float | None = None
    """Of the whole suite run; once it is reached, runs that have not begun do not begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteCase:
    """A workflow as a suite shows it."""

    workflow_id: str
    name: str
    status: str
    source_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    id: str
    org_id: str
    name: str
    description: str
    status: SuiteStatus
    gate: Gate
    repeats: int
    cases: tuple[SuiteCase, ...]
    created_at: datetime
    created_by: str
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteDraft:
    """A suite as a person wants it to be: every field, checked for its shape and nothing else."""

    name: str
    case_ids: tuple[str, ...]
    description: str = ""
    gate: Gate = field(default_factory=Gate)
    repeats: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteOrder:
    """What a start asks for: a suite, or cases, or all cases of a category. None: as the suite says."""

    suite_id: str | None = None
    case_ids: tuple[str, ...] | None = None
    category: str | None = None
    model_ids: tuple[str, ...] | None = None
    baseline_id: str | None = None
    """A suite run, or `last`."""
    repeats: int | None = None
    gate: Gate | None = None
    idempotency_key: str | None = None
    reason: str = ""
    bundle_id: str | None = None
    """A stored bundle that cases of its source are played against, before it is promoted."""
    trigger: Trigger = "ci"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCase:
    """A case as it stood at the start, on one of its targets."""

    workflow_id: str
    name: str
    version_id: str
    source_id: str
    model_id: str
    skill_mode: str
    skill_version_id: str | None

    @property
    def key(self) -> tuple[str, str, str, str | None]:
        """The same for the same case and target, in this suite run and any other."""
        pinned = self.skill_version_id if self.skill_mode == "pinned" else None
        return self.workflow_id, self.model_id, self.skill_mode, pinned


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRun:
    id: str
    org_id: str
    suite_id: str | None
    name: str
    gate: Gate
    repeats: int
    cases: tuple[PlannedCase, ...]
    baseline_id: str | None
    bundle_id: str | None
    trigger: Trigger
    reason: str
    idempotency_key: str | None
    cancelled_at: datetime | None
    created_at: datetime
    created_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    case: PlannedCase
    runs: tuple[Run, ...]
    verdict: CaseVerdict
    held: int
    """Runs that hold the gate."""
    judged: int
    """Runs that ended with a judgement."""
    pass_rate: float | None
    pass_hat: Mapping[int, float]
    """By k: the chance that k runs in a row all hold."""
    score: float | None
    """The mean of its runs."""
    why: str
    """One sentence where it is not passed; else empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    cases: int
    cases_ended: int
    runs: int
    runs_ended: int
    runs_queued: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChange:
    """One case, before and now."""

    workflow_id: str
    name: str
    model_id: str
    change: Change
    before: CaseVerdict | None
    after: CaseVerdict | None
    score_delta: float | None
    pass_rate_delta: float | None
    because: str = ""
    changed_marks: Sequence[ChangedMark] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteComparison:
    baseline_id: str
    undecidable: tuple[str, ...]
    """Why the wholes cannot be compared: case set, configuration or repeats differ. Empty: they can."""
    rows: tuple[CaseChange, ...]

    def count(self, change: Change) -> int:
        return sum(row.change == change for row in self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteResult:
    """A suite run and everything its runs tell of it at this moment."""

    suite_run: SuiteRun
    status: SuiteRunStatus
    cases: tuple[CaseResult, ...]
    progress: Progress
    score: float | None
    """The mean of its cases."""
    cost_usd: float
    """So far, as far as prices are known."""
    cost_is_known: bool
    ready_to_ship: bool
    reasons: tuple[str, ...]
    """Why it is not ready; empty where it is."""
    started_at: datetime | None
    ended_at: datetime | None
    comparison: SuiteComparison | None = None
