"""Connections to real MCP servers: over streamable HTTP, over SSE and through the pipes of a process."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ammeter.engines.egress.guard import Guard
from ammeter.engines.mcp_client.connect import connect
from ammeter.engines.mcp_client.port import Limits, SourceFault, Target
from tests.mcp_servers.real import EVERYTHING, HERE, everything
from tests.server import until

LOCAL = Guard(("127.0.0.0/8",))


@pytest.fixture(scope="module", params=["streamable_http", "sse", "stdio"])
def target(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    if request.param == "stdio":
        script = HERE / "node_modules" / EVERYTHING.name / "dist" / "index.js"
        yield Target(transport="stdio", command=(shutil.which("node") or "", str(script), "stdio"))
        return
    word = "sse" if request.param == "sse" else "streamableHttp"
    with everything(word, tmp_path_factory.mktemp("everything")) as url:  # type: ignore[arg-type]
        yield Target(transport=request.param, url=url)


def test_a_real_server_is_met_listed_and_called(target: Target) -> None:
    async def story() -> None:
        async with connect(target, guard=LOCAL) as connection:
            facts = await connection.initialize()
            assert facts.name == "mcp-servers/everything"
            assert facts.protocol_version == "2025-11-25"
            assert facts.instructions
            assert "tools" in facts.capabilities
            tools = {tool.name: tool for tool in await connection.list_tools()}
            assert tools["echo"].input_schema["required"] == ["message"]
            assert await connection.list_resources()
            assert await connection.list_prompts()
            echoed = await connection.call_tool("echo", {"message": "hello"})
            assert (echoed.is_error, echoed.raw_text) == (False, "Echo: hello")
            several = await asyncio.gather(
                *(connection.call_tool("get-sum", {"a": n, "b": 1}) for n in range(5))
            )
            assert [str(n + 1) in result.raw_text for n, result in enumerate(several)] == [True] * 5

    asyncio.run(story())


def test_what_a_tool_refuses_is_a_result_and_a_slow_tool_a_timeout(target: Target) -> None:
    async def story() -> None:
        async with connect(target, guard=LOCAL) as connection:
            wrong = await connection.call_tool("get-sum", {"a": "no number"})
            assert wrong.is_error
            unknown = await connection.call_tool("no-such-tool", {})
            assert unknown.is_error
            assert "no-such-tool" in unknown.raw_text
            with pytest.raises(SourceFault, match=r"did not answer within 0\.3 s") as slow:
                await connection.call_tool(
                    "trigger-long-running-operation", {"duration": 20, "steps": 2}, timeout_s=0.3
                )
            assert slow.value.kind == "timeout"
            after = await connection.call_tool("echo", {"message": "still here"})
            assert after.raw_text == "Echo: still here"

    asyncio.run(story())


def test_a_closed_connection_says_so(target: Target) -> None:
    async def story() -> None:
        async with connect(target, guard=LOCAL) as connection:
            await connection.initialize()
            await connection.close()
            await connection.close()
            with pytest.raises(SourceFault, match="closed"):
                await connection.call_tool("echo", {"message": "hello"})

    asyncio.run(story())


SERVER = """
import json, os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
def answer(id, result): print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "initialize":
        answer(asked["id"], {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                             "serverInfo": {"name": "small", "version": "1"}})
    elif asked["method"] == "tools/list":
        answer(asked["id"], {"tools": [{"name": "pids", "inputSchema": {"type": "object"}},
                                       {"name": "die", "inputSchema": {"type": "object"}}]})
    elif asked["method"] == "tools/call":
        if asked["params"]["name"] == "die":
            sys.stderr.write("I give up\\n"); os._exit(7)
        told = {"pids": [os.getpid(), child.pid], "env": dict(os.environ)}
        answer(asked["id"], {"content": [{"type": "text", "text": json.dumps(told)}]})
    elif "id" in asked:
        error = {"code": -32601, "message": "no"}
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
"""


def small(tmp_path: Path) -> Target:
    file = tmp_path / "server.py"
    file.write_text(SERVER)
    return Target(transport="stdio", command=(sys.executable, "-I", str(file)), limits=Limits(close_s=0.2))


def test_a_process_sees_no_environment_and_ends_with_its_children(tmp_path: Path) -> None:
    async def story() -> list[int]:
        async with connect(small(tmp_path), guard=LOCAL) as connection:
            assert (await connection.initialize()).protocol_version == "2025-06-18"
            told = json.loads((await connection.call_tool("pids", {})).raw_text)
            assert set(told["env"]) <= {"LC_CTYPE"}
            pids: list[int] = told["pids"]
            return pids

    pids = asyncio.run(story())
    assert len(pids) == 2
    until(lambda: not any(alive(pid) for pid in pids), "both processes are gone")


def test_a_process_that_dies_in_a_call_is_quoted(tmp_path: Path) -> None:
    async def story() -> SourceFault:
        async with connect(small(tmp_path), guard=LOCAL) as connection:
            with pytest.raises(SourceFault) as caught:
                await connection.call_tool("die", {})
            return caught.value

    fault = asyncio.run(story())
    assert fault.kind == "unreachable"
    assert "exit code 7" in fault.message
    assert "I give up" in fault.message


def test_a_server_that_dies_between_calls_is_a_fault_of_the_next(tmp_path: Path) -> None:
    async def story() -> None:
        with everything("streamableHttp", tmp_path) as url:
            async with connect(Target(transport="streamable_http", url=url), guard=LOCAL) as connection:
                await connection.initialize()
                stopped = url
        async with connect(Target(transport="streamable_http", url=stopped), guard=LOCAL) as connection:
            with pytest.raises(SourceFault) as caught:
                await connection.call_tool("echo", {"message": "hello"})
            assert caught.value.kind == "unreachable"

    asyncio.run(story())


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z" and os.path.exists(f"/proc/{pid}")
