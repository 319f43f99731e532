"""What all reports of a gate are made of: the suite run, and of each run that did not hold what went wrong,
in lines. The server's JSON comes in; values go out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]

_EXCERPT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReport:
    name: str
    model: str
    outcome: str
    """passed, failed, errored, cancelled or running."""
    score: float | None
    held: int
    runs: int
    seconds: float
    run_ids: tuple[str, ...]
    why: str
    lines: tuple[str, ...]
    """Each criterion that did not pass, why, and where it can be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    name: str
    suite_run_id: str
    status: str
    exit_code: int
    reasons: tuple[str, ...]
    cases: tuple[CaseReport, ...]
    seconds: float
    cost_usd: float
    started_at: str
    url: str
    comparison: Json | None

    def count(self, *outcomes: str) -> int:
        return sum(case.outcome in outcomes for case in self.cases)


def make_report(suite_run: Json, evaluations: Mapping[str, Json], *, exit_code: int, url: str) -> Report:
    """`evaluations`: of runs that did not hold, by their ids."""
    cases = tuple(_case(case, evaluations) for case in suite_run["cases"])
    return Report(
        name=suite_run["name"],
        suite_run_id=suite_run["id"],
        status=suite_run["status"],
        exit_code=exit_code,
        reasons=tuple(suite_run["reasons"]),
        cases=cases,
        seconds=sum(case.seconds for case in cases),
        cost_usd=suite_run["cost"]["usd"],
        started_at=suite_run["createdAt"],
        url=url,
        comparison=suite_run["comparison"],
    )


def doubtful_runs(suite_run: Json) -> list[str]:
    """The runs whose evaluations a report shows."""
    return [
        run["id"]
        for case in suite_run["cases"]
        if case["outcome"] not in ("passed", "running")
        for run in case["runs"]
        if run["outcome"] not in (None, "Passed", "Errored")
    ]


def _case(case: Json, evaluations: Mapping[str, Json]) -> CaseReport:
    lines: list[str] = []
    if case["outcome"] not in ("passed", "running"):
        for run in case["runs"]:
            lines += _run_lines(run, evaluations.get(run["id"]))
    return CaseReport(
        name=case["name"],
        model=case["modelId"],
        outcome=case["outcome"],
        score=case["score"],
        held=case["held"],
        runs=len(case["runs"]),
        seconds=sum(run["durationMs"] or 0 for run in case["runs"]) / 1000,
        run_ids=tuple(run["id"] for run in case["runs"]),
        why=case["why"],
        lines=tuple(lines),
    )


def _run_lines(run: Json, evaluation: Json | None) -> Iterator[str]:
    if run["error"]:
        yield f"run {run['id']}: {run['classification']}: {run['error']}"
    if evaluation is None:
        return
    for mark in evaluation["criteria"]:
        if mark["mark"] in ("pass", "not_applicable"):
            continue
        is_required = "required" if mark["isRequired"] else "optional"
        word = "not decided" if mark["mark"] is None else "failed"
        yield f"run {run['id']}: {word} ({is_required}): {mark['criterionText']}"
        if told := mark["reasoning"] or mark["problem"]:
            yield f"    {told}"
        for evidence in mark["evidence"][:2]:
            yield f"    {evidence['spanId']}: {' '.join(evidence['excerpt'].split())[:_EXCERPT]}"
