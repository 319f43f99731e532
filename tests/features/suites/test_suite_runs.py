"""A suite run from start to answer, by Ammeter's own tools and with a real worker: gates, repeats, cost,
cancel, baselines, and what a second start with the same key gives."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text

from ammeter.features.orgs import service as orgs
from ammeter.features.orgs.model import Role
from ammeter.features.sources.model import Source
from tests.evaluating import add_source, create, list_runs, plan, step, work_off
from tests.features.evals.playing import work_until
from tests.features.suites.suiting import case, played, read, start, suite
from tests.household import OPERATOR, Household
from tests.notes_server import NotesServer
from tests.own_tools import refused_tool, use_tool


@pytest.fixture
def source(lab: Household, notes: NotesServer) -> Source:
    notes.notes |= {"milk": "kept", "eggs": "kept"}
    return add_source(lab.house, lab.org.id, notes.url, categories=("crm",))


@pytest.fixture
def cases(lab: Household, source: Source) -> list[str]:
    """Two that hold while their notes are there; their first runs have ended."""
    made = [case(lab, source, title) for title in ("milk", "eggs")]
    work_off(lab)
    return made


def test_a_suite_that_holds_is_ready_to_ship(lab: Household, cases: list[str]) -> None:
    made = suite(lab, *cases, description="Before each release")
    started = start(lab, made["id"], reason="release 7")
    assert (started["status"], started["readyToShip"], started["deduplicated"]) == ("running", False, False)
    assert started["reasons"] == ["2 of 2 cases have not ended yet."]
    assert started["progress"] == {
        "cases": 2,
        "casesEnded": 0,
        "runs": 2,
        "runsEnded": 0,
        "runsQueued": 2,
    }
    work_off(lab)
    ended = read(lab, started["id"])
    assert (ended["status"], ended["readyToShip"], ended["reasons"]) == ("pass", True, [])
    assert (ended["progress"]["casesEnded"], ended["score"], ended["cost"]["usd"]) == (2, 1.0, 0)
    assert [(c["caseId"], c["outcome"], c["passRate"]) for c in ended["cases"]] == [
        (case_id, "passed", 1.0) for case_id in cases
    ]
    assert ended["endedAt"] >= ended["startedAt"] >= ended["createdAt"]
    [run_id] = [run["id"] for run in ended["cases"][0]["runs"]]
    run = lab.call("GET", f"/runs/{run_id}").json()
    assert (run["trigger"], run["tags"], run["reason"], run["suiteRunId"]) == (
        "suite",
        ["suite", "mcp"],
        "release 7",
        started["id"],
    )
    rows = use_tool(lab, "list_suite_runs", suite=made["id"])
    assert (rows["total"], rows["rows"][0]["id"], rows["rows"][0]["status"]) == (1, started["id"], "pass")
    assert use_tool(lab, "list_suite_runs", Role.viewer)["rows"] == rows["rows"]


def test_a_case_that_fails_stops_the_release_and_says_why(
    lab: Household, notes: NotesServer, cases: list[str]
) -> None:
    made = suite(lab, *cases)
    before = played(lab, made["id"])
    del notes.notes["eggs"]
    after = played(lab, made["id"], baselineSuiteRunId=before["id"])
    assert (after["status"], after["readyToShip"]) == ("fail", False)
    [reason] = after["reasons"]
    assert reason.startswith("'Read eggs' on builtin/scripted did not pass: ")
    assert "there is no note 'eggs'" in reason or "The note eggs is read" in reason
    comparison = after["comparison"]
    assert (comparison["undecidable"], comparison["regressed"], comparison["fixed"]) == ([], 1, 0)
    assert [(row["name"], row["change"]) for row in comparison["rows"]] == [
        ("Read milk", "unchanged"),
        ("Read eggs", "regressed"),
    ]
    [mark] = comparison["rows"][1]["changedMarks"]
    assert (mark["criterionText"], mark["before"], mark["after"]) == (
        "The note eggs is read",
        "pass",
        "fail",
    )
    notes.notes["eggs"] = "kept"
    again = played(lab, made["id"], baselineSuiteRunId="last")
    assert again["baselineSuiteRunId"] == after["id"]
    assert (again["readyToShip"], again["comparison"]["fixed"]) == (True, 1)
    against_first = read(lab, again["id"], baselineSuiteRunId=before["id"])["comparison"]
    assert {row["change"] for row in against_first["rows"]} == {"unchanged"}


def test_what_is_not_alike_is_undecidable(lab: Household, source: Source, cases: list[str]) -> None:
    made = suite(lab, *cases)
    before = played(lab, made["id"])
    milk, eggs = cases
    third = case(lab, source, "milk", name="Read milk again")
    lab.call("PATCH", f"/workflows/{milk}", json={"description": "as before, in other words"})
    lab.call("PATCH", f"/suites/{made['id']}", json={"caseIds": [milk, third]})
    after = played(lab, made["id"], baselineSuiteRunId=before["id"], repeats=2)
    comparison = after["comparison"]
    assert comparison["undecidable"] == [
        "The case set differs: 1 new, 1 removed.",
        "The configuration differs: 'Read milk' changed since.",
        "The repeats differ: 1 before, 2 now.",
    ]
    assert [(row["caseId"], row["change"]) for row in comparison["rows"]] == [
        (milk, "undecidable"),
        (third, "new"),
        (eggs, "removed"),
    ]
    assert comparison["rows"][0]["because"] == "The workflow was changed since the baseline."


def test_a_source_that_is_down_decides_nothing(lab: Household, notes: NotesServer, cases: list[str]) -> None:
    made = suite(lab, *cases)
    notes.refuse_with = 503
    ended = played(lab, made["id"])
    assert (ended["status"], ended["readyToShip"]) == ("undecided", False)
    assert {c["outcome"] for c in ended["cases"]} == {"errored"}
    assert all("could not be carried out" in reason for reason in ended["reasons"])


def test_each_repeat_is_a_run_of_its_own(lab: Household, cases: list[str]) -> None:
    made = suite(lab, *cases, repeats=3)
    ended = played(lab, made["id"])
    assert (ended["readyToShip"], ended["progress"]["runs"]) == (True, 6)
    for row in ended["cases"]:
        assert len({run["id"] for run in row["runs"]}) == 3
        assert (row["held"], row["judged"], row["passRate"]) == (3, 3, 1.0)
        assert row["passHat"] == {"1": 1.0, "2": 1.0, "3": 1.0}


def test_a_strict_gate_counts_what_did_not_apply_and_a_score_may_be_enough(
    lab: Household, source: Source
) -> None:
    criteria = [
        {"criterionText": "Read", "assertion": {"kind": "tool_called", "tool": "get_note"}},
        {
            "criterionText": "Nice to have",
            "isRequired": False,
            "assertion": {"kind": "tool_called", "tool": "echo"},
        },
    ]
    partly = case(lab, source, "milk", criteria=criteria)
    work_off(lab)
    made = suite(lab, partly)
    by_outcome = played(lab, made["id"])
    assert (by_outcome["status"], by_outcome["cases"][0]["outcome"]) == ("fail", "failed")
    by_score = played(lab, made["id"], gate={"minScore": 0.6})
    assert (by_score["readyToShip"], round(by_score["score"], 2)) == (True, 0.67)
    too_low = played(lab, made["id"], gate={"minScore": 0.7})
    assert "score 0.67 is below 0.7" in too_low["reasons"][0]
    strict = played(lab, made["id"], gate={"minScore": 0.6, "strict": True})
    assert strict["readyToShip"] is False
    mean = played(lab, made["id"], gate={"minScore": 0.7, "requireAll": False})
    assert mean["reasons"] == ["The mean score of the cases must be 0.7 or more; it is 0.67."]


def test_runs_that_have_not_begun_when_the_money_is_spent_do_not_begin(
    lab: Household, cases: list[str]
) -> None:
    made = suite(lab, *cases, gate={"maxCostUsd": 0.5})
    started = start(lab, made["id"])
    spent = text("UPDATE runs SET cost_usd = 0.75, turns = 1 WHERE id = :id")
    with lab.house.db.write() as tx:
        tx.execute(spent, {"id": started["cases"][0]["runs"][0]["id"]})
        tx.execute(
            text("UPDATE runs SET status = 'pass', outcome = 'Passed', phase = 'finished' WHERE id = :id"),
            {"id": started["cases"][0]["runs"][0]["id"]},
        )
    work_off(lab)
    ended = read(lab, started["id"])
    assert (ended["status"], ended["cost"]["usd"]) == ("fail", 0.75)
    assert ended["reasons"][0] == "It cost 0.7500 US dollars; the gate's maxCostUsd is 0.5."
    assert "its maxCostUsd is 0.5" in ended["reasons"][1]
    [unbegun] = ended["cases"][1]["runs"]
    assert (unbegun["outcome"], unbegun["classification"]) == ("Errored", "cancelled")


def test_a_suite_run_is_cancelled_as_a_whole(lab: Household, notes: NotesServer, source: Source) -> None:
    waiting = create(lab, source, plan(step("wait", name="x")), name="Waits")["workflow"]["id"]
    other = case(lab, source, "milk")
    notes.gate.set()
    work_off(lab)
    notes.gate.clear()
    made = suite(lab, waiting, other)
    started = start(lab, made["id"])
    calls = len(notes.made("wait"))

    def cancelled() -> bool:
        if len(notes.made("wait")) == calls:
            return False
        fault = refused_tool(lab, "cancel_suite_run", Role.viewer, suiteRunId=started["id"])
        assert fault["code"] == "insufficient_role"
        use_tool(lab, "cancel_suite_run", Role.editor, suiteRunId=started["id"])
        found: str = read(lab, started["id"])["status"]
        return found != "running"

    work_until(lab, cancelled)
    ended = read(lab, started["id"])
    assert (ended["status"], ended["readyToShip"]) == ("cancelled", False)
    assert ended["reasons"][0] == "The suite run was cancelled."
    assert ended["cancelledAt"] is not None
    assert ended["cases"][0]["outcome"] == "cancelled"
    after = use_tool(lab, "cancel_suite_run", suiteRunId=started["id"])
    assert after["cancelledAt"] == ended["cancelledAt"]


def test_a_key_gives_the_same_suite_run_also_to_many_at_once(lab: Household, cases: list[str]) -> None:
    made = suite(lab, *cases)
    with ThreadPoolExecutor(4) as askers:
        given = list(askers.map(lambda _: start(lab, made["id"], idempotencyKey="build-7"), range(4)))
    assert len({one["id"] for one in given}) == 1
    assert sorted(one["deduplicated"] for one in given) == [False, True, True, True]
    assert len(list_runs(lab, cases[0])) == 2
    assert start(lab, made["id"], idempotencyKey="build-8")["id"] != given[0]["id"]
    aged = text("UPDATE suite_runs SET created_at = created_at - 90000000 WHERE id = :id")
    with lab.house.db.write() as tx:
        tx.execute(aged, {"id": given[0]["id"]})
    assert start(lab, made["id"], idempotencyKey="build-7")["id"] != given[0]["id"]


def test_cases_run_without_a_suite_by_id_or_category(lab: Household, cases: list[str]) -> None:
    chosen = use_tool(lab, "run_eval_suite", caseIds=cases[:1])
    assert (chosen["name"], chosen["suiteId"], len(chosen["cases"])) == ("chosen cases", None, 1)
    all_crm = use_tool(lab, "run_eval_suite", category="crm")
    assert (all_crm["name"], [c["caseId"] for c in all_crm["cases"]]) == ("category crm", cases)
    for order in ({}, {"caseIds": cases, "category": "crm"}, {"category": "payments"}):
        fault = refused_tool(lab, "run_eval_suite", **order)
        assert (fault["status"], [detail["path"] for detail in fault["details"]]) == (422, ["caseIds"])
    fault = refused_tool(lab, "run_eval_suite", caseIds=["0197"])
    assert fault["details"] == [{"path": "caseIds", "message": "there is no such workflow: 0197"}]


def test_a_refused_start_leaves_nothing_behind(lab: Household, cases: list[str]) -> None:
    made = suite(lab, *cases)
    runs_before = len(list_runs(lab, cases[0]))
    wrong: list[dict[str, Any]] = [
        {"modelIds": ["openai/gpt"]},
        {"baselineSuiteRunId": "none"},
        {"bundleId": "none"},
        {"gate": {"requireAll": False}},
    ]

    def refused(**fields: Any) -> Any:
        return refused_tool(lab, "run_eval_suite", suite=made["id"], **fields)

    for fields in wrong:
        assert refused(**fields)["code"] == "validation_failed", fields
    [detail] = refused(modelIds=["openai/gpt"])["details"]
    assert detail["path"] == "modelIds[0]"
    assert "the case 'Read milk': 'openai/gpt' is not among" in detail["message"]
    with lab.house.db.write() as tx:
        orgs.set_included_runs(tx, OPERATOR, lab.org, orgs.read_usage(tx, lab.org).used + 1)
    quota = refused()
    assert (quota["status"], quota["code"]) == (402, "included_runs_exhausted")
    assert len(list_runs(lab, cases[0])) == runs_before
    assert use_tool(lab, "list_suite_runs", suite=made["id"])["total"] == 0
    with lab.house.db.write() as tx:
        orgs.set_included_runs(tx, OPERATOR, lab.org, None)
    lab.call("DELETE", f"/workflows/{cases[1]}")
    archived = refused()
    assert (archived["status"], archived["code"]) == (409, "conflict")
    assert "The case 'Read eggs'" in archived["message"]
