"""What a suite run's runs tell: each case's verdict, the whole's status, whether it is ready to ship, and why
not; pure. What could not be carried out is undecided, never failed: a gate that stops a release names a case
that did not pass."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence

from ammeter.features.evals.history import pass_hat
from ammeter.features.evals.model import Run
from ammeter.features.suites.model import (
    CaseResult,
    CaseVerdict,
    Gate,
    PlannedCase,
    Progress,
    SuiteResult,
    SuiteRun,
    SuiteRunStatus,
)

_K = (1, 2, 3, 5, 10, 20)
_UNTOLD = frozenset({"limit_reached", "tool_policy", "criteria_failed"})
"""Of runs without a judgement, those whose end says something about what was tested."""


def result_of(suite_run: SuiteRun, runs: Sequence[Run]) -> SuiteResult:
    by_case: dict[object, list[Run]] = defaultdict(list)
    for run in runs:
        by_case[key_of(run)].append(run)
    cases = tuple(_case(case, by_case[case.key], suite_run) for case in suite_run.cases)
    is_over = all(case.verdict != "running" for case in cases)
    scores = [case.score for case in cases if case.score is not None]
    score = sum(scores) / len(scores) if scores else None
    cost_usd = sum(cost_of(run) or 0.0 for run in runs)
    cost_is_known = all(cost_of(run) is not None for run in runs)
    failed = [*_failing(suite_run.gate, cases, score), *_over_cost(suite_run.gate, cost_usd)]
    unknown = [*_undecided(cases), *_unpriced(suite_run.gate, cost_is_known)]
    status = _status(suite_run, cases, is_over, failed=bool(failed), unknown=bool(unknown))
    reasons = [*failed, *unknown]
    if not is_over:
        reasons.insert(0, _told_waiting(cases))
    if status == "cancelled":
        reasons.insert(0, "The suite run was cancelled.")
    ends = [run.ended_at for run in runs if run.ended_at is not None]
    return SuiteResult(
        suite_run=suite_run,
        status=status,
        cases=cases,
        progress=_progress(cases, runs, suite_run),
        score=score,
        cost_usd=cost_usd,
        cost_is_known=cost_is_known,
        ready_to_ship=status == "pass",
        reasons=tuple(reasons),
        started_at=min((run.started_at for run in runs if run.started_at is not None), default=None),
        ended_at=max(ends, default=suite_run.created_at) if is_over else None,
    )


def key_of(run: Run) -> tuple[str, str, str, str | None]:
    """As `PlannedCase.key`; a run of the latest skill notes which one that was."""
    pinned = run.skill_version_id if run.skill_mode == "pinned" else None
    return run.workflow_id, run.model_id, run.skill_mode, pinned


def cost_of(run: Run) -> float | None:
    """What a run cost so far, its judging too; None where a model has no price."""
    if run.cost_usd is not None:
        return run.cost_usd + (run.judge_usd or 0.0)
    return 0.0 if run.turns == 0 and run.input_tokens == 0 else None


def over_limit(gate: Gate, runs: Sequence[Run]) -> str | None:
    """Why no further run of a suite begins."""
    spent = sum(cost_of(run) or 0.0 for run in runs)
    if gate.max_cost_usd is None or spent < gate.max_cost_usd:
        return None
    return f"The suite run cost {spent:.4f} US dollars so far; its maxCostUsd is {gate.max_cost_usd:g}."


def holds(gate: Gate, run: Run) -> bool:
    """Whether one ended run satisfies the gate."""
    if run.outcome in (None, "Errored"):
        return False
    if gate.strict and not _is_strict(run):
        return False
    if gate.min_score is not None:
        # Where nothing applied there is no score; a mark that does not apply lowers none.
        return run.outcome == "Passed" if run.score is None else run.score >= gate.min_score
    return run.outcome == "Passed"


def is_judged(run: Run) -> bool:
    """Whether a run's end says something about what was tested, rather than about what it was tested with."""
    if run.outcome == "Errored":
        return run.classification in _UNTOLD
    return run.outcome != "Incomplete" or run.classification == "limit_reached"


def _is_strict(run: Run) -> bool:
    told = run.verdict or {}
    return (
        run.outcome == "Passed"
        and told.get("criteria_passed", 0) > 0
        and not told.get("criteria_failed", 0)
        and not told.get("criteria_not_applicable", 0)
    )


def _case(case: PlannedCase, runs: Sequence[Run], suite_run: SuiteRun) -> CaseResult:
    gate = suite_run.gate
    ended = [run for run in runs if run.status != "running"]
    held = sum(holds(gate, run) for run in ended)
    judged = sum(is_judged(run) or holds(gate, run) for run in ended)
    verdict = _verdict(suite_run, runs, held=held, judged=judged)
    scores = [run.score for run in ended if run.score is not None]
    return CaseResult(
        case=case,
        runs=tuple(runs),
        verdict=verdict,
        held=held,
        judged=judged,
        pass_rate=held / judged if judged else None,
        pass_hat={k: pass_hat(held, judged, k) for k in _K if k <= judged},
        score=sum(scores) / len(scores) if scores else None,
        why=_why(verdict, case, runs, held, suite_run),
    )


