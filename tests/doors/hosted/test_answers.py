"""What agents are told: results, cuts, logs, errors with their line and a hint, which writes landed."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.doors.hosted.test_protocol import INITIALIZE
from tests.doors.hosted.visitor import Visitor, serve
from tests.upstream import TOKEN, Upstream

THING = "client.echo.getThing({ id: 'a', 'X-Api-Key': 'k' })"


def test_calls_come_first_then_logs_then_the_result(visitor: Visitor) -> None:
    result = visitor.tool(
        "execute_script",
        {
            "code": "console.log('one', { a: 1 }); console.warn('two');"
            f" const t = await {THING}; return t.method"
        },
    )
    data = result["structuredContent"]
    assert list(data)[:3] == ["calls", "logs", "result"]
    assert json.loads(result["content"][0]["text"]) == data
    assert data["result"] == "GET"
    assert data["logs"] == ['one {"a":1}', "[warn] two"] or data["logs"][1] == "[warn] two"
    call = data["calls"][0]
    assert (call["operationId"], call["method"], call["path"]) == ("getThing", "GET", "/echo/{id}")
    assert (call["status"], call["outcome"]) == (200, "ok")
    assert result["isError"] is False


SHAPES = {
    "bare": "return 1 + 1",
    "an async function": "async () => 1 + 1",
    "run(client)": f"async function run(client) {{ await {THING}; return 2 }}",
    "a module": "export default async function () { return 2 }",
    "fenced": "Here it is:\n```ts\nconst x: number = 2;\nreturn x;\n```\n",
    "TypeScript": "enum E { A = 2 }\ninterface T { x: number }\n"
    "const t = { x: E.A } satisfies T;\nreturn t.x as number",
    "with a header": "/** @intent count\n * @context tests\n * @frustration_level 2 */\nreturn 2",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_accepted_shape_of_code_runs(visitor: Visitor, shape: str) -> None:
    data = visitor.run(SHAPES[shape])
    assert data["result"] == 2, data


def test_a_large_result_is_cut_and_says_so(visitor: Visitor) -> None:
    data = visitor.run(
        "return { total: 5000, rows: Array.from({ length: 5000 }, (_, i) => ({ id: i })), last: 1 }"
    )
    assert data["result"]["total"] == 5000
    assert data["result"]["last"] == 1
    assert len(json.dumps(data["result"], separators=(",", ":"), ensure_ascii=False)) <= 24_000
    kept = len(data["result"]["rows"]) - 1
    assert data["truncated"][0] == f"result.rows: {kept:,} of 5,000 items are shown"
    assert visitor.events(1, kind="script")[0]["truncated"]


def test_many_logs_are_cut(visitor: Visitor) -> None:
    data = visitor.run("for (let i = 0; i < 100000; i++) console.log('line ' + i); return 'done'")
    assert data["result"] == "done"
    assert len(data["logs"]) <= 201
    assert "left out" in data["logs"][-1] or "cut" in data["logs"][-1]


ERRORS: dict[str, tuple[str, int | None, str]] = {
    "\nthrow new RangeError('too far')": ("RangeError", 2, "too far"),
    "const a = 1;\nreturn missing + a": ("ReferenceError", 2, "missing is not defined"),
    "return await fetch('https://x.example')": ("ReferenceError", 1, "fetch"),
    "const x = ;": ("SyntaxError", 1, ""),
    "throw 'text'": ("Thrown", None, "text"),
    "throw { code: 5 }": ("Thrown", None, "5"),
    "throw null": ("Thrown", None, "null"),
    "const g = client.echo;\nreturn g.nope()": ("TypeError", 2, "The SDK has no echo.nope"),
    "return await client.echo.getThing()": ("TypeError", 1, "args.id: this argument is required"),
    "return await client.status.postStatus({ status: 409, body: {} })": ("ApiError", 1, "409"),
}


@pytest.mark.parametrize("code", ERRORS)
def test_an_error_has_its_message_line_and_source_line(visitor: Visitor, code: str) -> None:
    name, line, message = ERRORS[code]
    error = visitor.run(code)["error"]
    assert error["name"] == name, error
    assert message in error["message"], error
    if line is not None:
        assert error["line"] == line, error
        assert error["sourceLine"].strip() == code.split("\n")[line - 1].strip()


def test_errors_of_known_kinds_come_with_a_hint(visitor: Visitor) -> None:
    for code, word in {
        "return await fetch('https://x')": "no network",
        "return process.env.HOME": "environment",
        "return await client.status.postStatus({ status: 404, body: {} })": "ids",
    }.items():
        assert word in visitor.run(code)["error"]["hint"], code


def test_names_that_do_not_exist_are_refused_before_anything_runs(
    visitor: Visitor, upstream: Upstream
) -> None:
    data = visitor.run(f"await {THING};\nreturn await client.echo.getThings({{}})")
    assert data["error"]["name"] == "unknown_name"
    assert (
        "Line 2: there is no client.echo.getThings. Did you mean client.echo.getThing?"
        in data["error"]["message"]
    )
    assert (data["calls"], upstream.seen) == ([], [])
    event = visitor.events(1, error_class="unknown_name")[0]
    assert event["invented"] == ["client.echo.getThings"]
    session = visitor.ask("initialize", INITIALIZE).headers["mcp-session-id"]
    code = "const group = client.echo; return group.putThing({})"
    assert "echo.putThing" in visitor.run(code, mcp_session_id=session)["error"]["message"]
    event = visitor.events(1, kind="script", session_id=session.partition(".")[0])[0]
    assert event["invented"] == ["client.echo.putThing"]


def test_a_timeout_tells_which_writes_landed_and_which_were_in_flight(
    visitor: Visitor, upstream: Upstream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_SCRIPT_SECONDS", "4")
    house, client = visitor.household.house, visitor.household.client
    quick = serve(house, client, upstream, scriptTimeoutEnv="SHOP_SCRIPT_SECONDS")
    assert "4 s," in quick.ask_modern("server/discover").json()["result"]["instructions"]
    upstream.release.clear()
    data = quick.run(
        "await client.echo.postThing({ id: 'a', name: 'x' });"
        " await Promise.all([client.slow.postSlow(), client.slow.getSlow()])"
    )
    upstream.release.set()
    error = data["error"]
    assert error["name"] == "timeout"
    assert "These writes landed: echo.postThing (POST /echo/{id})." in error["message"]
    assert "may have landed: slow.postSlow (POST /slow)" in error["message"]
    assert "In flight were the reads slow.getSlow" in error["message"]
    assert [call["outcome"] for call in data["calls"]] == ["ok", "unknown", "in_flight"]
    event = quick.events(1, error_class="timeout")[0]
    assert "unknown_outcome_write" in event["flags"]


ENDS = {
    "while (true) {}": "cpu_limit timeout",
    "await new Promise(() => {})": "stalled",
    "const a = []; while (true) a.push(new Uint8Array(1 << 20).fill(1))": "memory_limit",
    "function f() { return f() + 1 } return f()": "InternalError RangeError",
    "": "empty_script",
    "// " + "x" * 300_000: "script_too_large",
    "return 'x'.repeat(50_000_000)": "output_limit memory_limit",
    "const a = {}; a.a = a; return a": "TypeError",
}


@pytest.mark.parametrize("code", ENDS, ids=lambda code: code[:30])
def test_every_end_has_a_name_and_advice(visitor: Visitor, code: str) -> None:
    error = visitor.run(code)["error"]
    assert error["name"] in ENDS[code].split(), error
    assert len(error["message"]) > 20
    assert visitor.run("return 'still here'")["result"] == "still here"


def test_files_come_back_as_content(visitor: Visitor) -> None:
    png = base64.b64encode(b"\x89PNG").decode()
    code = f"return {{ cover: {{ base64: '{png}', contentType: 'image/png' }}, n: 1 }}"
    result = visitor.tool("execute_script", {"code": code})
    assert result["content"][1] == {"type": "image", "data": png, "mimeType": "image/png"}
    assert result["structuredContent"]["result"]["cover"]["file"] == "attached as file 1"


def test_half_a_surrogate_pair_is_no_fault(visitor: Visitor) -> None:
    assert (
        visitor.run("console.log('\\ud83d'); return ['\\ud83d', '\\u{1F600}', '\\u2028']")["result"][1]
        == "😀"
    )


BAD_ARGUMENTS: list[tuple[str, Any]] = [
    ("search_sdk", {}),
    ("search_sdk", {"query": 5}),
    ("search_sdk", {"query": "x", "limit": "many"}),
    ("search_sdk", {"query": "x", "limit": True}),
    ("search_sdk", {"query": "x", "max": 3}),
    ("execute_script", {}),
    ("execute_script", {"code": None}),
    ("execute_script", {"script": "return 1"}),
]


@pytest.mark.parametrize(("tool", "arguments"), BAD_ARGUMENTS)
def test_wrong_arguments_are_told_to_the_agent(visitor: Visitor, tool: str, arguments: Any) -> None:
    result = visitor.tool(tool, arguments)
    assert result["isError"]
    assert "argument" in result["content"][0]["text"]


def test_a_search_ranks_shows_and_clamps(visitor: Visitor) -> None:
    found = visitor.tool("search_sdk", {"query": "get thing", "limit": 99})
    data = found["structuredContent"]
    assert "limit 99 is out of 1 to 20" in data["notes"][0]
    first = data["results"][0]
    assert {"operationId", "sdkName", "signature", "summary", "method", "path", "example", "score"} <= set(
        first
    )
    assert first["operationId"] == "getThing"
    assert data["miss"] is False
    assert "client.echo.getThing" in found["content"][0]["text"]
    assert visitor.run(first["example"])["calls"][0]["operationId"] == "getThing"
    assert (
        len(visitor.tool("search_sdk", {"query": "get thing", "limit": 0})["structuredContent"]["results"])
        == 1
    )


def test_a_miss_says_so(visitor: Visitor) -> None:
    found = visitor.tool("search_sdk", {"query": "bake a wedding cake with marzipan"})["structuredContent"]
    assert found["miss"] is True
    assert "nearestGroups" in found
    assert visitor.events(1, kind="search", outcome="miss")[0]["query"] == "bake a wedding cake with marzipan"


def test_the_credential_is_not_in_anything_a_client_gets(visitor: Visitor, upstream: Upstream) -> None:
    data = visitor.run(f"const t = await {THING}; console.log(JSON.stringify(t)); return t")
    assert upstream.seen[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert TOKEN not in json.dumps(data)
    assert "redacted" in json.dumps(data)
    event = visitor.events(1, kind="script")[0]
    assert TOKEN not in json.dumps(event["result"])
    assert "secret_stripped" in event["flags"]
