"""One whole story with a real language model: a source and a workflow over REST, a dispatch with a CI key,
polls, the evaluation, the tool calls and the trace, and a gate on what came of it.

The model is tiny and what it decides is its own affair; that every number and word adds up is ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
from typer.testing import CliRunner

from ammeter.cli.app import app
from ammeter.features.orgs.model import Role
from tests.household import make_client, make_household, make_settings, opened_house
from tests.mcp_servers.one_tool import one_tool_server
from tests.server import running, until
from tests.tiny_model import tiny_model

TERMINAL = {"Passed": "pass", "PartlyPassed": "partial", "Incomplete": "partial", "Failed": "fail"}
CRITERIA = [
    {"criterionText": "It greets", "assertion": {"kind": "tool_called", "tool": "greet"}},
    {"criterionText": "Not too often", "assertion": {"kind": "max_tool_calls", "value": 3}},
    {"criterionText": "The greeting is friendly.", "isRequired": False},  # There is no judge: undecided.
]


def test_a_real_model_plays_a_workflow_and_a_gate_reads_its_verdict(sqlite_url: str, tmp_path: Path) -> None:
    settings = make_settings(sqlite_url, tmp_path)
    with opened_house(settings) as house, make_client(house) as client:
        token = make_household(house, client).tokens[Role.editor]
    with one_tool_server() as greeter, tiny_model(tmp_path) as model_url:
        endpoint = {"baseUrl": model_url, "mode": "constrained", "names": ["smol"]}
        told = {
            "allow_private_networks": "127.0.0.0/8",
            "database_url": sqlite_url,
            "models": json.dumps({"tiny": endpoint}),
        }
        with running(tmp_path, **told) as server:
            headers = {"authorization": f"Bearer {token}"}
            with httpx2.Client(headers=headers, base_url=server.api, timeout=30) as ci:
                run = _story(ci, greeter.url)
                _adds_up(ci, run, greeter.names)
            told_cli = {"AMMETER_URL": server.url, "AMMETER_API_KEY": token}
            gate = CliRunner().invoke(app(), ["run", "watch", run["id"]], env=told_cli)
            assert gate.exit_code == (0 if run["status"] == "pass" else 4), gate.output


def _story(ci: httpx2.Client, url: str) -> dict[str, Any]:
    made = ci.post("/mcp-servers", json={"name": "Greeter", "baseUrl": url}).json()
    body = {
        "name": "Greets",
        "mcpServerId": made["server"]["id"],
        "testerPrompt": "Greet Ada with the tool greet.",
        "testerModelId": "tiny/smol",
        "criteria": CRITERIA,
        "limits": {"maxTurns": 2, "maxOutputTokens": 60},
    }
    created = ci.post("/workflows", json=body)
    assert created.status_code == 201, created.text
    workflow_id = created.json()["workflow"]["id"]
    asked = {"idempotencyKey": "build-1", "reason": "build 1"}
    sent = ci.post(f"/workflows/{workflow_id}/runs", json=asked)
    assert sent.status_code == 202, sent.text
    [run_id] = sent.json()["runIds"]
    assert ci.post(f"/workflows/{workflow_id}/runs", json=asked).json()["runIds"] == [run_id]

    def run() -> dict[str, Any]:
        read: dict[str, Any] = ci.get(f"/runs/{run_id}").json()
        return read

    until(lambda: run()["status"] != "running", "the run has ended", 180)
    return run()


def _adds_up(ci: httpx2.Client, run: dict[str, Any], greeted: list[str]) -> None:
    assert run["status"] == TERMINAL[run["outcome"]], run
    assert run["model"] == {"id": "tiny/smol", "provider": "tiny"}
    assert 1 <= run["turns"] <= 2
    assert run["cost"]["inputTokens"] > 50
    assert 0 < run["cost"]["outputTokens"] <= 60 * run["turns"]
    assert run["cost"]["usd"] is None
    calls = ci.get(f"/runs/{run['id']}/tool-calls").json()["rows"]
    # The grammar lets it name no other tool and leave no argument out.
    assert [call["toolName"] for call in calls] == ["greet"] * run["toolCalls"]
    assert [call["arguments"]["name"] for call in calls if not call["isError"]] == greeted
    spans = {span["id"]: span for span in ci.get(f"/runs/{run['id']}/trace").json()["spans"]}
    assert sum(span["kind"] == "model_turn" for span in spans.values()) == run["turns"]
    evaluation = ci.get(f"/runs/{run['id']}/evaluation").json()
    marks = {mark["criterionText"]: mark for mark in evaluation["criteria"]}
    assert marks["It greets"]["mark"] == ("pass" if calls else "fail")
    assert marks["Not too often"]["mark"] == "pass"
    assert marks["The greeting is friendly."]["mark"] is None
    for mark in evaluation["criteria"]:
        for evidence in mark["evidence"]:
            assert evidence["excerpt"] in json.dumps(spans[evidence["spanId"]], ensure_ascii=False)
    assert evaluation["outcome"] == run["outcome"]
