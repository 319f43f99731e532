"""Scripts end to end over streamable HTTP: Ammeter beside FastMCP's CodeMode and @utcp/code-mode, over the
same API on the same machine in one run; then what a large SDK, the workers and the prompt cost.

    python -m benchmarks.codemode [--seconds 5] [--clients 1,8,32] [--only trivial]

Each row is one server under so many clients that each send the next script when the last one is answered;
the servers take turns, and medians of their rounds are shown.
CPU is that of the server and all processes it started, per script; the API's and the clients' is not in it.
Node 22 or newer must be on PATH for @utcp/code-mode (scripts/install-node prints where).
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, fields
from statistics import median

import aiohttp

from benchmarks import codemode_servers as servers
from benchmarks.codemode_figures import report_memory, report_sdk, report_tokens
from benchmarks.codemode_servers import KINDS, Rival
from benchmarks.machine import machine

OPERATIONS = 20
LARGE = 1_000
ROUNDS = 5
ACCEPT = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "mcp-protocol-version": "2025-11-25",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_ms: float


async def load(rival: Rival, code: str, clients: int, seconds: float, url: str = "") -> Round:
    """So many clients, each with a connection of its own, for so long."""
    body, took = rival.body(code), list[float]()
    timeout = aiohttp.ClientTimeout(total=120)

    async def client(until: float) -> None:
        async with aiohttp.ClientSession(headers=ACCEPT | rival.headers, timeout=timeout) as session:
            while (begun := time.perf_counter()) < until:
                async with session.post(url or rival.url, data=body) as answer:
                    text = await answer.text()
                took.append(time.perf_counter() - begun)
                if answer.status != 200 or '"isError":true' in text or '"result":{' not in text:
                    raise SystemExit(f"{rival.name} does not run it: {answer.status} {text[:500]}")

    cpu, begun = rival.cpu_s(), time.perf_counter()
    await asyncio.gather(*(client(begun + seconds) for _ in range(clients)))
    elapsed = time.perf_counter() - begun
    took.sort()
    return Round(
        per_second=len(took) / elapsed,
        p50_ms=median(took) * 1000,
        p99_ms=took[min(len(took) - 1, int(len(took) * 0.99))] * 1000,
        cpu_ms=(rival.cpu_s() - cpu) / len(took) * 1000,
    )


def middle(rounds: list[Round]) -> Round:
    return Round(**{each.name: median(getattr(one, each.name) for one in rounds) for each in fields(Round)})


def compare(rivals: list[Rival], kinds: list[str], clients: list[int], seconds: float) -> None:
    """Rivals take turns in each row: a machine that is slow for a moment is slow for all of them."""
    print(f"\n{'':42} {'scripts/s':>10} {'p50 ms':>8} {'p99 ms':>8} {'CPU ms':>8} {'ratio':>7}")
    for kind in kinds:
        for rival in rivals:
            asyncio.run(load(rival, rival.scripts[kind], 8, 0.5))
        for count in clients:
            print(f"{kind}, {count} client{'s' if count > 1 else ''}")
            rounds: dict[str, list[Round]] = {rival.name: [] for rival in rivals}
            for _ in range(ROUNDS):
                for rival in rivals:
                    made = asyncio.run(load(rival, rival.scripts[kind], count, seconds / ROUNDS))
                    rounds[rival.name].append(made)
            rows = {name: middle(made) for name, made in rounds.items()}
            ours = rows[rivals[0].name].per_second
            for name, row in rows.items():
                print(
                    f"  {name:40} {row.per_second:10.0f} {row.p50_ms:8.2f} {row.p99_ms:8.2f}"
                    f" {row.cpu_ms:8.2f} {ours / row.per_second:7.2f}",
                    flush=True,
                )


def entered(stack: ExitStack, start: Callable[[str], AbstractContextManager[Rival]], url: str) -> list[Rival]:
    """A rival that does not install or start is left out, and it is said why."""
    try:
        return [stack.enter_context(start(url))]
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print(f"left out: {start.__name__}: {error}")
        return []


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=float, default=5.0)
    options.add_argument("--clients", default="1,8,32")
    options.add_argument("--only", default="")
    options.add_argument("--alone", action="store_true", help="Ammeter without its rivals")
    chosen = options.parse_args()
    kinds = [kind for kind in KINDS if chosen.only in kind]
    clients = [int(count) for count in chosen.clients.split(",")]
    print(machine())
    print(f"an API of {OPERATIONS} operations beside them; {chosen.seconds:g} s in {ROUNDS} rounds a row")
    with ExitStack() as stack:
        url = stack.enter_context(servers.upstream(OPERATIONS))
        sizes = {"bench": OPERATIONS, "bench-large": LARGE}
        ours = stack.enter_context(servers.ammeter(url, sizes))
        rivals = [ours]
        if not chosen.alone:
            rivals += entered(stack, servers.fastmcp, url) + entered(stack, servers.utcp, url)
        compare(rivals, kinds, clients, chosen.seconds)
        report_sdk(ours, load, LARGE)
        report_memory(ours)
    report_tokens()


if __name__ == "__main__":
    main()
