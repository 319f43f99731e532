"""An agent that waits for a suite run hears how far it is: a real connection, and the official client."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from ammeter.asgi import build_app
from ammeter.features.orgs.model import Role
from tests.evaluating import LOOPBACK, add_source, create, plan, step, work_off, working
from tests.features.suites.suiting import case, suite
from tests.household import make_client, make_household, make_settings, opened_house
from tests.notes_server import NotesServer, serving


def test_progress_is_told_as_runs_end(sqlite_url: str, tmp_path: Path, notes: NotesServer) -> None:
    notes.notes["milk"] = "kept"
    with opened_house(make_settings(sqlite_url, tmp_path, **LOOPBACK)) as house, make_client(house) as client:
        household = make_household(house, client)
        source = add_source(house, household.org.id, notes.url)
        held = create(household, source, plan(step("wait", name="x")), name="Waits")["workflow"]["id"]
        notes.gate.set()
        quick = case(household, source, "milk")
        work_off(household)
        notes.gate.clear()
        suite(household, held, quick)
        heard: list[tuple[float, float | None]] = []

        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            heard.append((progress, total))
            if progress == 1:
                # The quick one has ended, and the agent knows; now the other may.
                notes.gate.set()

        async def visit(url: str) -> Any:
            headers = {"authorization": f"Bearer {household.tokens[Role.editor]}"}
            async with (
                working(house),
                httpx2.AsyncClient(headers=headers, timeout=60) as http,
                Client(streamable_http_client(f"{url}/mcp", http_client=http)) as agent,
            ):
                asked = {"suite": "Release", "waitSeconds": 60}
                return await agent.call_tool("run_eval_suite", asked, progress_callback=on_progress)

        with serving(build_app(house)) as url:
            ended = asyncio.run(visit(url)).structured_content
    assert (ended["status"], ended["readyToShip"]) == ("pass", True)
    assert (1, 2) in heard
    assert [progress for progress, _ in heard] == sorted({progress for progress, _ in heard})
