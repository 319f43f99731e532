"""How much a run costs beside what it tests, and how long a dispatch takes.

`python -m benchmarks.evals` dispatches scripted runs of five tool calls over REST and has them played against
an MCP server in a process of its own, eight at a time, on SQLite; with `--postgres`, on a PostgreSQL server
of its own. The same connections and calls, made bare and as many at a time, tell what of it is the source's.
`benchmarks/run_lists.py` measures `GET /runs`.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlalchemy import text

from ammeter.engines.egress.guard import Guard
from ammeter.engines.mcp_client.connect import connect
from ammeter.engines.mcp_client.port import Target
from ammeter.wiring import House
from benchmarks.machine import machine
from tests.evaluating import LOOPBACK, add_source, create, plan, step, working
from tests.household import Household, make_client, make_household, make_settings, opened_house
from tests.postgres import postgres_server
from tests.server import until

STEPS = 5
SOURCE = """
import threading
from tests.notes_server import notes_server
with notes_server() as notes:
    print(notes.url, flush=True)
    threading.Event().wait()
"""


def main() -> None:
    told = argparse.ArgumentParser(description=__doc__)
    told.add_argument("--runs", type=int, default=1_000)
    told.add_argument("--at-once", type=int, default=8)
    told.add_argument("--postgres", action="store_true")
    asked = told.parse_args()
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}")
    logging.disable(logging.INFO)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        database = f"sqlite:///{folder}/ammeter.db"
        if asked.postgres:
            database = stack.enter_context(postgres_server())
        # The rate limit is not what is measured.
        free = {"rate_runs_burst": 10_000, "rate_api_burst": 10_000}
        settings = make_settings(database, Path(folder), **LOOPBACK, **free)
        house = stack.enter_context(opened_house(settings))
        client = stack.enter_context(make_client(house))
        url = stack.enter_context(_source())
        _dispatch(make_household(house, client), url, asked.runs)
        calls_s = asyncio.run(_bare_calls(url, asked.runs, asked.at_once))
        wall_s = asyncio.run(_work(house, asked.at_once))
        _tell(house, asked.runs, asked.at_once, wall_s, calls_s)


@contextmanager
def _source() -> Iterator[str]:
    process = subprocess.Popen([sys.executable, "-c", SOURCE], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait(10)


def _dispatch(household: Household, url: str, count: int) -> None:
    source = add_source(household.house, household.org.id, url)
    made = create(household, source, plan(*(step("echo", text=str(i)) for i in range(STEPS))))
    place, times = f"/workflows/{made['workflow']['id']}/runs", []
    for _ in range(count - 1):
        began = time.perf_counter()
        answer = household.call("POST", place, json={"forceNewRun": True})
        times.append((time.perf_counter() - began) * 1000)
        assert answer.status_code == 202, answer.text
    p95 = statistics.quantiles(times, n=20)[-1]
    print(f"dispatch of one run: p50 {statistics.median(times):.1f} ms, p95 {p95:.1f} ms")


async def _work(house: House, at_once: int) -> float:
    def left() -> int:
        with house.db.read() as tx:
            return tx.scalar(text("SELECT count(*) FROM runs WHERE status = 'running'")) or 0

    began = time.perf_counter()
    async with working(house, concurrency=at_once):
        await asyncio.to_thread(until, lambda: left() == 0, "every run has ended", 3_600)
    wall_s = time.perf_counter() - began
    await house.connector.close()
    return wall_s


async def _bare_calls(url: str, count: int, at_once: int) -> float:
    gate = asyncio.Semaphore(at_once)

    async def one() -> None:
        target = Target(transport="streamable_http", url=url)
        async with gate, connect(target, guard=Guard(LOOPBACK["allow_private_networks"])) as connection:
            await connection.list_tools()
            for i in range(STEPS):
                await connection.call_tool("echo", {"text": str(i)})

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(count)))
    return time.perf_counter() - began


def _tell(house: House, count: int, at_once: int, wall_s: float, calls_s: float) -> None:
    with house.db.read() as tx:
        passed = tx.scalar(text("SELECT count(*) FROM runs WHERE status = 'pass'"))
    each_ms, bare_ms = wall_s / count * 1000, calls_s / count * 1000
    print(
        f"{count} runs of {STEPS} calls, {at_once} at once, {house.db.dialect.name}: {wall_s:.1f} s,"
        f" {count / wall_s:.1f} runs/s, {passed} passed\n"
        f"  {each_ms:.1f} ms a run; connections and calls alone: {bare_ms:.1f} ms;"
        f" beside them: {each_ms - bare_ms:.1f} ms; load {os.getloadavg()[0]:.1f}"
    )


if __name__ == "__main__":
    main()
