"""A crowd of scripts of which some kill their worker, hang or bomb: how many honest ones were answered
rightly, and what was left behind. In go a pool's options, a seed and a number; out comes the count."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from ammeter.engines.sandbox.pool import Pool, PoolOptions
from ammeter.engines.sandbox.port import Crashed, Limits, Outcome, Script, Value
from tests.engines.sandbox.parts import SDK, Answering

LIMITS = Limits(wall_ms=20_000, cpu_ms=200, memory_bytes=32 << 20)
HARMFUL = (
    "for (;;);",
    "for (;;) await null",
    "await client.never()",
    "await new Promise(() => {})",
    "const a = []; for (;;) a.push(new ArrayBuffer(1 << 18).slice(0))",
    "const f = () => f() + f(); return f()",
    "return 'x'.repeat(3e6)",
    "kill",
)
AT_ONCE = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    honest: int
    right: int
    lost: int
    """Honest ones whose worker was killed under them three times: told so, not answered wrongly."""
    wrong: tuple[Outcome, ...]
    harmful: Counter[str]
    """By outcome."""
    kills: int
    restarts: int


class Repeating(Answering):
    """Its calls change nothing, so a script may be started anew."""

    def begin_again(self) -> bool:
        return True


async def crowd(pool: Pool, *, seed: int, scripts: int, share: float = 0.1) -> Count:
    """`share` of the scripts mean harm. The order is the seed's; what meets what is chance."""
    chance = random.Random(seed)
    harmful: Counter[str] = Counter()
    outcomes: list[tuple[int, Outcome]] = []
    kills = 0
    turns = asyncio.Semaphore(AT_ONCE)

    async def run(code: str, tenant: str) -> Outcome:
        limits = LIMITS if "never" not in code else Limits(wall_ms=300)
        return await pool.run(Script(code=code, sdk=SDK, tenant=tenant, limits=limits), Repeating())

    async def honest(number: int) -> None:
        async with turns:
            code = f"const n: number = await client.slow({number}); return [n, await client.echo(n * 2)]"
            outcomes.append((number, await run(code, f"honest{number % 5}")))

    async def harm(code: str) -> None:
        nonlocal kills
        async with turns:
            if code == "kill":
                kills += 1
                with contextlib.suppress(ProcessLookupError, IndexError):
                    os.kill(chance.choice(pool.worker_pids()), signal.SIGKILL)
            else:
                harmful[type(await run(code, "harmful")).__name__] += 1

    work = [
        harm(chance.choice(HARMFUL)) if chance.random() < share else honest(number)
        for number in range(scripts)
    ]
    await asyncio.gather(*work)
    right = [n for n, one in outcomes if isinstance(one, Value) and one.json == [n, n * 2]]
    lost = [n for n, one in outcomes if isinstance(one, Crashed) and "worker was lost" in one.reason]
    known = {*right, *lost}
    return Count(
        honest=len(outcomes),
        right=len(right),
        lost=len(lost),
        wrong=tuple(one for n, one in outcomes if n not in known),
        harmful=harmful,
        kills=kills,
        restarts=pool.counters().restarts,
    )


def options(cache: Path) -> PoolOptions:
    return PoolOptions(cache=cache, workers=2, patience_s=30.0)


def resident_mb(pid: int) -> float:
    """0 where the system does not tell it this way."""
    statm = Path(f"/proc/{pid}/statm")
    if not statm.exists():
        return 0.0
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
