"""A run over REST from its dispatch to its evaluation, by a worker, against a real MCP server."""

from __future__ import annotations

from typing import Any

from tests.evaluating import add_source, create, list_runs, plan, step, work_off
from tests.household import Household, refusal
from tests.notes_server import NotesServer


def test_a_scripted_run_from_dispatch_to_evaluation(lab: Household, notes: NotesServer) -> None:
    source = add_source(lab.house, lab.org.id, notes.url)
    prompt = plan(
        step("add_note", title="milk", text="two litres") | {"saveAs": "made"},
        step("get_note", title="{{made.title}}"),
        step("get_note", title="eggs") | {"expectError": True},
        answer="Note {{made.id}} is there.",
    )
    criteria: list[dict[str, Any]] = [
        {
            "criterionText": "The note is added",
            "isRequired": True,
            "assertion": {"kind": "tool_called", "tool": "add_note", "arguments": {"title": "milk"}},
        },
        {
            "criterionText": "Its text is read back",
            "isRequired": True,
            "assertion": {
                "kind": "json_path_equals",
                "tool": "get_note",
                "path": "$.text",
                "value": "two litres",
            },
        },
        {
            "criterionText": "The answer names it",
            "isRequired": False,
            "assertion": {"kind": "final_answer_matches", "pattern": "note-[0-9]+"},
        },
    ]
    made = create(lab, source, prompt, criteria=criteria)
    assert made["initialDispatch"] == {"queued": 1, "failed": 0}
    work_off(lab)
    [run] = list_runs(lab, made["workflow"]["id"])
    assert (run["status"], run["outcome"], run["score"]) == ("pass", "Passed", 1.0), run
    assert (run["phase"], run["trigger"], run["tags"]) == ("finished", "initial", ["initial"])
    assert (run["toolCalls"], run["classification"], run["error"]) == (3, "none", None)
    assert run["cost"] == {"usd": 0.0, "inputTokens": 0, "outputTokens": 0, "judgeUsd": 0.0}
    evaluation = lab.call("GET", f"/runs/{run['id']}/evaluation").json()
    assert [mark["mark"] for mark in evaluation["criteria"]] == ["pass", "pass", "pass"]
    trace = lab.call("GET", f"/runs/{run['id']}/trace").json()
    texts = {span["id"]: span for span in trace["spans"]}
    for mark in evaluation["criteria"]:
        assert mark["judgedBy"] == "assertion"
        for evidence in mark["evidence"]:
            assert evidence["spanId"] in texts
    calls = lab.call("GET", f"/runs/{run['id']}/tool-calls").json()["rows"]
    assert [call["toolName"] for call in calls] == ["add_note", "get_note", "get_note"]
    assert [call["isError"] for call in calls] == [False, False, True]
    assert notes.made("get_note") == [{"title": "milk"}, {"title": "eggs"}]
    usage = lab.call("GET", "/org").json()["usage"]
    assert usage["usedRuns"] == 1
    assert refusal(lab.call("GET", f"/runs/{lab.org.id}/evaluation")) == (404, "not_found")
