"""What runs tell of a suite run, without a database: rates, what is undecided, and when the whole is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ammeter.base.clock import now
from ammeter.features.evals.model import Run
from ammeter.features.suites.gate import holds, over_limit, result_of
from ammeter.features.suites.model import Gate, PlannedCase, SuiteRun

AT = now()
CASE = PlannedCase(
    workflow_id="w",
    name="Case",
    version_id="v",
    source_id="s",
    model_id="m",
    skill_mode="none",
    skill_version_id=None,
)
ENDS: dict[str, dict[str, Any]] = {
    "pass": {"status": "pass", "outcome": "Passed", "score": 1.0},
    "fail": {"status": "fail", "outcome": "Failed", "score": 0.0, "classification": "criteria_failed"},
    "limit": {"status": "partial", "outcome": "Incomplete", "classification": "limit_reached"},
    "stuck": {"status": "fail", "outcome": "Errored", "classification": "limit_reached"},
    "down": {
        "status": "fail",
        "outcome": "Errored",
        "classification": "source_unreachable",
        "error": "Gone.",
    },
    "judge": {"status": "partial", "outcome": "Incomplete", "classification": "judge_error"},
    "nobody": {"status": "partial", "outcome": "Incomplete", "classification": "none"},
    "cancelled": {"status": "fail", "outcome": "Errored", "classification": "cancelled"},
    "runs": {"status": "running", "outcome": None},
}


def run(end: str, **more: Any) -> Run:
    base = Run(
        id=end,
        org_id="o",
        workflow_id="w",
        workflow_name="Case",
        version_id="v",
        source_id="s",
        job_id=None,
        same_key="",
        status="running",
        phase="finished",
        trigger="suite",
        model_id="m",
        at=AT,
        queued_at=AT,
        cost_usd=0.0,
    )
    return replace(base, **ENDS[end] | more)


def suite_run(gate: Gate | None = None, repeats: int = 1, **more: Any) -> SuiteRun:
    base = SuiteRun(
        id="r",
        org_id="o",
        suite_id=None,
        name="chosen cases",
        gate=gate or Gate(),
        repeats=repeats,
        cases=(CASE,),
        baseline_id=None,
        bundle_id=None,
        trigger="ci",
        reason="",
        idempotency_key=None,
        cancelled_at=None,
        created_at=AT,
        created_by="k",
    )
    return replace(base, **more)


@pytest.mark.parametrize(
    ("ends", "rate", "verdict", "status"),
    [
        ("pass", 1.0, "passed", "pass"),
        ("fail", 1.0, "failed", "fail"),
        ("limit", 1.0, "failed", "fail"),
        ("stuck", 1.0, "failed", "fail"),
        ("down", 1.0, "errored", "undecided"),
        ("judge", 1.0, "errored", "undecided"),
        ("nobody", 1.0, "errored", "undecided"),
        ("cancelled", 1.0, "cancelled", "undecided"),
        ("runs", 1.0, "running", "running"),
        ("pass pass runs", 0.5, "running", "running"),
        ("pass pass fail", 0.6, "passed", "pass"),
        ("pass fail fail", 0.6, "failed", "fail"),
        # What could not be carried out may have held: it decides nothing unless enough did, or too few can.
        ("pass pass down", 0.6, "passed", "pass"),
        ("pass fail down", 0.6, "errored", "undecided"),
        ("fail fail down", 0.6, "failed", "fail"),
        ("pass pass pass fail fail", 0.6, "passed", "pass"),
    ],
)
def test_the_runs_of_a_case_give_its_verdict(ends: str, rate: float, verdict: str, status: str) -> None:
    runs = [run(end) for end in ends.split()]
    result = result_of(suite_run(Gate(min_pass_rate=rate), repeats=len(runs)), runs)
    assert (result.cases[0].verdict, result.status) == (verdict, status)
    assert result.ready_to_ship == (status == "pass")
    assert bool(result.reasons) == (status != "pass")


def test_rates_count_what_was_judged() -> None:
    runs = [run(end) for end in ("pass", "pass", "fail", "down")]
    [case] = result_of(suite_run(Gate(min_pass_rate=0.5), repeats=4), runs).cases
    assert (case.held, case.judged, case.pass_rate) == (2, 3, 2 / 3)
    assert case.pass_hat == {1: 2 / 3, 2: 1 / 3, 3: 0.0}


def test_runs_that_are_gone_leave_the_case_undecided() -> None:
    result = result_of(suite_run(repeats=2), [run("pass")])
    assert (result.status, result.cases[0].verdict) == ("undecided", "errored")
    assert result.reasons == ("'Case' on m: 1 of its runs are no longer kept.",)


def test_a_cancelled_suite_run_says_so_and_one_that_ended_before_does_not() -> None:
    assert result_of(suite_run(cancelled_at=AT), [run("cancelled")]).status == "cancelled"
    assert result_of(suite_run(cancelled_at=AT), [run("fail")]).status == "fail"


def test_strict_asks_for_a_pass_of_every_mark() -> None:
    counts = {"criteria_passed": 2, "criteria_failed": 0, "criteria_not_applicable": 0}
    strict = Gate(strict=True)
    assert holds(strict, run("pass", verdict=counts))
    assert not holds(strict, run("pass", verdict=counts | {"criteria_not_applicable": 1}))
    assert not holds(strict, run("pass", verdict=counts | {"criteria_passed": 0}))
    assert not holds(strict, run("fail", verdict=counts | {"criteria_failed": 1}))


def test_a_least_score_takes_a_run_without_one_by_its_outcome() -> None:
    gate = Gate(min_score=0.8)
    assert holds(gate, run("fail", score=0.9))
    assert not holds(gate, run("pass", score=0.7))
    assert holds(gate, run("pass", score=None))
    assert not holds(gate, run("down"))


def test_a_cost_that_is_not_known_cannot_be_held_to_a_limit() -> None:
    unpriced = run("pass", cost_usd=None, turns=3, input_tokens=900)
    gate = Gate(max_cost_usd=1)
    result = result_of(suite_run(gate), [unpriced])
    assert (result.status, result.cost_is_known) == ("undecided", False)
    assert "no known price" in result.reasons[0]
    assert result_of(suite_run(), [unpriced]).status == "pass"
    never_begun = run("pass", cost_usd=None)
    assert result_of(suite_run(gate), [never_begun]).cost_is_known


def test_no_further_run_begins_once_the_limit_is_reached() -> None:
    gate = Gate(max_cost_usd=1)
    assert over_limit(gate, [run("pass", cost_usd=0.6, judge_usd=0.3)]) is None
    told = over_limit(gate, [run("pass", cost_usd=0.6, judge_usd=0.4)])
    assert told == "The suite run cost 1.0000 US dollars so far; its maxCostUsd is 1."
    assert over_limit(Gate(), [run("pass", cost_usd=99)]) is None
