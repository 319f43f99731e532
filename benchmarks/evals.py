"""How much a run costs beside what it tests, and how quick the list of a million runs is.

`python -m benchmarks.evals` plays scripted runs of five tool calls against an MCP server of this machine,
with one worker on SQLite; then it fills a table with `--rows` runs and asks for pages of `GET /runs`.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import timedelta
from pathlib import Path

from sqlalchemy import insert, text

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.base.pages import PageRequest
from ammeter.engines.db.tables import runs as runs_table
from ammeter.features.evals import history, store
from ammeter.features.evals.dispatch import Order, dispatch
from ammeter.features.evals.model import Run, RunQuery
from ammeter.wiring import House
from benchmarks.machine import machine
from tests.evaluating import LOOPBACK, add_source, create, plan, step, working
from tests.household import OPERATOR, Household, make_client, make_household, make_settings, opened_house
from tests.notes_server import notes_server

STEPS = 5
REPEAT = 20


def main() -> None:
    told = argparse.ArgumentParser(description=__doc__)
    told.add_argument("--runs", type=int, default=200)
    told.add_argument("--rows", type=int, default=1_000_000)
    asked = told.parse_args()
    print(machine())
    logging.disable(logging.INFO)
    with tempfile.TemporaryDirectory() as folder:
        settings = make_settings(f"sqlite:///{folder}/ammeter.db", Path(folder), **LOOPBACK)
        with opened_house(settings) as house, make_client(house) as client:
            household = make_household(house, client)
            workflow_id = _play(household, asked.runs)
            _lists(house, household.org.id, workflow_id, asked.rows)


def _play(household: Household, count: int) -> str:
    house = household.house
    with notes_server() as notes:
        source = add_source(house, household.org.id, notes.url)
        made = create(household, source, plan(*(step("echo", text=str(i)) for i in range(STEPS))))
        workflow_id: str = made["workflow"]["id"]
        with house.db.write() as tx:
            for _ in range(count - 1):
                order = Order(force_new_run=True)
                dispatch(tx, OPERATOR, household.org.id, workflow_id, order, jobs=house.jobs)
        began = time.perf_counter()
        asyncio.run(_work(house))
        wall = time.perf_counter() - began
        with house.db.read() as tx:
            passed = tx.scalar(text("SELECT count(*) FROM runs WHERE status = 'pass'"))
        calls_s = _bare_calls(notes.url, count)
    print(
        f"{count} runs of {STEPS} calls, 4 at once: {wall:.1f} s, {count / wall:.1f} runs/s, {passed} passed"
    )
    each_ms, bare_ms = wall / count * 1000, calls_s / count * 1000
    print(f"  {each_ms:.1f} ms a run; the same connections and calls made bare: {bare_ms:.1f} ms")
    return workflow_id


async def _work(house: House) -> None:
    async with working(house):
        while True:
            with house.db.read() as tx:
                if not tx.scalar(text("SELECT count(*) FROM runs WHERE status = 'running'")):
                    break
            await asyncio.sleep(0.1)
    await house.connector.close()


def _bare_calls(url: str, count: int) -> float:
    """The same connections and calls without a run around them, four at a time."""
    from ammeter.engines.egress.guard import Guard
    from ammeter.engines.mcp_client.connect import connect
    from ammeter.engines.mcp_client.port import Target

    async def one(gate: asyncio.Semaphore) -> None:
        target = Target(transport="streamable_http", url=url)
        async with gate, connect(target, guard=Guard(LOOPBACK["allow_private_networks"])) as connection:
            await connection.list_tools()
            for i in range(STEPS):
                await connection.call_tool("echo", {"text": str(i)})

    async def everything() -> None:
        gate = asyncio.Semaphore(4)
        await asyncio.gather(*(one(gate) for _ in range(count)))

    began = time.perf_counter()
    asyncio.run(everything())
    return time.perf_counter() - began


def _lists(house: House, org_id: str, workflow_id: str, rows: int) -> None:
    with house.db.read() as tx:
        first = store.last_runs(tx, org_id, [workflow_id])[workflow_id]
    began = time.perf_counter()
    for batch in _batches(first, rows):
        with house.db.write() as tx:
            tx.execute(insert(runs_table), batch)
    filled_s = time.perf_counter() - began
    print(f"{rows:,} rows in {filled_s:.0f} s; p50 and p95 of {REPEAT} requests for 50 rows, ms")
    asked = {
        "24h": ("24h", {}),
        "30d": ("30d", {}),
        "30d, status=fail": ("30d", {"status": "fail"}),
        "30d, classification": ("30d", {"classification": "model_error"}),
        "30d, workflow": ("30d", {"workflow_id": workflow_id}),
        "24h, search": ("24h", {"search": "build 77"}),
        "30d, search": ("30d", {"search": "build 777777"}),
        "30d, sort=-score": ("30d", {"sort": "-score"}),
        "30d, sort=durationMs": ("30d", {"sort": "durationMs"}),
        "24h, sort=-costUsd": ("24h", {"sort": "-costUsd"}),
    }
    for name, (within, fields) in asked.items():
        times = []
        for _ in range(REPEAT):
            start = time.perf_counter()
            with house.db.read() as tx:
                query: RunQuery = replace(history.since(within), **fields)  # type: ignore[arg-type]
                found = store.search_runs(tx, org_id, query, PageRequest())
            times.append((time.perf_counter() - start) * 1000)
        p95 = statistics.quantiles(times, n=20)[-1]
        print(f"  {name:24} {statistics.median(times):8.1f} {p95:8.1f}   of {found.total:,}")


def _batches(first: Run, rows: int) -> Iterator[list[dict[str, object]]]:
    chance, at = random.Random(7), now()
    kinds = (
        "none",
        "none",
        "criteria_failed",
        "criteria_failed",
        "model_error",
        "source_error",
        "limit_reached",
    )
    made: list[dict[str, object]] = []
    for i in range(rows):
        when = at - timedelta(seconds=chance.random() * 30 * 86_400)
        status = chance.choice(("pass", "pass", "pass", "fail", "partial"))
        run = asdict(first) | {
            "id": new_id(),
            "at": when,
            "queued_at": when,
            "started_at": when,
            "status": status,
            "classification": chance.choice(kinds),
            "score": chance.random(),
            "duration_ms": chance.randrange(100_000),
            "cost_usd": chance.random(),
            "reason": f"build {i}",
            "search_text": f"notes work builtin/scripted build {i} ci",
            "tags": ["ci"],
        }
        made.append(run)
        if len(made) == 10_000 or i == rows - 1:
            yield made
            made = []


if __name__ == "__main__":
    main()
