"""Two suite runs: what became of each case since the baseline; pure. A case whose version, skill or repeats
are others than before is undecidable: the difference may be the test's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ammeter.features.evals.compare import ChangedMark, compare
from ammeter.features.evals.model import Evaluation
from ammeter.features.suites.model import CaseChange, CaseResult, Change, SuiteComparison, SuiteResult

Evaluations = Mapping[str, Evaluation]
"""By the id of the run."""


def compare_suites(after: SuiteResult, before: SuiteResult, evaluations: Evaluations) -> SuiteComparison:
    old = {result.case.key: result for result in before.cases}
    new = {result.case.key: result for result in after.cases}
    rows = [
        _change(result, old[key], after, before, evaluations) if key in old else _alone(result, "new")
        for key, result in new.items()
    ]
    rows += [_alone(result, "removed") for key, result in old.items() if key not in new]
    return SuiteComparison(
        baseline_id=before.suite_run.id,
        undecidable=tuple(_differences(after, before)),
        rows=tuple(rows),
    )


def _differences(after: SuiteResult, before: SuiteResult) -> Iterator[str]:
    now, then = after.suite_run, before.suite_run
    old, new = {case.key: case for case in then.cases}, {case.key: case for case in now.cases}
    added, gone = len(new.keys() - old.keys()), len(old.keys() - new.keys())
    if added or gone:
        yield f"The case set differs: {added} new, {gone} removed."
    changed = [
        case.name for key, case in new.items() if key in old and old[key].version_id != case.version_id
    ]
    if changed:
        yield f"The configuration differs: {', '.join(map(repr, changed[:5]))} changed since."
    if now.gate != then.gate:
        yield "The configuration differs: the gate is another."
    if now.repeats != then.repeats:
        yield f"The repeats differ: {then.repeats} before, {now.repeats} now."
    for result, word in ((before, "The baseline"), (after, "This suite run")):
        if result.status in ("running", "undecided", "cancelled"):
            yield f"{word} is {result.status}."


def _change(
    new: CaseResult, old: CaseResult, after: SuiteResult, before: SuiteResult, evaluations: Evaluations
) -> CaseChange:
    marks = _marks(new, old, evaluations)
    because = _because(new, old, after, before)
    score = None if new.score is None or old.score is None else new.score - old.score
    rate = None if new.pass_rate is None or old.pass_rate is None else new.pass_rate - old.pass_rate
    return CaseChange(
        workflow_id=new.case.workflow_id,
        name=new.case.name,
        model_id=new.case.model_id,
        change="undecidable" if because else _kind(new, old, moved=bool(score or rate or marks)),
        before=old.verdict,
        after=new.verdict,
        score_delta=score,
        pass_rate_delta=rate,
        because=because,
        changed_marks=marks,
    )


def _kind(new: CaseResult, old: CaseResult, *, moved: bool) -> Change:
    if new.verdict != old.verdict:
        return "fixed" if new.verdict == "passed" else "regressed"
    return "changed" if moved else "unchanged"


def _because(new: CaseResult, old: CaseResult, after: SuiteResult, before: SuiteResult) -> str:
    """Why nothing can be said of a case."""
    if new.case.version_id != old.case.version_id:
        return "The workflow was changed since the baseline."
    if _skills(new) != _skills(old):
        return "The skill was changed since the baseline."
    if after.suite_run.repeats != before.suite_run.repeats:
        return f"It was run {before.suite_run.repeats} times before and {after.suite_run.repeats} times now."
    if after.suite_run.gate != before.suite_run.gate:
        return "The gate is another than the baseline's."
    for result, word in ((old, "Before"), (new, "Now")):
        if result.verdict not in ("passed", "failed"):
            return f"{word} it is {result.verdict}."
    return ""


def _skills(result: CaseResult) -> set[str | None]:
    return {run.skill_version_id for run in result.runs}


def _marks(new: CaseResult, old: CaseResult, evaluations: Evaluations) -> tuple[ChangedMark, ...]:
    """Of cases that were run once: of several runs, which is to be held against which?"""
    if len(new.runs) != 1 or len(old.runs) != 1:
        return ()
    now, then = evaluations.get(new.runs[0].id), evaluations.get(old.runs[0].id)
    return tuple(compare(now, then).changed_marks) if now and then else ()


def _alone(result: CaseResult, change: Change) -> CaseChange:
    is_new = change == "new"
    return CaseChange(
        workflow_id=result.case.workflow_id,
        name=result.case.name,
        model_id=result.case.model_id,
        change=change,
        before=None if is_new else result.verdict,
        after=result.verdict if is_new else None,
        score_delta=None,
        pass_rate_delta=None,
    )