def _verdict(suite_run: SuiteRun, runs: Sequence[Run], *, held: int, judged: int) -> CaseVerdict:
    if any(run.status == "running" for run in runs):
        return "running"
    needed = _needed(suite_run)
    if held >= needed:
        return "passed"
    undecided = [run for run in runs if not is_judged(run) and not holds(suite_run.gate, run)]
    missing = suite_run.repeats - len(runs)
    if held + len(undecided) + missing < needed:
        return "failed"
    cancelled = bool(undecided) and all(run.classification == "cancelled" for run in undecided)
    return "cancelled" if cancelled and not missing else "errored"


def _needed(suite_run: SuiteRun) -> int:
    # A rate such as 0.6 times 5 is a hair over 3 in binary.
    return max(1, math.ceil(suite_run.gate.min_pass_rate * suite_run.repeats - 1e-9))


def _why(verdict: CaseVerdict, case: PlannedCase, runs: Sequence[Run], held: int, suite_run: SuiteRun) -> str:
    if verdict in ("passed", "running"):
        return ""
    named = f"{case.name!r} on {case.model_id}"
    if len(runs) < suite_run.repeats:
        return f"{named}: {suite_run.repeats - len(runs)} of its runs are no longer kept."
    told = next((text for run in runs if (text := _told(run, suite_run.gate))), "")
    if verdict == "cancelled":
        return f"{named} was cancelled: {told}"
    if verdict == "errored":
        return f"{named} could not be carried out: {told}"
    if suite_run.repeats == 1:
        return f"{named} did not pass: {told}"
    return f"{named} did not pass: {held} of {suite_run.repeats} runs hold, {_needed(suite_run)} must: {told}"


def _told(run: Run, gate: Gate) -> str:
    """Why one run does not hold; empty where it does."""
    if run.status == "running" or holds(gate, run):
        return ""
    if run.error:
        return run.error
    summary = str((run.verdict or {}).get("summary", ""))
    if gate.min_score is not None and run.score is not None and run.score < gate.min_score:
        return f"score {run.score:.2f} is below {gate.min_score:g}. {summary}".rstrip()
    return summary or f"outcome {run.outcome}"


def _failing(gate: Gate, cases: Sequence[CaseResult], score: float | None) -> Iterator[str]:
    if gate.require_all:
        yield from (case.why for case in cases if case.verdict == "failed")
    elif any(case.verdict in ("running", "errored", "cancelled") for case in cases):
        return
    elif gate.min_score is not None and (score is None or score < gate.min_score):
        told = "there is none" if score is None else f"it is {score:.2f}"
        yield f"The mean score of the cases must be {gate.min_score:g} or more; {told}."


def _undecided(cases: Sequence[CaseResult]) -> Iterator[str]:
    yield from (case.why for case in cases if case.verdict in ("errored", "cancelled"))


def _over_cost(gate: Gate, cost_usd: float) -> Iterator[str]:
    if gate.max_cost_usd is not None and cost_usd > gate.max_cost_usd:
        yield f"It cost {cost_usd:.4f} US dollars; the gate's maxCostUsd is {gate.max_cost_usd:g}."


def _unpriced(gate: Gate, cost_is_known: bool) -> Iterator[str]:
    if gate.max_cost_usd is not None and not cost_is_known:
        yield "A model has no known price, so maxCostUsd cannot be held; give its price in AMMETER_MODELS."


def _status(
    suite_run: SuiteRun, cases: Sequence[CaseResult], is_over: bool, *, failed: bool, unknown: bool
) -> SuiteRunStatus:
    if not is_over:
        return "running"
    if suite_run.cancelled_at is not None and any(case.verdict == "cancelled" for case in cases):
        return "cancelled"
    if failed:
        return "fail"
    return "undecided" if unknown else "pass"


def _progress(cases: Sequence[CaseResult], runs: Sequence[Run], suite_run: SuiteRun) -> Progress:
    return Progress(
        cases=len(cases),
        cases_ended=sum(case.verdict != "running" for case in cases),
        runs=len(suite_run.cases) * suite_run.repeats,
        runs_ended=sum(run.status != "running" for run in runs),
        runs_queued=sum(run.status == "running" and run.phase == "queued" for run in runs),
    )


def _told_waiting(cases: Sequence[CaseResult]) -> str:
    waiting = sum(case.verdict == "running" for case in cases)
    return f"{waiting} of {len(cases)} cases have not ended yet."
