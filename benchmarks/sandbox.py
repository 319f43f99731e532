"""What a script costs in the sandbox: latency, CPU of the workers and of the host, scripts a second, memory;
with SDKs of three sizes.

    python benchmarks/sandbox.py [--scripts 1000]
"""

from __future__ import annotations

import sys

if not __package__:
    # Started as a file: its folder would hide the standard library's `http` from everything below.
    sys.path[0] = sys.path[0].rpartition("/")[0] or "."

import argparse
import asyncio
import json
import os
import tempfile
import time
from importlib import resources
from pathlib import Path
from statistics import median
from typing import Any

from ammeter.engines.sandbox.pool import Pool, PoolOptions
from ammeter.engines.sandbox.port import Script, Value
from benchmarks.machine import machine

SMALL, LARGE, HUGE = 5, 1_000, 2_000
ONE_CALL = "return client.group0.operation1({ id: 1 })"
SCRIPTS = {
    "return 1 + 1": "return 1 + 1",
    "with types": "const n: number = 1; interface A { b: string }\nreturn n as number",
    "one call": ONE_CALL,
    "20 calls in a row": "for (let n = 0; n < 20; n++) await client.group0.operation1({ id: n });",
}


class Answering:
    async def call(self, operation_id: str, arguments: Any) -> Any:
        return {"body": {"id": 1}, "next": None}


def sdk(operations: int) -> str:
    paging: dict[str, Any] = {
        "kind": "cursor",
        "items": ["data"],
        "arg": "after",
        "name": "after",
        "size": "limit",
    }
    paging |= {"next": ["next"], "more": [], "first": 0}
    table = [
        [[f"group{n // 20}", f"operation{n}"], f"GET /some/path/{{id}}/thing{n}", None if n % 5 else paging]
        for n in range(operations)
    ]
    program = resources.files("ammeter.engines.compiler").joinpath("sdk.js").read_text()
    return f"((call) => (\n{program}\n)(call, {json.dumps(table)}))"


def cpu_s(pid: int) -> float:
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def private_mb(pid: int) -> float:
    """Shared pages by their share."""
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return next(int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")) / 1024


async def measure(pool: Pool, name: str, script: Script, *, scripts: int, clients: int) -> None:
    host, took = Answering(), []

    async def client(count: int) -> None:
        for _ in range(count):
            began = time.perf_counter()
            outcome = await pool.run(script, host)
            took.append(time.perf_counter() - began)
            assert isinstance(outcome, Value), outcome

    await client(20)
    took.clear()
    pids = pool.worker_pids()
    workers, host_s, began = sum(map(cpu_s, pids)), time.process_time(), time.perf_counter()
    await asyncio.gather(*(client(scripts // clients) for _ in range(clients)))
    seconds, count = time.perf_counter() - began, len(took)
    print(
        f"{name:34} {clients:2} at once: best {min(took) * 1e3:5.2f} p50 {median(took) * 1e3:5.2f} ms,"
        f" CPU {(sum(map(cpu_s, pids)) - workers) / count * 1e3:5.2f} in workers"
        f" + {(time.process_time() - host_s) / count * 1e3:5.2f} ms in the host, {count / seconds:5.0f}/s"
    )


async def held_mb(pool: Pool, sdk_text: str, count: int = 40) -> float:
    """What one script more takes while it waits for an answer."""
    began, never = asyncio.Semaphore(0), asyncio.Event()

    class Held:
        async def call(self, operation_id: str, arguments: Any) -> Any:
            began.release()
            await never.wait()
            return {"body": None, "next": None}

    before = sum(map(private_mb, pool.worker_pids()))
    tasks = [asyncio.create_task(pool.run(Script(code=ONE_CALL, sdk=sdk_text), Held())) for _ in range(count)]
    for _ in range(count):
        await began.acquire()
    after = sum(map(private_mb, pool.worker_pids()))
    never.set()
    await asyncio.gather(*tasks)
    return (after - before) / count


async def report(cache: Path, scripts: int) -> None:
    began = time.perf_counter()
    async with Pool(PoolOptions(cache=cache, workers=2)) as pool:
        print(f"first start on a machine: {time.perf_counter() - began:.1f} s")
        print(f"2 workers: {sum(map(private_mb, pool.worker_pids())):.0f} MB")
        for operations in (SMALL, LARGE, HUGE):
            text = sdk(operations)
            began = time.perf_counter()
            await pool.run(Script(code="return 1", sdk=text), Answering())
            loaded_ms = (time.perf_counter() - began) * 1e3
            print(f"{operations} operations ({len(text) // 1024} KB): {loaded_ms:.0f} ms to load")
            for name, code in SCRIPTS.items():
                few = scripts // 10 if "20" in name else scripts
                await measure(pool, name, Script(code=code, sdk=text), scripts=few, clients=1)
            trivial = Script(code="return 1 + 1", sdk=text)
            await measure(pool, "return 1 + 1", trivial, scripts=scripts * 4, clients=8)
            whole = sum(map(private_mb, pool.worker_pids()))
            print(f"2 workers: {whole:.0f} MB, a waiting script {await held_mb(pool, text):.1f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scripts", type=int, default=1000)
    wanted = parser.parse_args()
    print(f"{machine()}, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(report(Path(folder), wanted.scripts))


if __name__ == "__main__":
    main()
