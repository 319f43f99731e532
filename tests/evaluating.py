"""Workflows and runs for tests: a source that is a real MCP server, a worker in this process, ended runs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import yaml

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.engines.jobs.port import Pace
from ammeter.features.sources import store as source_store
from ammeter.features.sources.model import Source
from ammeter.wiring import House
from tests.household import Household

BRISK = Pace(poll_s=0.05, watch_s=0.1, lease_s=30.0, retry_base_s=0.05)
LOOPBACK = {"allow_private_networks": ("127.0.0.0/8",)}


def plan(*steps: dict[str, Any], answer: str | None = None) -> str:
    """A prompt for `builtin/scripted`."""
    told: dict[str, Any] = {"steps": list(steps)}
    if answer is not None:
        told["answer"] = answer
    return f"Play these steps.\n\n```yaml\n{yaml.safe_dump(told)}```\n"


def step(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def add_source(house: House, org_id: str, url: str, **more: Any) -> Source:
    at = now()
    source = Source(
        id=new_id(),
        org_id=org_id,
        name="Notes",
        source_slug=None,
        environment="production",
        status="active",
        created_at=at,
        updated_at=at,
        base_url=url,
        **more,
    )
    with house.db.write() as tx:
        source_store.insert_source(tx, source)
    return source


def create(household: Household, source: Source, prompt: str, **fields: Any) -> dict[str, Any]:
    """A workflow made over REST; the answer."""
    body = {"name": "Notes work", "mcpServerId": source.id, "testerPrompt": prompt} | fields
    answer = household.call("POST", "/workflows", json=body)
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    return made


def list_runs(household: Household, workflow_id: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = household.call("GET", f"/runs?workflowId={workflow_id}").json()["rows"]
    return rows


@asynccontextmanager
async def working(house: House, *, concurrency: int = 4) -> AsyncIterator[None]:
    worker = house.jobs.worker(house.handlers, concurrency=concurrency, pace=BRISK)
    await worker.start()
    try:
        yield
    finally:
        await worker.stop(5)


def work_off(household: Household, run_ids: Sequence[str] = (), timeout_s: float = 120) -> None:
    """Let a worker of this process carry on until these runs, or all, have ended."""
    asyncio.run(_work_off(household, run_ids, timeout_s))


async def _work_off(household: Household, run_ids: Sequence[str], timeout_s: float) -> None:
    def is_over() -> bool:
        rows = household.call("GET", "/runs?status=running&pageSize=200").json()["rows"]
        return not any(not run_ids or row["id"] in run_ids for row in rows)

    deadline = time.monotonic() + timeout_s
    async with working(household.house):
        while not await asyncio.to_thread(is_over):
            assert time.monotonic() < deadline, "runs did not end in time"
            await asyncio.sleep(0.05)
    await household.house.connector.close()
    await household.house.models.close()
