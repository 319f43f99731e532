"""What goes wrong in a run, and how it then ends: sources, models, limits, policies, a person who cancels."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.responses import JSONResponse

from ammeter.engines.models.prices import Price
from tests.chat_endpoint import Said, calls, chat_endpoint
from tests.evaluating import add_source, create, list_runs, plan, step, work_off, working
from tests.features.evals.playing import (
    ADDED,
    NO_WAIT,
    end_of,
    model_played,
    play_with,
    played,
    run_of,
    with_model,
    work_until,
)
from tests.household import Household, refusal
from tests.notes_server import NotesServer
from tests.server import until


@pytest.mark.parametrize(
    ("status", "classification", "attempts"),
    [
        (401, "auth_error", 1),
        (403, "auth_error", 1),
        (500, "source_unreachable", 2),
        (404, "source_error", 2),
    ],
)
def test_a_source_that_refuses(
    lab: Household, notes: NotesServer, status: int, classification: str, attempts: int
) -> None:
    notes.refuse_with = status
    source = add_source(lab.house, lab.org.id, notes.url)
    run = played(lab, source, plan(step("list_notes")))
    assert end_of(run) == ("fail", "Errored", classification)
    assert (run["attempt"], run["score"], run["toolCalls"]) == (attempts, None, 0)
    assert run["error"]
    evaluation = lab.call("GET", f"/runs/{run['id']}/evaluation").json()
    assert (evaluation["outcome"], evaluation["criteria"]) == ("Errored", [])


def test_a_source_that_is_not_there(lab: Household) -> None:
    source = add_source(lab.house, lab.org.id, "http://127.0.0.1:9/mcp")
    run = played(lab, source, plan(step("list_notes")))
    assert (end_of(run), run["attempt"]) == (("fail", "Errored", "source_unreachable"), 2)


def test_a_source_that_never_answers_a_call_runs_into_the_time_limit(
    lab: Household, notes: NotesServer
) -> None:
    source = add_source(lab.house, lab.org.id, notes.url)
    prompt = plan(step("add_note", title="a", text="b"), step("wait", name="x"), step("list_notes"))
    run = played(lab, source, prompt, limits={"maxDurationSeconds": 4}, criteria=[ADDED])
    assert end_of(run) == ("partial", "Incomplete", "limit_reached")
    assert run["score"] == 1.0
    assert notes.made("list_notes") == []
    calls_made = lab.call("GET", f"/runs/{run['id']}/tool-calls").json()["rows"]
    assert [(call["toolName"], call["isError"]) for call in calls_made] == [
        ("add_note", False),
        ("wait", True),
    ]


def test_unexpected_errors_fail_a_plan_also_where_no_criterion_looks(
    lab: Household, notes: NotesServer
) -> None:
    source = add_source(lab.house, lab.org.id, notes.url)
    prompt = plan(step("add_note", title="a", text="b"), step("get_note", title="nobody"), step("list_notes"))
    run = played(lab, source, prompt, criteria=[ADDED])
    assert (end_of(run), run["score"]) == (("fail", "Failed", "criteria_failed"), 0.5)
    marks = lab.call("GET", f"/runs/{run['id']}/evaluation").json()["criteria"]
    assert [(mark["criterionId"], mark["mark"]) for mark in marks[1:]] == [("plan", "fail")]
    assert "Step 2 (get_note) was to succeed" in marks[1]["reasoning"]


def test_limits_on_calls_count_attempts(lab: Household, notes: NotesServer) -> None:
    source = add_source(lab.house, lab.org.id, notes.url)
    failing = step("get_note", title="nobody") | {"expectError": True}
    run = played(lab, source, plan(step("list_notes"), failing, failing), limits={"maxToolCalls": 2})
    assert (end_of(run), run["toolCalls"]) == (("partial", "Incomplete", "limit_reached"), 2)
    assert "maxToolCalls is 2" in run["error"]
    useless = played(lab, source, plan(failing, failing), limits={"maxToolCalls": 1})
    assert end_of(useless) == ("fail", "Errored", "limit_reached")


def test_a_denied_call_is_answered_as_an_error_and_shown(lab: Household, notes: NotesServer) -> None:
    source = add_source(lab.house, lab.org.id, notes.url)
    denied = step("add_note", title="a", text="b") | {"expectError": True}
    policies: list[dict[str, Any]] = [{"deny": ["add_*"]}, {"allow": ["list_*"]}, {"readOnly": True}]
    for policy in policies:
        run = played(lab, source, plan(denied, step("list_notes")), toolPolicy=policy)
        assert end_of(run) == ("pass", "Passed", "none")
        spans = lab.call("GET", f"/runs/{run['id']}/trace").json()["spans"]
        [refused] = [span for span in spans if span["name"] == "add_note"]
        assert (refused["status"], "tool policy" in refused["output"]) == ("denied", True)
    assert notes.made("add_note") == []
    assert len(notes.made("list_notes")) == 3
    failing = played(lab, source, plan(step("add_note", title="a", text="b")), toolPolicy={"readOnly": True})
    assert end_of(failing) == ("fail", "Failed", "tool_policy")


def test_a_model_plays_calls_tools_and_costs(lab: Household, notes: NotesServer) -> None:
    run, endpoint = model_played(
        lab,
        notes,
        calls(("add_note", {"title": "milk", "text": "two litres"})),
        calls(("get_note", {"title": "milk"}), ("no_such_tool", {}), ("get_note", "{broken")),
        "The note says two litres.",
        price=Price(input_per_million=1, output_per_million=2),
        criteria=[
            {"criterionText": "Said", "assertion": {"kind": "final_answer_contains", "text": "two litres"}}
        ],
    )
    assert end_of(run) == ("pass", "Passed", "none")
    assert (run["turns"], run["toolCalls"]) == (3, 4)
    assert run["cost"]["usd"] == pytest.approx(3 * 0.002)
    assert (run["cost"]["inputTokens"], run["cost"]["outputTokens"]) == (3000, 1500)
    assert run["model"] == {"id": "local/small", "provider": "local"}
    assert "Notes have a title and a text." in endpoint.requests[0]["messages"][0]["content"]
    tools = [message["content"] for message in endpoint.requests[2]["messages"] if message["role"] == "tool"]
    assert "There is no tool 'no_such_tool'" in tools[2]
    assert "not a JSON object" in tools[3]
    assert notes.made("get_note") == [{"title": "milk"}]


@pytest.mark.parametrize(
    ("said", "attempts", "words"),
    [
        (JSONResponse({"error": {"message": "overloaded"}}, 503), 2, "did not answer"),
        (JSONResponse({"error": {"message": "no"}}, 401), 1, "refused the server's key"),
        (JSONResponse({"choices": []}), 2, "nonsense"),
    ],
)
def test_a_model_that_fails(
    lab: Household, notes: NotesServer, said: Said, attempts: int, words: str
) -> None:
    run, endpoint = model_played(lab, notes, said, retryPolicy=NO_WAIT)
    assert (end_of(run), run["attempt"]) == (("fail", "Errored", "model_error"), attempts)
    assert words in run["error"]
    assert len(endpoint.requests) == attempts


def test_a_model_that_recovers_goes_on_without_repeating_a_call(lab: Household, notes: NotesServer) -> None:
    run, _ = model_played(
        lab,
        notes,
        calls(("add_note", {"title": "a", "text": "b"})),
        JSONResponse({"error": {"message": "overloaded"}}, 503),
        "Added.",
        retryPolicy=NO_WAIT,
        criteria=[ADDED],
    )
    assert (end_of(run), run["attempt"]) == (("pass", "Passed", "none"), 2)
    assert notes.made("add_note") == [{"title": "a", "text": "b"}]


def test_a_model_that_loops_is_stopped_by_its_turns(lab: Household, notes: NotesServer) -> None:
    run, endpoint = model_played(
        lab,
        notes,
        calls(("list_notes", {})),
        limits={"maxTurns": 3},
        criteria=[ADDED | {"isRequired": False}],
    )
    assert (end_of(run), run["turns"]) == (("partial", "Incomplete", "limit_reached"), 3)
    assert len(endpoint.requests) == 3


def test_a_run_over_its_cost_is_stopped(lab: Household, notes: NotesServer) -> None:
    run, endpoint = model_played(
        lab,
        notes,
        calls(("list_notes", {})),
        price=Price(input_per_million=1_000, output_per_million=0),
        limits={"maxCostUsd": 0.5},
    )
    assert run["classification"] == "limit_reached"
    assert (run["cost"]["usd"], len(endpoint.requests)) == (1.0, 1)


def test_texts_without_a_judge_are_never_passed(lab: Household, notes: NotesServer) -> None:
    run, _ = model_played(lab, notes, "Done.", criteria=[{"criterionText": "It is done", "isRequired": True}])
    assert (end_of(run), run["score"]) == (("partial", "Incomplete", "none"), None)
    [mark] = lab.call("GET", f"/runs/{run['id']}/evaluation").json()["criteria"]
    assert (mark["mark"], mark["judgedBy"]) == (None, None)
    assert "AMMETER_JUDGE_MODEL" in mark["problem"]


def test_a_judge_marks_texts_and_a_stored_run_can_be_judged_again(lab: Household, notes: NotesServer) -> None:
    passes = '{"reasoning": "r", "evidence": [{"spanId": "turn-5", "excerpt": "Done"}], "mark": "pass"}'
    fails = passes.replace('"pass"', '"fail"')

    def say(body: dict[str, Any]) -> Said:
        text = body["messages"][0]["content"]
        if text.startswith("You judge one criterion"):
            return verdicts.pop(0)
        return "Done." if any(m["role"] == "tool" for m in body["messages"]) else calls(("list_notes", {}))

    verdicts = [passes]
    source = add_source(lab.house, lab.org.id, notes.url)
    with chat_endpoint(say=say) as endpoint:
        house = with_model(lab, endpoint, judge="local/small")
        made = create(
            lab, source, plan(step("x")), criteria=[{"criterionText": "It is done", "isRequired": True}]
        )
        play_with(lab, made, "local/small")
        work_off(house)
        run = run_of(lab, made)
        assert end_of(run) == ("pass", "Passed", "none"), run
        evaluation = lab.call("GET", f"/runs/{run['id']}/evaluation").json()
        assert evaluation["verdict"]["model"] == "local/small"
        assert evaluation["verdict"]["promptDigest"].startswith("sha256:")
        assert evaluation["criteria"][0]["evidence"] == [{"spanId": "turn-5", "excerpt": "Done"}]
        assert "of one vendor" in evaluation["warnings"][0]
        verdicts[:] = [fails, fails, fails]
        answer = lab.call("POST", f"/runs/{run['id']}/rejudge")
        assert answer.status_code == 202
        work_until(house, lambda: run_of(lab, made)["status"] == "fail")
    again = lab.call("GET", f"/runs/{run['id']}/evaluation").json()
    assert (again["outcome"], again["criteria"][0]["votes"]) == ("Failed", ["fail", "fail", "fail"])
    assert notes.made("list_notes") == [{}]


def test_a_run_that_waits_is_cancelled_at_once_and_one_under_way_in_a_moment(
    lab: Household, notes: NotesServer
) -> None:
    source = add_source(lab.house, lab.org.id, notes.url)
    made = create(lab, source, plan(step("wait", name="x"), step("list_notes")))
    [waiting] = list_runs(lab, made["workflow"]["id"])
    cancelled = lab.call("POST", f"/runs/{waiting['id']}/cancel").json()
    assert end_of(cancelled) == ("fail", "Errored", "cancelled")
    assert cancelled == lab.call("POST", f"/runs/{waiting['id']}/cancel").json()
    sent = lab.call("POST", f"/workflows/{made['workflow']['id']}/runs", json={}).json()
    [run_id] = sent["runIds"]

    async def story() -> None:
        async with working(lab.house):
            await asyncio.to_thread(until, lambda: bool(notes.made("wait")), "the call is under way")
            answer = await asyncio.to_thread(lab.call, "POST", f"/runs/{run_id}/cancel")
            assert answer.json()["status"] == "running"
            over = lambda: lab.call("GET", f"/runs/{run_id}").json()["status"] == "fail"  # noqa: E731
            await asyncio.to_thread(until, over, "the run has ended")
        await lab.house.connector.close()

    asyncio.run(story())
    run = lab.call("GET", f"/runs/{run_id}").json()
    assert end_of(run) == ("fail", "Errored", "cancelled")
    [call] = lab.call("GET", f"/runs/{run_id}/tool-calls").json()["rows"]
    assert (call["toolName"], call["isError"]) == ("wait", True)
    assert notes.made("list_notes") == []
    assert refusal(lab.call("POST", f"/runs/{run_id}/rejudge")) == (409, "conflict")
