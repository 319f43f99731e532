"""What a run costs beside what it tests, how long a dispatch takes meanwhile, and how much memory it needs.

`python -m benchmarks.evals` starts `ammeter serve` with eight jobs at once, on SQLite (`--postgres`: on a
PostgreSQL server of its own) and dispatches scripted runs of five tool calls over HTTP while earlier ones are
played against an MCP server in a process of its own. Two things are measured beside it, as many at a time:
the same connections and calls made bare by Ammeter's own client, which is what of it is the source's; and
promptfoo's nearest equivalent, see `evals_promptfoo.py` (`--alone` leaves it out: it takes 2.5 GB of disk).
`benchmarks/run_lists.py` measures `GET /runs`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2

from ammeter.engines.egress.guard import Guard
from ammeter.engines.mcp_client.connect import connect
from ammeter.engines.mcp_client.port import Target
from benchmarks.evals_promptfoo import peak_mib, promptfoo
from benchmarks.machine import machine
from tests.evaluating import LOOPBACK, plan, step
from tests.household import CACHE
from tests.postgres import postgres_server
from tests.server import Server, run_command, running

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
    told.add_argument("--alone", action="store_true")
    asked = told.parse_args()
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}")
    print(f"{asked.runs} runs of {STEPS} calls, {asked.at_once} at once")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        settings = {"job_concurrency": str(asked.at_once), "cache_dir": str(CACHE)}
        settings |= {"allow_private_networks": ",".join(LOOPBACK["allow_private_networks"])}
        # The rate limits are not what is measured.
        settings |= {"rate_runs_burst": "10000", "rate_api_burst": "10000"}
        settings |= {"database_url": stack.enter_context(postgres_server())} if asked.postgres else {}
        url = stack.enter_context(_source())
        init = run_command(folder, "init", "--json", **settings)
        assert init.returncode == 0, init.stderr
        server = stack.enter_context(running(folder, **settings))
        key = json.loads(init.stdout)["token"]
        client = stack.enter_context(
            httpx2.Client(headers={"authorization": f"Bearer {key}"}, base_url=server.api)
        )
        bare_s = asyncio.run(_bare_calls(url, asked.runs, asked.at_once))
        wall_s = _ammeter(client, server, url, asked.runs)
        each_ms, bare_ms = wall_s / asked.runs * 1000, bare_s / asked.runs * 1000
        print(
            f"  connections and calls alone: {bare_s:.1f} s, {bare_ms:.1f} ms a run\n"
            f"  Ammeter beside them: {each_ms - bare_ms:.1f} ms a run"
        )
        if not asked.alone:
            server.stop()
            at = {"runs": asked.runs, "steps": STEPS, "at_once": asked.at_once}
            other_s, peak = promptfoo(url, folder, **at)
            print(f"  promptfoo: {other_s:.1f} s, {asked.runs / other_s:.1f} runs/s, at most {peak} MiB")
        print(f"  load {os.getloadavg()[0]:.1f}")


@contextmanager
def _source() -> Iterator[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SOURCE], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait(10)


def _ammeter(client: httpx2.Client, server: Server, url: str, count: int) -> float:
    source = _asked(client, "POST", "/mcp-servers", 201, {"name": "Notes", "baseUrl": url})["server"]["id"]
    prompt = plan(*(step("echo", text=str(i)) for i in range(STEPS)))
    body = {"name": "Echoes", "mcpServerId": source, "testerPrompt": prompt}
    began = time.perf_counter()
    workflow = _asked(client, "POST", "/workflows", 201, body)["workflow"]["id"]
    times = []
    for _ in range(count - 1):
        start = time.perf_counter()
        _asked(client, "POST", f"/workflows/{workflow}/runs", 202, {"forceNewRun": True})
        times.append((time.perf_counter() - start) * 1000)
    dispatched_s = time.perf_counter() - began
    while _asked(client, "GET", "/runs?status=running&pageSize=1", 200)["total"]:
        time.sleep(0.25)
    wall_s = time.perf_counter() - began
    passed = _asked(client, "GET", "/runs?status=pass&pageSize=1", 200)["total"]
    durations = [row["durationMs"] for row in _asked(client, "GET", "/runs?pageSize=200", 200)["rows"]]
    p95 = statistics.quantiles(times, n=20)[-1]
    print(
        f"  dispatches while others run: p50 {statistics.median(times):.1f} ms, p95 {p95:.1f} ms,"
        f" all in {dispatched_s:.1f} s\n"
        f"  Ammeter: {wall_s:.1f} s, {count / wall_s:.1f} runs/s, {wall_s / count * 1000:.1f} ms a run,"
        f" {passed} passed, at most {peak_mib(server.process.pid)} MiB;"
        f" one run from start to end: p50 {statistics.median(durations):.0f} ms"
    )
    return wall_s


def _asked(client: httpx2.Client, method: str, path: str, status: int, body: Any = None) -> Any:
    answer = client.request(method, path, json=body)
    if answer.status_code != status:
        sys.exit(f"{method} {path}: {answer.status_code} {answer.text}")
    return answer.json()


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


if __name__ == "__main__":
    main()
