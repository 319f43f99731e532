"""Two evaluations of a workflow: what changed since the baseline; pure. Criteria match by id, else text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ammeter.features.evals.model import Evaluation, Mark, MarkWord


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedMark:
    criterion_id: str
    criterion_text: str
    before: MarkWord | None
    after: MarkWord | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    run_id: str
    score_delta: float | None
    changed_marks: Sequence[ChangedMark]


def compare(after: Evaluation, before: Evaluation) -> Comparison:
    by_id = {mark.criterion_id: mark for mark in before.marks}
    by_text = {mark.criterion_text: mark for mark in before.marks}
    pairs = [(by_id.get(m.criterion_id) or by_text.get(m.criterion_text), m) for m in after.marks]
    known = [(old, new) for old, new in pairs if old is not None]
    delta = None if after.score is None or before.score is None else after.score - before.score
    return Comparison(
        run_id=before.run_id,
        score_delta=delta,
        changed_marks=[_changed(old, new) for old, new in known if old.mark != new.mark],
    )


def _changed(old: Mark, new: Mark) -> ChangedMark:
    return ChangedMark(
        criterion_id=new.criterion_id, criterion_text=new.criterion_text, before=old.mark, after=new.mark
    )
