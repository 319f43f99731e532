"""MCP at the hosted endpoint in both eras: versions, headers, shapes, batches, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp_types.methods import validate_server_result

from ammeter.doors.mcp_protocol.messages import SUPPORTED
from ammeter.features.gateway.tools import TOOLS
from tests.doors.hosted.visitor import META, MODERN, Visitor

INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "tests", "version": "1"},
}


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18", "2025-11-25"])
def test_each_older_revision_is_negotiated_as_asked(visitor: Visitor, version: str) -> None:
    answer = visitor.ask(
        "initialize", INITIALIZE | {"protocolVersion": version}, mcp_protocol_version=version
    )
    result = answer.json()["result"]
    validate_server_result("initialize", version, result)
    assert result["protocolVersion"] == version
    assert result["capabilities"] == {"tools": {}}
    assert "search_sdk" in result["instructions"]
    assert "Shop 1: " in result["instructions"]
    assert answer.headers["mcp-session-id"]
    listed = visitor.ask("tools/list", mcp_protocol_version=version).json()["result"]
    validate_server_result("tools/list", version, listed)
    assert [tool["name"] for tool in listed["tools"]] == ["search_sdk", "execute_script"]


@pytest.mark.parametrize("version", ["2024-11-05", "1.0", "2026-07-28", "2099-01-01"])
def test_another_revision_is_answered_with_the_newest_of_its_era(visitor: Visitor, version: str) -> None:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": INITIALIZE | {"protocolVersion": version},
    }
    assert visitor.post(message).json()["result"]["protocolVersion"] == "2025-11-25"


def test_the_newest_revision_is_discovered(visitor: Visitor) -> None:
    result = visitor.ask_modern("server/discover").json()["result"]
    validate_server_result("server/discover", MODERN, result)
    assert result["supportedVersions"] == list(SUPPORTED)
    assert result["resultType"] == "complete"
    assert (result["ttlMs"], result["cacheScope"]) == (0, "private")
    assert result["_meta"][META + "serverInfo"]["name"] == "ammeter"
    listed = visitor.ask_modern("tools/list").json()["result"]
    validate_server_result("tools/list", MODERN, listed)
    called = visitor.ask_modern("tools/call", {"name": "search_sdk", "arguments": {"query": "thing"}})
    validate_server_result("tools/call", MODERN, called.json()["result"])


def test_the_tools_are_the_same_bytes_everywhere(visitor: Visitor) -> None:
    older = visitor.ask("tools/list").json()["result"]["tools"]
    newer = visitor.ask_modern("tools/list").json()["result"]["tools"]
    assert json.dumps(older) == json.dumps(newer) == json.dumps(TOOLS)
    search, execute = TOOLS
    assert search["annotations"]["readOnlyHint"]
    assert search["annotations"]["idempotentHint"]
    assert execute["annotations"]["destructiveHint"]
    assert execute["annotations"]["openWorldHint"]


def _modern(**changes: Any) -> dict[str, Any]:
    meta = {META + "protocolVersion": MODERN, META + "clientCapabilities": {}}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/list", "params": {"_meta": meta}}
    return message | changes


_HEADERS = {"mcp_protocol_version": MODERN, "mcp_method": "tools/list"}
REFUSED: dict[str, tuple[Any, dict[str, str], int, int]] = {
    "not JSON": ("{", {}, 400, -32700),
    "not UTF-8": (b"\xff\xfe{}", {}, 400, -32700),
    "empty": (b"", {}, 400, -32700),
    "a twin key": ('{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"method":"ping"}', {}, 400, -32700),
    "nested without end": ("[" * 100_000, {}, 400, -32700),
    "a text": ('"ping"', {}, 400, -32600),
    "no version": ({"id": 1, "method": "ping"}, {}, 400, -32600),
    "no method": ({"jsonrpc": "2.0", "id": 1}, {}, 400, -32600),
    "method of another type": ({"jsonrpc": "2.0", "id": 1, "method": 5}, {}, 400, -32600),
    "id null": ({"jsonrpc": "2.0", "id": None, "method": "ping"}, {}, 400, -32600),
    "id an object": ({"jsonrpc": "2.0", "id": {}, "method": "ping"}, {}, 400, -32600),
    "params a list": ({"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}, {}, 400, -32602),
    "unknown method": ({"jsonrpc": "2.0", "id": 1, "method": "resources/list"}, {}, 200, -32601),
    "unknown tool": (
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "search"}},
        {},
        200,
        -32602,
    ),
    "arguments a text": (
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "search_sdk", "arguments": "x"},
        },
        {},
        200,
        -32602,
    ),
    "a cursor": (
        {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "x"}},
        {},
        200,
        -32602,
    ),
    "initialize without version": ({"jsonrpc": "2.0", "id": 1, "method": "initialize"}, {}, 200, -32602),
    "unknown version": (_modern(), _HEADERS | {"mcp_protocol_version": "v999"}, 400, -32020),
    "unknown version in both": (
        _modern(params={"_meta": {META + "protocolVersion": "v999", META + "clientCapabilities": {}}}),
        _HEADERS | {"mcp_protocol_version": "v999"},
        400,
        -32022,
    ),
    "no version header": (_modern(), {"mcp_method": "tools/list"}, 400, -32020),
    "no method header": (_modern(), {"mcp_protocol_version": MODERN}, 400, -32020),
    "another method header": (_modern(), _HEADERS | {"mcp_method": "tools/call"}, 400, -32020),
    "no meta": (_modern(params={}), _HEADERS, 400, -32602),
    "no capabilities": (_modern(params={"_meta": {META + "protocolVersion": MODERN}}), _HEADERS, 400, -32602),
    "a removed method": (_modern(method="ping"), _HEADERS | {"mcp_method": "ping"}, 404, -32601),
    "another name header": (
        _modern(method="tools/call", params=_modern()["params"] | {"name": "search_sdk"}),
        _HEADERS | {"mcp_method": "tools/call", "mcp_name": "execute_script"},
        400,
        -32020,
    ),
    "a name in wrong base64": (
        _modern(method="tools/call", params=_modern()["params"] | {"name": "search_sdk"}),
        _HEADERS | {"mcp_method": "tools/call", "mcp_name": "=?base64?c2VhcmNoX3Nk?="},
        400,
        -32020,
    ),
    "a batch of a later revision": ([], {"mcp_protocol_version": "2025-06-18"}, 400, -32600),
    "an empty batch": ([], {}, 400, -32600),
    "a batch too long": ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}] * 21, {}, 400, -32600),
    "initialize in a batch": (
        [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}],
        {},
        400,
        -32600,
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_message_is_refused_in_words(visitor: Visitor, what: str) -> None:
    content, headers, status, code = REFUSED[what]
    answer = visitor.post(content, **headers)
    body = answer.json()
    assert (answer.status_code, body["error"]["code"]) == (status, code), body
    assert body["jsonrpc"] == "2.0"
    assert len(body["error"]["message"]) > 10
    if isinstance(content, dict) and isinstance(content.get("id"), int):
        assert body["id"] == content["id"]


def test_the_blanks_and_base64_of_headers_are_read_as_http_says(visitor: Visitor) -> None:
    arguments = {"name": "search_sdk", "arguments": {"query": "thing"}}
    for name in ("  search_sdk ", "=?base64?c2VhcmNoX3Nkaw==?="):
        assert visitor.ask_modern("tools/call", arguments, mcp_name=name).status_code == 200


def test_what_asks_for_nothing_is_accepted(visitor: Visitor) -> None:
    for message in (
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        [{"jsonrpc": "2.0", "method": "notifications/initialized"}],
    ):
        answer = visitor.post(message)
        assert (answer.status_code, answer.content) == (202, b"")


def test_a_batch_of_the_oldest_revision_is_answered_in_one(visitor: Visitor) -> None:
    batch = [
        {"jsonrpc": "2.0", "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": "two", "method": "nope"},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/list"},
    ]
    answers = visitor.post(batch, mcp_protocol_version="2025-03-26").json()
    assert [answer["id"] for answer in answers] == [1, "two", 3]
    assert answers[0]["result"] == {}
    assert answers[1]["error"]["code"] == -32601


def test_other_methods_and_media_are_refused(visitor: Visitor) -> None:
    client, key = visitor.household.client, visitor.household.tokens[visitor.role]
    for method in ("GET", "DELETE", "PUT"):
        answer = client.request(method, visitor.path, headers={"authorization": f"Bearer {key}"})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert visitor.post("{}", content_type="text/plain").status_code == 415
    assert visitor.post("{}", accept="text/html").status_code == 406
    assert visitor.post(b" " * 1_100_000).status_code == 413


def test_a_page_of_another_origin_may_not_ask(visitor: Visitor) -> None:
    assert visitor.ask("ping", origin="https://evil.example").status_code == 403
    assert visitor.ask("ping", origin="null").status_code == 403
    assert visitor.ask("ping", origin="http://localhost:3000").status_code == 200
