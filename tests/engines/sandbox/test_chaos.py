"""Among many scripts a tenth kill their worker, hang or bomb. The honest ones are answered rightly, and
nothing is left behind."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from ammeter.engines.sandbox.pool import Pool
from tests.engines.sandbox.chaos import crowd, options, resident_mb
from tests.engines.sandbox.parts import is_alive
from tests.server import until


def test_a_crowd_with_a_tenth_that_means_harm_leaves_nothing_behind(sandbox_cache: Path) -> None:
    descriptors = len(os.listdir("/dev/fd"))
    seen: set[int] = set()

    async def story() -> None:
        async with Pool(options(sandbox_cache)) as pool:
            seen.update(pool.worker_pids())
            count = await crowd(pool, seed=7, scripts=250)
            assert count.wrong == ()
            assert count.right + count.lost == count.honest
            assert count.right > count.honest * 0.8
            assert count.kills > 0
            assert sum(count.harmful.values()) > 10
            assert count.harmful["Value"] == 0
            async with asyncio.timeout(60):
                while pool.counters().workers < 2:  # noqa: ASYNC110 - the pool sets no event
                    await asyncio.sleep(0.01)
            seen.update(pool.worker_pids())
            again = await crowd(pool, seed=8, scripts=30, share=0.0)
            assert (again.right, again.honest) == (30, 30)
            assert (pool.counters().running, pool.counters().waiting) == (0, 0)
            pids = pool.worker_pids()
            await asyncio.to_thread(
                until, lambda: sum(map(resident_mb, pids)) < 200, "memory is given back", timeout_s=30
            )

    asyncio.run(story())
    until(lambda: not any(map(is_alive, seen)), "every worker is gone")
    assert len(os.listdir("/dev/fd")) <= descriptors
