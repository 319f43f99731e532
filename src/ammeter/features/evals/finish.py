"""The end of a run: its story and marks in, its evaluation and last state out, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ammeter.base.clock import now
from ammeter.engines.db.database import Tx
from ammeter.features.evals import marks as marking
from ammeter.features.evals import store
from ammeter.features.evals.model import Classification, Evaluation, Mark, Run, Verdict
from ammeter.features.evals.story import Story


def verdict_of(story: Story, marks: Sequence[Mark]) -> Verdict:
    if story.fault is not None:
        return marking.errored(story.fault.classification)
    return marking.decide(
        marks,
        stopped="limit" if story.limit is not None else "done",
        useful_work=story.has_useful_work,
        denied_calls=story.denied,
    )


def finish(
    tx: Tx,
    run: Run,
    verdict: Verdict,
    *,
    marks: Sequence[Mark] = (),
    judge: tuple[str, str] | None = None,
    warnings: Sequence[str] = (),
    error: str | None = None,
    counts: dict[str, Any] | None = None,
) -> None:
    """Write how a run ended; `judge` is the model that judged and the digest of what it was asked."""
    at = now()
    text = " ".join(filter(None, (marking.summary(marks) if marks else "", error)))
    evaluation = Evaluation(
        run_id=run.id,
        number=1,
        judged_at=at,
        outcome=verdict.outcome,
        score=verdict.score,
        text=text,
        model=judge[0] if judge else None,
        prompt_digest=judge[1] if judge else None,
        marks=tuple(marks),
        warnings=tuple(warnings),
    )
    store.insert_evaluation(tx, evaluation)
    began = run.started_at or at
    ended = {
        "phase": "finished",
        "started_at": began,
        "at": run.started_at or run.at,
        "ended_at": at,
        "duration_ms": _millis(began, at),
        "error": error,
    }
    store.update_run(tx, run.id, {**(counts or {}), **ended, **judged_columns(verdict, marks, text)})


def judged_columns(verdict: Verdict, marks: Sequence[Mark], text: str) -> dict[str, Any]:
    """What a judgement, first or later, puts into the run's own row."""
    return {
        "status": verdict.status,
        "outcome": verdict.outcome,
        "score": verdict.score,
        "classification": verdict.classification,
        "verdict": {
            "verdict": verdict.outcome,
            "summary": text,
            "criteria_passed": sum(mark.mark == "pass" for mark in marks),
            "criteria_failed": sum(mark.mark == "fail" for mark in marks),
            "criteria_not_applicable": sum(mark.mark == "not_applicable" for mark in marks),
        },
    }


def give_up(tx: Tx, run: Run, classification: Classification, error: str) -> None:
    """End a run that nobody will carry on."""
    finish(tx, run, marking.errored(classification), error=error)


def _millis(began: datetime, ended: datetime) -> int:
    return max(0, round((ended - began).total_seconds() * 1000))
