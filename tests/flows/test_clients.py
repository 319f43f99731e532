"""The official MCP clients at a real server, in both eras: each reads the instructions, lists exactly two
tools, searches and runs a script that calls the API.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.flows.demo_server import Demo

TOOLS = Path(__file__).parents[1] / "tools"
INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
CODE = """\
/** @intent name a book @context a test @frustration_level 0 */
const book = await shop.books.getBook({ book_id: "bk_0001" });
return { title: book.title, pages: book.pages };
"""
ERAS = {"legacy": "2025-11-25", "auto": "2026-07-28", "2026-07-28": "2026-07-28"}


@asynccontextmanager
async def python_client(demo: Demo, mode: str) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {demo.key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(demo.endpoint, http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.mark.parametrize("mode", ERAS)
def test_the_python_client_works(demo_server: Demo, mode: str) -> None:
    async def visit() -> dict[str, Any]:
        async with python_client(demo_server, mode) as client:
            found = await client.call_tool("search_sdk", {"query": "list books"})
            ran = await client.call_tool("execute_script", {"code": CODE})
            return {
                "version": client.protocol_version,
                "instructions": client.instructions,
                "tools": [tool.model_dump(by_alias=True) for tool in (await client.list_tools()).tools],
                "found": found.model_dump(by_alias=True),
                "ran": ran.model_dump(by_alias=True),
            }

    # A version that is adopted without asking brings no instructions along.
    _check(asyncio.run(visit()), ERAS[mode], has_instructions=mode in ("legacy", "auto"))


def test_the_typescript_sdk_works(demo_server: Demo) -> None:
    _check(_node("sdk_client.mjs", demo_server.endpoint, demo_server.key, CODE), "2025-11-25")


@pytest.mark.parametrize("mode", ERAS)
def test_the_typescript_client_of_both_eras_works(demo_server: Demo, mode: str) -> None:
    told = _node("stateless_client.mjs", demo_server.endpoint, demo_server.key, CODE, mode)
    _check(told, ERAS[mode])


@pytest.mark.parametrize(("era", "version"), [("legacy", "2025-11-25"), ("modern", "2026-07-28")])
def test_the_inspector_works(demo_server: Demo, tmp_path: Path, era: str, version: str) -> None:
    common = ["--cli", "--server-url", demo_server.endpoint, "--transport", "http", "--protocol-era", era]
    common += ["--format", "json", "--quiet", "--header", f"Authorization: Bearer {demo_server.key}"]

    def ask(method: str, *more: str) -> Any:
        # It keeps a catalog of servers in the home folder.
        return _node(INSPECTOR, *common, "--method", method, *more, HOME=str(tmp_path))["result"]

    def call(name: str, arguments: dict[str, str]) -> Any:
        return ask("tools/call", "--tool-name", name, "--tool-args-json", json.dumps(arguments))

    begun = ask("initialize")
    told = {
        "version": begun["protocolVersion"],
        "instructions": begun["instructions"],
        "tools": ask("tools/list")["tools"],
        "found": call("search_sdk", {"query": "list books"}),
        "ran": call("execute_script", {"code": CODE}),
    }
    _check(told, version)


def _check(told: dict[str, Any], version: str, *, has_instructions: bool = True) -> None:
    assert told["version"] == version
    if has_instructions:
        assert "global `shop`" in told["instructions"]
        assert "Harbour Books" in told["instructions"]
    assert [tool["name"] for tool in told["tools"]] == ["search_sdk", "execute_script"]
    found = told["found"]["structuredContent"]["results"]
    assert found[0]["sdkName"] == "books.listBooks"
    ran = told["ran"]
    assert not ran["isError"]
    assert ran["structuredContent"]["result"] == {"title": "The Lamp at Cabo Raso", "pages": 312}
    assert [call["operationId"] for call in ran["structuredContent"]["calls"]] == ["getBook"]
    assert json.loads(ran["content"][0]["text"])["result"] == ran["structuredContent"]["result"]


def _node(script: str, *args: str, **environment: str) -> Any:
    node = shutil.which("node")
    assert node is not None, "node is missing: make test puts it on PATH (scripts/install-node)"
    assert (TOOLS / "node_modules" / ".installed").is_file(), "run scripts/install-test-tools"
    ended = subprocess.run(
        [node, str(TOOLS / script), *args],
        env={"PATH": str(Path(node).parent)} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)
