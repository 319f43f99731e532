"""Workers die, are replaced and leave nothing behind; too many scripts at once are told so."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ammeter.engines.sandbox.engine import CacheUnsafe, prepare
from ammeter.engines.sandbox.lazy import LazySandbox
from ammeter.engines.sandbox.pool import Pool, PoolOptions
from ammeter.engines.sandbox.port import Busy, Counters, Crashed, MemoryExceeded, Outcome, Script, Value
from tests.engines.sandbox.parts import QUICK, SDK, WAIT_S, Answering, Opened, is_alive
from tests.server import until


def script(code: str) -> Script:
    return Script(code=code, sdk=SDK, limits=QUICK)


def test_a_killed_worker_takes_only_its_own_scripts_and_is_replaced(sandbox: Opened) -> None:
    before = sandbox.pids

    async def story() -> list[Outcome]:
        host = Answering()
        code = "await client.slow(1); await client.slow(2); await client.slow(3); return 'lived'"
        tasks = [asyncio.create_task(sandbox.pool.run(script(code), host)) for _ in range(10)]
        async with asyncio.timeout(10):
            while host.under_way < 10:  # noqa: ASYNC110 - the host sets no event
                await asyncio.sleep(0.005)
        os.kill(before[0], signal.SIGKILL)
        return list(await asyncio.gather(*tasks))

    outcomes = sandbox.within(story())
    crashed = [one for one in outcomes if isinstance(one, Crashed)]
    lived = [one for one in outcomes if isinstance(one, Value)]
    assert (len(crashed), len(lived)) == (5, 5)
    assert all("worker was lost" in one.reason for one in crashed)
    assert all(call.operation_id == "slow" for one in crashed for call in one.calls)
    until(lambda: len(sandbox.pids) == 2 and before[0] not in sandbox.pids, "the worker is replaced")
    assert before[1] in sandbox.pids
    until(lambda: not is_alive(before[0]), "the killed worker is gone")
    assert [sandbox.value("return 1") for _ in range(6)] == [1] * 6


def test_with_every_worker_killed_the_next_script_waits_for_a_new_one(sandbox_cache: Path) -> None:
    opened = Opened(sandbox_cache, workers=1, patience_s=WAIT_S)
    try:
        old = opened.pids[0]
        os.kill(old, signal.SIGKILL)
        until(lambda: old not in opened.pids, "the death is seen")
        assert opened.value("return 'again'") == "again"
    finally:
        opened.close()


def test_a_worker_is_retired_after_its_time_without_hurting_a_script(sandbox_cache: Path) -> None:
    opened = Opened(sandbox_cache, workers=1, retire_after=20, patience_s=WAIT_S)
    try:
        first = opened.pids
        for batch in range(3):
            outcomes = opened.run_all(["await client.slow(1); return 1"] * 10)
            assert all(isinstance(one, Value) for one in outcomes), (batch, outcomes)
        until(lambda: opened.pids != first, "the worker is retired", timeout_s=WAIT_S)
        until(lambda: not is_alive(first[0]), "the old one is gone", timeout_s=WAIT_S)
    finally:
        opened.close()


def test_who_cannot_be_served_soon_is_told_busy(sandbox_cache: Path) -> None:
    opened = Opened(sandbox_cache, workers=1, running=2, waiting=2, patience_s=0.2)
    try:
        outcomes = opened.run_all(["await client.never()"] * 6, wall_ms=1500)
        assert sum(isinstance(one, Busy) for one in outcomes) == 4
        assert opened.value("return 'free again'") == "free again"
    finally:
        opened.close()


def test_after_many_runs_no_process_and_no_descriptor_is_left(sandbox_cache: Path) -> None:
    descriptors = len(os.listdir("/dev/fd"))
    opened = Opened(sandbox_cache)
    pids = opened.pids
    in_workers = [len(os.listdir(f"/proc/{pid}/fd")) for pid in pids] if Path("/proc/self").exists() else []
    codes = ["return 1", "throw 1", "for (;;);", "await client.echo(1)", "const a = []; for (;;) a.push([])"]
    for _ in range(4):
        opened.run_all(codes * 5, cpu_ms=60)
    if in_workers:
        assert [len(os.listdir(f"/proc/{pid}/fd")) for pid in pids] == in_workers
    assert opened.pids == pids
    opened.close()
    assert not any(is_alive(pid) for pid in pids)
    assert len(os.listdir("/dev/fd")) <= descriptors


def test_memory_comes_back_after_bombs(sandbox_cache: Path) -> None:
    if not Path("/proc/self/statm").exists():
        pytest.skip("only Linux tells a process's memory this way")
    opened = Opened(sandbox_cache, workers=1)
    try:
        opened.run_all(["return 1"] * 10)

        def resident_mb() -> float:
            pages = int(Path(f"/proc/{opened.pids[0]}/statm").read_text().split()[1])
            return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

        before = resident_mb()
        for _ in range(5):
            opened.run_all(["const a = []; for (;;) a.push(new ArrayBuffer(1 << 20).slice(0))"] * 4)
        until(lambda: resident_mb() < before + 30, "memory is given back")
    finally:
        opened.close()


def test_a_pool_that_was_stopped_says_busy_and_can_be_started_again(sandbox_cache: Path) -> None:
    async def story() -> None:
        pool = Pool(PoolOptions(cache=sandbox_cache, workers=1, patience_s=0.05))
        for _ in range(2):
            async with asyncio.timeout(WAIT_S):
                await pool.start()
                assert isinstance(await pool.run(script("return 1"), Answering()), Value)
                await pool.stop()
                assert isinstance(await pool.run(script("return 1"), Answering()), Busy)

    asyncio.run(story())


def test_a_caller_that_gives_up_leaves_nothing_running(sandbox: Opened) -> None:
    host = Answering()

    async def story() -> None:
        task = asyncio.create_task(sandbox.pool.run(script("await client.never()"), host))
        async with asyncio.timeout(10):
            while not host.under_way:  # noqa: ASYNC110 - the host sets no event
                await asyncio.sleep(0.005)
            task.cancel()
            await asyncio.wait([task])
            while host.under_way:  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    sandbox.within(story())


def test_what_other_versions_left_in_the_cache_is_removed_once_nobody_uses_it(
    tmp_path: Path, sandbox_cache: Path
) -> None:
    artifacts = prepare(sandbox_cache)
    cache = tmp_path / "cache"
    shutil.copytree(sandbox_cache, cache)
    cache.chmod(0o700)
    used = {artifacts.guest.name, artifacts.guest.with_suffix(".json").name, artifacts.stripper.name}
    days_ago = time.time() - 2 * 24 * 3600
    for name in (
        "guest-old.cwasm",
        "guest-old.json",
        "stripper-old.cwasm",
        "new-half",
        "guest-recent.cwasm",
        "mine",
    ):
        (cache / name).touch()
        if name != "guest-recent.cwasm":
            os.utime(cache / name, (days_ago, days_ago))
    for name in used:
        os.utime(cache / name, (days_ago, days_ago))
    with ThreadPoolExecutor(4) as several:
        assert len(list(several.map(prepare, [cache] * 4))) == 4
    left = {place.name for place in cache.iterdir()}
    assert used | {"guest-recent.cwasm", "mine"} <= left
    assert not left & {"guest-old.cwasm", "guest-old.json", "stripper-old.cwasm", "new-half"}


def test_a_worker_is_replaced_even_when_its_modules_are_gone_from_the_cache(
    tmp_path: Path, sandbox_cache: Path
) -> None:
    prepare(sandbox_cache)
    cache = tmp_path / "cache"
    shutil.copytree(sandbox_cache, cache)
    cache.chmod(0o700)
    opened = Opened(cache, workers=1, patience_s=WAIT_S)
    try:
        old = opened.pids[0]
        next(cache.glob("stripper-*.cwasm")).unlink()
        os.kill(old, signal.SIGKILL)
        until(lambda: opened.pids not in ([old], []), "the worker is replaced", timeout_s=90)
        assert opened.value("const n: number = 1; return n") == 1
        assert opened.pool.counters().restarts == 1
    finally:
        opened.close()


def test_a_lazy_sandbox_tells_of_itself_once_it_is_warm(sandbox_cache: Path) -> None:
    async def story() -> None:
        lazy = LazySandbox(sandbox_cache)
        assert lazy.hardening() is None
        assert lazy.counters() == Counters()
        await asyncio.gather(lazy.warm(), lazy.warm())
        sandbox = await lazy.open()
        assert isinstance(await sandbox.run(script("return 1"), Answering()), Value)
        counted = lazy.counters()
        assert (counted.running, counted.waiting, counted.scripts, counted.restarts) == (0, 0, 1, 0)
        assert counted.workers >= 2
        assert lazy.hardening() == sandbox.hardening()
        await lazy.stop()
        assert lazy.hardening() is None

    asyncio.run(story())


def test_all_scripts_together_stay_within_the_pools_memory(sandbox_cache: Path) -> None:
    opened = Opened(sandbox_cache, workers=1, memory_bytes=48 << 20)
    try:
        hold = "const a = new Uint8Array(9 << 20).fill(1); await client.slow(1); return a.length"
        outcomes = opened.run_all([hold] * 8, memory_bytes=16 << 20, cpu_ms=4000)
        assert any(isinstance(one, MemoryExceeded) for one in outcomes)
        assert any(isinstance(one, Value) for one in outcomes)
        assert opened.value("return 'small ones are not asked to go'")
    finally:
        opened.close()


def test_a_large_sdk_is_loaded_beside_scripts_and_shared_by_them(sandbox: Opened) -> None:
    methods = ",".join(f"m{n}: (value) => call('echo', [{n}, value])" for n in range(5000))
    sdk = f"(call) => ({{{methods}}})"

    async def story() -> list[Outcome]:
        large = [
            Script(code=f"return client.m{n}('x')", sdk=sdk, limits=QUICK, tenant=str(n))
            for n in range(4999, 4979, -1)
        ]
        scripts = [*large, *[script("return client.echo('small')")] * 20]
        return list(await asyncio.gather(*(sandbox.pool.run(one, Answering()) for one in scripts)))

    outcomes = sandbox.within(story())
    assert [one.json for one in outcomes if isinstance(one, Value)] == [
        *([n, "x"] for n in range(4999, 4979, -1)),
        *["small"] * 20,
    ]


def test_more_sdks_than_a_worker_keeps_are_served_at_once(sandbox_cache: Path) -> None:
    opened = Opened(sandbox_cache, workers=1)

    async def story() -> list[Outcome]:
        scripts = [
            Script(code="return client()", sdk=f"() => () => {n}", limits=QUICK)
            for n in [*range(50), *range(50)]
        ]
        return list(await asyncio.gather(*(opened.pool.run(one, Answering()) for one in scripts)))

    try:
        outcomes = opened.within(story())
        assert [one.json for one in outcomes if isinstance(one, Value)] == [*range(50), *range(50)]
    finally:
        opened.close()


def test_a_cache_that_others_can_write_is_not_used(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    with pytest.raises(CacheUnsafe, match="chmod 700"):
        prepare(cache)
