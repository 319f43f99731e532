"""Ammeter's own MCP server at `/mcp`: its tools and their exact schemas in both eras, roles as over REST, and
what an agent is told when it asks for something that is not so."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from mcp_types.methods import validate_server_result

from ammeter.doors.http.errors import STATUS_OF
from ammeter.doors.own_mcp.door import ERROR_META
from ammeter.features.orgs import service as orgs
from ammeter.features.orgs.model import Role
from ammeter.features.sources.model import Source
from tests.doors.hosted.visitor import CLIENT, META, MODERN
from tests.evaluating import add_source, list_runs, work_off
from tests.features.suites.suiting import case, suite
from tests.household import OPERATOR, Household, make_client, refusal
from tests.notes_server import NotesServer
from tests.own_tools import refused_tool, tool_result, use_tool

NAMED = ["list_eval_cases", "run_eval_suite", "get_suite_run"]


@pytest.fixture
def source(lab: Household, notes: NotesServer) -> Source:
    notes.notes |= {"milk": "kept", "eggs": "kept"}
    return add_source(lab.house, lab.org.id, notes.url, categories=("crm",))


@pytest.fixture
def cases(lab: Household, source: Source) -> list[str]:
    made = [case(lab, source, title) for title in ("milk", "eggs")]
    work_off(lab)
    return made


def post(lab: Household, message: Any, role: Role = Role.owner, **headers: str) -> Any:
    sent = {"authorization": f"Bearer {lab.tokens[role]}", "accept": "application/json, text/event-stream"}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    return lab.client.post("/mcp", headers=sent, json=message)


def ask(lab: Household, method: str, params: Any = None, role: Role = Role.owner) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
    return post(lab, message, role, mcp_protocol_version="2025-11-25")


def ask_modern(lab: Household, method: str, params: Any = None) -> Any:
    params = dict(params or {})
    params["_meta"] = {
        META + "protocolVersion": MODERN,
        META + "clientInfo": CLIENT,
        META + "clientCapabilities": {},
    }
    message = {"jsonrpc": "2.0", "id": "m", "method": method, "params": params}
    told = {"mcp_protocol_version": MODERN, "mcp_method": method}
    if method == "tools/call":
        told["mcp_name"] = params["name"]
    return post(lab, message, Role.owner, **told)


def tool(lab: Household, name: str, role: Role = Role.owner, **arguments: Any) -> Any:
    """The structured content of a call that succeeds, held to the tool's own schema."""
    answer = ask(lab, "tools/call", {"name": name, "arguments": arguments}, role)
    result = answer.json()["result"]
    assert not result.get("isError"), result
    content = result["structuredContent"]
    assert json.loads(result["content"][0]["text"]) == content
    schema = next(each for each in tools(lab) if each["name"] == name).get("outputSchema")
    if schema is not None:
        jsonschema.Draft202012Validator(schema).validate(content)
    return content


def told(lab: Household, name: str, role: Role = Role.owner, **arguments: Any) -> str:
    """What a call that fails says."""
    result = ask(lab, "tools/call", {"name": name, "arguments": arguments}, role).json()["result"]
    assert result["isError"] is True
    assert "structuredContent" not in result
    text: str = result["content"][0]["text"]
    fault = result["_meta"][ERROR_META]
    assert text.startswith(fault["message"])
    assert STATUS_OF[fault["code"]] == fault["status"]
    return text


def tools(lab: Household) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = ask(lab, "tools/list").json()["result"]["tools"]
    return listed


