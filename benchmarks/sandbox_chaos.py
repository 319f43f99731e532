"""A thousand scripts, a random tenth of which kill their worker, hang or bomb: what became of the honest
ones, and what was left behind.

    python benchmarks/sandbox_chaos.py [--scripts 1000] [--seed 1]
"""

from __future__ import annotations

import sys

if not __package__:
    # Started as a file: its folder would hide the standard library's `http` from everything below.
    sys.path[0] = sys.path[0].rpartition("/")[0] or "."

import argparse
import asyncio
import os
import tempfile
import time
from pathlib import Path

from ammeter.engines.sandbox.pool import Pool
from benchmarks.machine import machine
from tests.engines.sandbox.chaos import crowd, options, resident_mb


async def report(cache: Path, *, seed: int, scripts: int) -> None:
    async with Pool(options(cache)) as pool:
        before = sum(map(resident_mb, pool.worker_pids()))
        began = time.perf_counter()
        count = await crowd(pool, seed=seed, scripts=scripts)
        took_s = time.perf_counter() - began
        again = await crowd(pool, seed=seed, scripts=50, share=0.0)
        after = sum(map(resident_mb, pool.worker_pids()))
    print(f"{scripts} scripts in {took_s:.0f} s, seed {seed}")
    print(f"honest: {count.right} of {count.honest} right, {count.lost} lost with a killed worker,", end=" ")
    print(f"{len(count.wrong)} wrong; afterwards {again.right} of {again.honest} right")
    for outcome in count.wrong[:5]:
        print(f"  wrong: {outcome}")
    print(f"harmful: {dict(count.harmful)}; {count.kills} kills, {count.restarts} workers replaced")
    print(f"workers: {before:.0f} MB before, {after:.0f} MB after")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scripts", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    wanted = parser.parse_args()
    print(machine())
    descriptors = len(os.listdir("/dev/fd"))
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(report(Path(folder), seed=wanted.seed, scripts=wanted.scripts))
    print(f"descriptors: {descriptors} before, {len(os.listdir('/dev/fd'))} after")


if __name__ == "__main__":
    main()
