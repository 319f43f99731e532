"""Marks every criterion of a run: assertions by looking, texts by asking the judge, a plan by its own steps.
A criterion that nobody can decide stays undecided and says why.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from ammeter.engines.models.endpoints import same_vendor
from ammeter.engines.models.port import Model
from ammeter.engines.models.scripted import Plan, plan_problem
from ammeter.features.evals import assertions
from ammeter.features.evals.judge import Spent, judge_criterion
from ammeter.features.evals.model import Evidence, Mark
from ammeter.features.evals.spans import Span
from ammeter.features.evals.story import Story
from ammeter.features.workflows.model import Criterion, Version

IMPLICIT = Criterion(
    id="request", criterion_text="The request in the prompt was fulfilled.", is_required=True
)
PLAN = Criterion(id="plan", criterion_text="Every step of the plan went as written.", is_required=True)
_EXCERPT_CHARS = 300

OnMark = Callable[[Mark, Spent, int], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What is judged, and by whom."""

    version: Version
    story: Story
    spans: Sequence[Span]
    plan: Plan | None
    """Of a tester that follows one."""
    judge: Model | None


async def mark_all(bench: Bench, *, known: Mapping[str, Mark], on_mark: OnMark) -> list[Mark]:
    """One mark a criterion, in their order; those in `known` were made before and stand."""
    marks = []
    for criterion in criteria_of(bench):
        if (mark := known.get(criterion.id)) is None:
            spent, began = Spent(), time.monotonic()
            mark = await _mark(bench, criterion, spent)
            await on_mark(mark, spent, round((time.monotonic() - began) * 1000))
        marks.append(mark)
    return marks


def criteria_of(bench: Bench) -> list[Criterion]:
    criteria = list(bench.version.criteria) or [IMPLICIT]
    # A plan that broke off is never passed over, whatever else is looked at. A limit tells its own story.
    if bench.plan is not None and bench.version.criteria and _plan_problem(bench) and not bench.story.limit:
        criteria.append(PLAN)
    return criteria


def warnings_of(bench: Bench, tester: str) -> list[str]:
    asked_model = any(c.assertion is None for c in criteria_of(bench)) and bench.plan is None
    if bench.judge is not None and asked_model and same_vendor(bench.judge.id, tester):
        return [
            f"Tester {tester} and judge {bench.judge.id} are of one vendor; judges favour their own kind."
        ]
    return []


def asks_judge(bench: Bench) -> bool:
    """Whether any mark needs the judge, and with it some time."""
    return bench.judge is not None and any(
        criterion.assertion is None and not _is_of_plan(bench, criterion) for criterion in criteria_of(bench)
    )


def _is_of_plan(bench: Bench, criterion: Criterion) -> bool:
    return bench.plan is not None and criterion.id in (IMPLICIT.id, PLAN.id)


async def _mark(bench: Bench, criterion: Criterion, spent: Spent) -> Mark:
    if criterion.assertion is not None:
        return assertions.check(criterion, bench.spans)
    if _is_of_plan(bench, criterion):
        return _plan_mark(bench, criterion)
    if bench.judge is None:
        problem = "This server has no judge model (AMMETER_JUDGE_MODEL); give the criterion an assertion."
        return Mark(
            criterion_id=criterion.id,
            criterion_text=criterion.criterion_text,
            is_required=criterion.is_required,
            mark=None,
            reasoning="",
            problem=problem,
        )
    return await judge_criterion(
        bench.judge, criterion, request=bench.version.tester_prompt, spans=bench.spans, spent=spent
    )


def _plan_mark(bench: Bench, criterion: Criterion) -> Mark:
    problem = _plan_problem(bench)
    if bench.story.limit is not None:
        return Mark(
            criterion_id=criterion.id,
            criterion_text=criterion.criterion_text,
            is_required=criterion.is_required,
            mark=None,
            reasoning="",
            problem="A limit cut the plan short; whether its other steps would go as written is not known.",
        )
    last = next((span for span in reversed(bench.spans) if span.kind == "tool_call"), None)
    excerpt = str(last.output)[:_EXCERPT_CHARS] if last is not None and last.output else ""
    return Mark(
        criterion_id=criterion.id,
        criterion_text=criterion.criterion_text,
        is_required=criterion.is_required,
        mark="fail" if problem else "pass",
        reasoning=problem or "Every step was carried out and answered as the plan says.",
        evidence=(Evidence(span_id=last.id, excerpt=excerpt),) if last is not None and excerpt else (),
        judged_by="assertion",
    )


def _plan_problem(bench: Bench) -> str | None:
    assert bench.plan is not None
    return plan_problem(bench.plan, bench.story.messages, bench.story.final or "")