def test_both_eras_find_the_tools(lab: Household) -> None:
    for version in ("2025-03-26", "2025-06-18", "2025-11-25"):
        begun = ask(lab, "initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT})
        result = begun.json()["result"]
        validate_server_result("initialize", version, result)
        assert (result["protocolVersion"], "run_eval_suite" in result["instructions"]) == (version, True)
        validate_server_result("tools/list", version, ask(lab, "tools/list").json()["result"])
    found = ask_modern(lab, "server/discover").json()["result"]
    validate_server_result("server/discover", MODERN, found)
    listed = ask_modern(lab, "tools/list").json()["result"]
    validate_server_result("tools/list", MODERN, listed)
    assert [each["name"] for each in listed["tools"]][:3] == NAMED
    called = ask_modern(lab, "tools/call", {"name": "list_eval_cases", "arguments": {}})
    validate_server_result("tools/call", MODERN, called.json()["result"])


def test_every_schema_is_one_and_refuses_what_it_does_not_name(lab: Household) -> None:
    for each in tools(lab):
        for schema in (each["inputSchema"], each.get("outputSchema", {})):
            jsonschema.Draft202012Validator.check_schema(schema)
        assert each["inputSchema"]["type"] == "object"
        assert each["inputSchema"]["additionalProperties"] is False
        assert '"title"' not in json.dumps(each["inputSchema"])
        changes = each["name"] in ("run_eval_suite", "cancel_suite_run")
        assert each["annotations"]["readOnlyHint"] is not changes
    by_name = {each["name"]: each for each in tools(lab)}
    assert set(by_name["run_eval_suite"]["inputSchema"]["properties"]) == {
        *("suite", "caseIds", "category", "modelIds", "baselineSuiteRunId", "repeats", "idempotencyKey"),
        *("reason", "waitSeconds", "gate", "bundleId"),
    }
    assert by_name["get_suite_run"]["inputSchema"]["required"] == ["suiteRunId"]
    assert {"readyToShip", "reasons", "cases", "status"} <= set(
        by_name["get_suite_run"]["outputSchema"]["properties"]
    )


def test_the_three_tools_lead_to_an_answer(lab: Household, cases: list[str]) -> None:
    made = suite(lab, *cases)
    listed = tool(lab, "list_eval_cases", Role.viewer, search="read eggs")
    [row] = listed["cases"]
    assert (row["id"], row["source"]["name"], row["categories"], row["lastOutcome"]) == (
        cases[1],
        "Notes",
        ["crm"],
        "Passed",
    )
    assert listed["suites"] == [{"id": made["id"], "name": "Release", "caseIds": cases}]
    started = tool(lab, "run_eval_suite", suite="Release", idempotencyKey="k", reason="an agent asks")
    assert (started["status"], started["readyToShip"], started["trigger"]) == ("running", False, "mcp")
    again = tool(lab, "run_eval_suite", suite=made["id"], idempotencyKey="k")
    assert (again["id"], again["deduplicated"]) == (started["id"], True)
    work_off(lab)
    ended = tool(lab, "get_suite_run", Role.viewer, suiteRunId=started["id"])
    assert (ended["status"], ended["readyToShip"], ended["reasons"]) == ("pass", True, [])
    run = lab.call("GET", f"/runs/{ended['cases'][0]['runs'][0]['id']}").json()
    assert (run["trigger"], run["tags"]) == ("suite", ["suite", "mcp"])
    by_cases = tool(lab, "run_eval_suite", caseIds=cases[:1], baselineSuiteRunId=started["id"])
    assert by_cases["comparison"]["rows"][1]["change"] == "removed"
    assert len(tool(lab, "run_eval_suite", category="crm", repeats=2)["cases"]) == 2


def test_what_is_wrong_is_told_to_the_agent(lab: Household, cases: list[str]) -> None:
    suite(lab, *cases)
    before = len(list_runs(lab, cases[0]))
    assert 'Did you mean "Release"?' in told(lab, "run_eval_suite", suite="Relaese")
    assert "name one of them" in told(lab, "run_eval_suite")
    assert 'caseids: there is no such argument. Did you mean "caseIds"?' in told(
        lab, "run_eval_suite", caseids=cases
    )
    assert "there is no such workflow" in told(lab, "run_eval_suite", caseIds=["x"])
    assert "waitSeconds" in told(lab, "get_suite_run", suiteRunId="x", waitSeconds=601)
    assert told(lab, "get_suite_run", suiteRunId="x") == "No such suite run."
    assert "suiteRunId: this is required" in told(lab, "get_suite_run")
    assert "the role editor or above" in told(lab, "run_eval_suite", Role.viewer, suite="Release")
    assert "runId: this is required" in told(lab, "get_run")
    assert 'Did you mean "runId"?' in told(lab, "get_run", runid="x")
    assert told(lab, "get_run", runId="x") == "No such run."
    assert "range" in told(lab, "list_runs", range="1y")
    assert "MCP Analytics is off" in told(lab, "get_insights_overview")
    assert len(list_runs(lab, cases[0])) == before
    unknown = ask(lab, "tools/call", {"name": "run_eval_suit", "arguments": {}}).json()["error"]
    assert (unknown["code"], "run_eval_suite" in unknown["message"]) == (-32602, True)


def test_programs_read_the_same_fault_as_over_rest(lab: Household, cases: list[str]) -> None:
    called = ask_modern(lab, "tools/call", {"name": "get_suite_run", "arguments": {"suiteRunId": "x"}})
    result = called.json()["result"]
    validate_server_result("tools/call", MODERN, result)
    assert result["_meta"][ERROR_META] == {
        "code": "not_found",
        "status": 404,
        "message": "No such suite run.",
        "details": [],
    }
    assert META + "serverInfo" in result["_meta"]
    over_rest = lab.call("GET", "/runs?range=1y").json()["error"]
    fault = refused_tool(lab, "list_runs", range="1y")
    assert fault == {"status": 422} | {name: over_rest[name] for name in ("code", "message", "details")}
    [wrong] = refused_tool(lab, "run_eval_suite", caseIds=cases, gate={"minscore": 1})["details"]
    assert wrong == {
        "path": "gate.minscore",
        "message": 'there is no such argument. Did you mean "minScore"?',
    }


def test_a_limit_that_is_reached_says_when_to_come_back(lab: Household, cases: list[str]) -> None:
    house = replace(lab.house, runs_policy=replace(lab.house.runs_policy, burst=1, per_second=0.02))
    with make_client(house) as client:
        limited = replace(lab, house=house, client=client)
        use_tool(limited, "run_eval_suite", caseIds=cases)
        fault = refused_tool(limited, "run_eval_suite", caseIds=cases)
    assert (fault["code"], fault["status"]) == ("rate_limited", 429)
    assert 40 <= fault["retryAfterSeconds"] <= 50
    assert fault["message"].endswith("Nothing was started.")


def test_suite_runs_are_listed_in_pages_and_cancelled(lab: Household, cases: list[str]) -> None:
    made = suite(lab, *cases)
    first, second = (tool(lab, "run_eval_suite", suite="Release", reason=word)["id"] for word in "ab")
    alone = tool(lab, "run_eval_suite", caseIds=cases[:1])["id"]
    page = tool(lab, "list_suite_runs", Role.viewer, suite=made["id"], pageSize=1)
    assert (page["total"], page["hasMore"], [row["id"] for row in page["rows"]]) == (2, True, [second])
    page = tool(lab, "list_suite_runs", suite="Release", pageSize=1, page=2)
    assert (page["hasMore"], [row["id"] for row in page["rows"]]) == (False, [first])
    assert [row["id"] for row in tool(lab, "list_suite_runs")["rows"]] == [alone, second, first]
    assert 'Did you mean "Release"?' in told(lab, "list_suite_runs", suite="Relaese")
    assert "the role editor or above" in told(lab, "cancel_suite_run", Role.viewer, suiteRunId=alone)
    ended = tool(lab, "cancel_suite_run", Role.editor, suiteRunId=alone)
    assert (ended["status"], ended["cases"][0]["outcome"]) == ("cancelled", "cancelled")


def test_a_start_takes_a_gate_of_its_own_and_a_bundle_only_from_admins(
    lab: Household, cases: list[str]
) -> None:
    suite(lab, *cases, gate={"strict": True})
    started = tool(lab, "run_eval_suite", suite="Release", gate={"minScore": 0.5, "maxCostUsd": 2})
    assert started["gate"] == {
        "minScore": 0.5,
        "requireAll": True,
        "strict": False,
        "minPassRate": 1.0,
        "maxCostUsd": 2.0,
    }
    preview = refused_tool(lab, "run_eval_suite", Role.editor, suite="Release", bundleId=cases[0])
    assert preview["code"] == "insufficient_role"


def test_a_key_of_another_source_sees_no_suite_run(lab: Household, cases: list[str]) -> None:
    suite(lab, *cases)
    started = tool(lab, "run_eval_suite", suite="Release")["id"]
    other = add_source(lab.house, lab.org.id, "https://other.example/mcp")
    key = {"name": "narrow", "role": "owner", "sourceIds": [other.id]}
    token = lab.call("POST", "/org/keys", json=key).json()["token"]
    assert tool_result(lab, "list_suite_runs", token, {})["structuredContent"]["rows"] == []
    refused = [
        ("get_suite_run", {"suiteRunId": started}),
        ("cancel_suite_run", {"suiteRunId": started}),
        ("list_suite_runs", {"suite": "Release"}),
        ("run_eval_suite", {"suite": "Release"}),
    ]
    for name, arguments in refused:
        result = tool_result(lab, name, token, arguments)
        assert result["_meta"][ERROR_META]["code"] == "not_found", name


def test_runs_and_insights_are_read_as_over_rest(
    lab: Household, notes: NotesServer, cases: list[str]
) -> None:
    [run] = list_runs(lab, cases[0])
    listed = tool(lab, "list_runs", Role.viewer, workflowId=cases[0], status="pass", pageSize=5)
    assert listed["rows"] == [run]
    assert tool(lab, "get_run", runId=run["id"]) == run
    evaluation = lab.call("GET", f"/runs/{run['id']}/evaluation").json()
    assert tool(lab, "get_run_evaluation", runId=run["id"]) == evaluation
    [call] = tool(lab, "list_run_tool_calls", runId=run["id"])["rows"]
    assert (call["toolName"], call["arguments"]) == ("get_note", {"title": "milk"})
    with lab.house.db.write() as tx:
        orgs.set_features(tx, OPERATOR, lab.org, mcp_analytics=True)
    assert tool(lab, "get_insights_overview", range="30d")["range"] == "30d"
    for name in ("list_topics", "list_failed_searches", "list_sessions"):
        assert tool(lab, name, Role.viewer, limit=3) == {"rows": []}


def test_strangers_and_other_methods_are_refused_over_http(lab: Household) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    stranger = lab.client.post("/mcp", json=message, headers={"authorization": "Bearer amt_x_y"})
    assert (stranger.status_code, stranger.json()["error"]["data"]["code"]) == (401, "unauthenticated")
    got = lab.client.get("/mcp", headers={"authorization": f"Bearer {lab.tokens[Role.owner]}"})
    assert (got.status_code, got.headers["allow"]) == (405, "POST")
    elsewhere = post(lab, message, origin="https://evil.example")
    assert elsewhere.status_code == 403
    assert refusal(lab.call("GET", "/mcp")) == (404, "not_found")
