"""Sources and models that do it wrong under a run: it ends, in words, and nothing hangs."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from mcp.server.mcpserver import MCPServer
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ammeter.base.ids import new_id
from ammeter.features.sources import skills
from tests.chat_endpoint import chat_endpoint
from tests.evaluating import add_source, create, plan, step, work_off
from tests.features.evals.playing import (
    ADDED,
    NO_WAIT,
    end_of,
    model_played,
    play_with,
    played,
    run_of,
    with_model,
)
from tests.household import OPERATOR, Household, refusal
from tests.notes_server import NotesServer, serving

HUGE = 50 * 1024 * 1024


def answering(response: Response) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await response(scope, receive, send)

    return app


@pytest.mark.parametrize(
    ("response", "classification", "words"),
    [
        (Response("<html>hello</html>", media_type="text/html"), "source_error", "not as an MCP server does"),
        (Response(b" " * HUGE, media_type="application/json"), "source_error", "over 10 MiB"),
        (RedirectResponse("http://169.254.169.254/mcp"), "source_unreachable", "redirects to"),
        (RedirectResponse("http://10.0.0.1/mcp"), "source_unreachable", "redirects to"),
    ],
    ids=["garbage", "50 MB", "metadata", "private"],
)
def test_a_source_that_answers_wrongly_ends_the_run_in_words(
    lab: Household, response: Response, classification: str, words: str
) -> None:
    with serving(answering(response)) as url:
        source = add_source(lab.house, lab.org.id, f"{url}/mcp")
        run = played(lab, source, plan(step("list_notes")))
    assert end_of(run) == ("fail", "Errored", classification)
    assert words in run["error"]


def test_a_tool_that_vanishes_between_calls_is_an_error_of_its_call(lab: Household) -> None:
    server: MCPServer[Any] = MCPServer("moody", version="1")

    @server.tool()
    def first() -> str:
        server.remove_tool("second")
        return "done"

    @server.tool()
    def second() -> str:
        return "never"

    with serving(server.streamable_http_app(stateless_http=True, json_response=True)) as url:
        source = add_source(lab.house, lab.org.id, f"{url}/mcp")
        run = played(lab, source, plan(step("first"), step("second")))
    assert (end_of(run), run["toolCalls"]) == (("fail", "Failed", "criteria_failed"), 2)
    calls = lab.call("GET", f"/runs/{run['id']}/tool-calls").json()["rows"]
    assert [call["isError"] for call in calls] == [False, True]


def test_a_model_that_hangs_runs_into_the_time_limit(lab: Household, notes: NotesServer) -> None:
    answers = threading.Event()
    source = add_source(lab.house, lab.org.id, notes.url)
    with chat_endpoint(say=lambda _: "late" if answers.wait(60) else "never") as endpoint:
        house = with_model(lab, endpoint)
        made = create(lab, source, plan(step("x")), limits={"maxDurationSeconds": 3}, retryPolicy=NO_WAIT)
        play_with(lab, made, "local/small")
        work_off(house)
        answers.set()
    run = run_of(lab, made)
    assert end_of(run) == ("fail", "Errored", "limit_reached")
    assert "maxDurationSeconds" in run["error"]


def test_a_model_that_refuses_to_play_fails_the_criteria(lab: Household, notes: NotesServer) -> None:
    run, endpoint = model_played(lab, notes, "I cannot help with that.", criteria=[ADDED])
    assert (end_of(run), run["turns"]) == (("fail", "Failed", "criteria_failed"), 1)
    assert len(endpoint.requests) == 1


def test_the_latest_skill_is_written_down_and_kept(lab: Household, notes: NotesServer) -> None:
    source = add_source(lab.house, lab.org.id, notes.url)
    with lab.house.db.write() as tx:
        skills.add_skill_version(tx, OPERATOR, source, name="Tone", text="Be brief.")
        newest = skills.add_skill_version(tx, OPERATOR, source, name="Tone", text="Be kind.")
    with chat_endpoint("Done.") as endpoint:
        target = {"modelId": "builtin/scripted", "skillMode": "latest"}
        made = create(lab, source, plan(step("x")), testerTargets=[target])
        play_with(lab, made, "local/small")
        work_off(with_model(lab, endpoint))
    run = run_of(lab, made)
    assert (run["skillMode"], run["skillVersionId"]) == ("latest", newest.id)
    assert endpoint.requests[0]["messages"][0]["content"].endswith("Be kind.")


def test_a_workflow_without_model_or_plan_says_what_to_name(lab: Household, notes: NotesServer) -> None:
    run = played(lab, add_source(lab.house, lab.org.id, notes.url), "Add a note about milk.")
    assert end_of(run) == ("fail", "Errored", "model_error")
    assert "name a language model in testerModelId" in run["error"]


def test_an_archived_source_starts_no_runs_and_one_under_way_ends(lab: Household, notes: NotesServer) -> None:
    source = add_source(lab.house, lab.org.id, notes.url)
    made = create(lab, source, plan(step("list_notes")))
    archived = lab.call("PATCH", f"/mcp-servers/{source.id}", json={"status": "archived"})
    assert archived.status_code == 200
    place = f"/workflows/{made['workflow']['id']}/runs"
    assert refusal(lab.call("POST", place, json={})) == (409, "conflict")
    work_off(lab)
    assert end_of(run_of(lab, made)) == ("pass", "Passed", "none")


@pytest.mark.parametrize("part", ["", "/trace", "/evaluation", "/tool-calls"])
def test_runs_that_nobody_has_are_alike(lab: Household, part: str) -> None:
    for run_id in (new_id(), "not-an-id", "..%2F..%2Fetc"):
        assert lab.call("GET", f"/runs/{run_id}{part}").status_code == 404
