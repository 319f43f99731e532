"""From marks to an end: what became of each criterion and how the tester stopped go in, the run's status,
outcome, score and classification come out; pure. Undecided is an answer of its own, never a pass or a fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ammeter.features.evals.model import Classification, Mark, Verdict

Stopped = Literal["done", "limit"]

REQUIRED_WEIGHT = 2
OPTIONAL_WEIGHT = 1


def errored(classification: Classification) -> Verdict:
    """A run that could not be carried out."""
    return Verdict(status="fail", outcome="Errored", score=None, classification=classification)


def decide(
    marks: Sequence[Mark], *, stopped: Stopped = "done", useful_work: bool = True, denied_calls: int = 0
) -> Verdict:
    if stopped == "limit" and not useful_work:
        return errored("limit_reached")
    score = score_of(marks)
    if any(mark.mark == "fail" and mark.is_required for mark in marks):
        # A call that the policy denied is the likelier cause, and the one that can be acted on.
        cause: Classification = "tool_policy" if denied_calls else "criteria_failed"
        return Verdict(status="fail", outcome="Failed", score=score, classification=cause)
    if stopped == "limit":
        return Verdict(status="partial", outcome="Incomplete", score=score, classification="limit_reached")
    undecided = [mark for mark in marks if mark.mark is None]
    if undecided:
        broke = any(mark.judged_by == "model" for mark in undecided)
        cause = "judge_error" if broke else "none"
        return Verdict(status="partial", outcome="Incomplete", score=score, classification=cause)
    if any(mark.mark == "fail" for mark in marks):
        cause = "tool_policy" if denied_calls else "criteria_failed"
        return Verdict(status="partial", outcome="PartlyPassed", score=score, classification=cause)
    return Verdict(status="pass", outcome="Passed", score=score, classification="none")


def score_of(marks: Sequence[Mark]) -> float | None:
    """Passed ÷ applied, required criteria weighing twice; None where nothing applied."""
    applied = sum(_weight(mark) for mark in marks if mark.mark in ("pass", "fail"))
    passed = sum(_weight(mark) for mark in marks if mark.mark == "pass")
    return passed / applied if applied else None


def summary(marks: Sequence[Mark]) -> str:
    """One sentence or two for a person."""
    counts = {word: sum(mark.mark == word for mark in marks) for word in ("pass", "fail", "not_applicable")}
    undecided = [mark for mark in marks if mark.mark is None]
    parts = [f"{counts['pass']} of {len(marks)} {'criterion' if len(marks) == 1 else 'criteria'} passed"]
    if counts["fail"]:
        parts.append(f"{counts['fail']} failed")
    if counts["not_applicable"]:
        parts.append(f"{counts['not_applicable']} did not apply")
    if undecided:
        parts.append(f"{len(undecided)} could not be decided")
    told = ", ".join(parts) + "."
    failed = [mark.criterion_text for mark in marks if mark.mark == "fail"]
    return f"{told} Failed: {'; '.join(failed)}" if failed else told


def _weight(mark: Mark) -> int:
    return REQUIRED_WEIGHT if mark.is_required else OPTIONAL_WEIGHT
