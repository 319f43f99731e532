"""The example repository under `examples/gate`, as its README says: it passes, a broken tool stops it with 1
and a report that names it, a source that is down gives 3; the official MCP client gets the same answer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from junitparser import Failure, JUnitXml
from markdown_it import MarkdownIt
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.household import CACHE
from tests.server import Server, command, environment, running, until

EXAMPLE = Path(__file__).parents[2] / "examples" / "gate"
CASES = ["Books are listed", "A book is read with its pages", "A book that is not there is refused"]


@contextlib.contextmanager
def shelf(folder: Path, port: int, **variables: str) -> Iterator[None]:
    """The example's server, from its own file, until it is stopped."""
    with (folder / "shelf.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "server.py", str(port)],
            cwd=folder,
            env=os.environ | variables,
            stdout=log,
            stderr=log,
        )
    try:
        until(lambda: _listens(port), "the example's server listens", 30)
        yield
    finally:
        process.terminate()
        process.wait(10)


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    shutil.copytree(EXAMPLE, folder)
    return folder


def test_the_example_passes_fails_and_tells_a_source_that_is_down(checkout: Path, tmp_path: Path) -> None:
    port = free_port()
    settings = {"allow_private_networks": "127.0.0.0/8", "cache_dir": str(CACHE)}
    with running(tmp_path / "server", **settings) as server:
        key = first_key(tmp_path / "server")

        def ammeter(*args: str, **more: str) -> subprocess.CompletedProcess[str]:
            variables = environment(url=server.url, api_key=key) | {"GITHUB_STEP_SUMMARY": ""} | more
            return subprocess.run(
                command(*args),
                cwd=checkout,
                env=variables,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )

        with shelf(checkout, port):
            address = f"http://127.0.0.1:{port}/mcp"
            made = ammeter("source", "create", "--name", "Shelf", "--base-url", address)
            assert made.returncode == 0, made.stderr
            assert ammeter("sync", "evals", "--source", "Shelf").returncode == 0
            suite = ammeter(
                "suite", "create", "release", *(word for case in CASES for word in ("--case", case))
            )
            assert suite.returncode == 0, suite.stderr
            passed = ammeter("gate", "--suite", "release", "--junit", "gate.xml", "--report", "gate.json")
            assert passed.returncode == 0, passed.stdout + passed.stderr
            assert "Ready to ship" in passed.stdout
            assert [line.split()[0] for line in passed.stderr.splitlines()[1:]] == ["pass"] * 3
            report = JUnitXml.fromfile(str(checkout / "gate.xml"))
            assert (report.tests, report.failures, report.errors) == (3, 0, 0)
            told = json.loads((checkout / "gate.json").read_text())
            assert (told["exitCode"], told["suiteRun"]["readyToShip"]) == (0, True)
            _drive_with_the_official_client(server, key)
        with shelf(checkout, port, SHELF_BROKEN="1"):
            failed = ammeter(
                *("gate", "--suite", "release", "--baseline", told["suiteRun"]["id"]),
                *("--junit", "gate.xml"),
                GITHUB_ACTIONS="true",
                GITHUB_STEP_SUMMARY=str(checkout / "summary.md"),
            )
            assert failed.returncode == 1, failed.stdout + failed.stderr
            _check_a_failure(failed.stdout, checkout)
        down = ammeter("gate", "--suite", "release", "--junit", "gate.xml", "--timeout", "60")
        assert down.returncode == 3, down.stdout + down.stderr
        assert "could not be carried out" in down.stdout
        report = JUnitXml.fromfile(str(checkout / "gate.xml"))
        assert (report.failures, report.errors) == (0, 3)
        assert ammeter("gate", "--suite", "relaese").returncode == 2
    gone = ammeter("gate", "--suite", "release", "--patience", "1")
    assert gone.returncode == 3, gone.stderr
    assert "Nothing listens at" in gone.stderr


def first_key(folder: Path) -> str:
    made = subprocess.run(
        command("init", "--json"),
        env=environment(data_dir=str(folder)),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    key: str = json.loads(made.stdout)["token"]
    return key


def _check_a_failure(shown: str, checkout: Path) -> None:
    assert "'A book is read with its pages' on builtin/scripted did not pass" in shown
    assert "failed (required): The number of pages is right" in shown
    assert "1 regressed" in shown
    assert "::error title=A book is read with its pages on builtin/scripted%3A failed::" in shown
    [suite] = JUnitXml.fromfile(str(checkout / "gate.xml"))
    by_name = {case.name: case for case in suite}
    assert set(by_name) == set(CASES)
    [failure] = by_name["A book is read with its pages"].result
    assert isinstance(failure, Failure)
    assert "The number of pages is right" in (failure.text or "")
    tokens = (
        MarkdownIt("commonmark", {"html": True}).enable("table").parse((checkout / "summary.md").read_text())
    )
    cells = [token.content for token in tokens if token.type == "inline" and token.level == 4]
    assert cells[:5] == ["case", "model", "result", "score", "runs that hold"]
    assert cells[5:10] == ["Books are listed", "builtin/scripted", "✅ passed", "1.00", "1 of 1"]
    assert len(cells) == 20


def _drive_with_the_official_client(server: Server, key: str) -> None:
    """All three tools to an answer."""

    async def visit() -> dict[str, Any]:
        headers = {"authorization": f"Bearer {key}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=60) as http,
            Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client,
        ):
            cases = await client.call_tool("list_eval_cases", {})
            assert cases.structured_content is not None
            assert sorted(case["name"] for case in cases.structured_content["cases"]) == sorted(CASES)
            started = await client.call_tool("run_eval_suite", {"suite": "release"})
            assert started.structured_content is not None, started
            found = await client.call_tool(
                "get_suite_run", {"suiteRunId": started.structured_content["id"], "waitSeconds": 60}
            )
            assert found.structured_content is not None
            return dict(found.structured_content)

    ended = asyncio.run(visit())
    assert (ended["status"], ended["readyToShip"], ended["reasons"]) == ("pass", True, [])
