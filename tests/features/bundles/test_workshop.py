"""Work in processes of their own: how many at once, how many wait, how long, and what becomes of them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from ammeter.base.errors import CompileFailed, Unavailable
from ammeter.features.bundles.workshop import Workshop
from tests.server import until

FOREVER_S = 600.0


@asynccontextmanager
async def opened(**options: float) -> AsyncIterator[Workshop]:
    workshop = Workshop(**({"seats": 1, "waiting": 0} | options))  # type: ignore[arg-type]
    try:
        yield workshop
    finally:
        workshop.close()


def test_whoever_finds_the_seats_taken_and_the_queue_full_is_told_to_come_back() -> None:
    async def story() -> None:
        async with opened(waiting=1) as workshop:
            served: list[str] = []

            async def be_served(name: str) -> None:
                async with workshop.seat():
                    served.append(name)

            async with workshop.seat():
                second = asyncio.create_task(be_served("second"))
                await asyncio.sleep(0)
                with pytest.raises(Unavailable) as refused:
                    await be_served("third")
                assert refused.value.retry_after_s > 0
                assert served == []
            await second
            await be_served("fourth")
            assert served == ["second", "fourth"]

    asyncio.run(story())


def test_nobody_waits_for_ever() -> None:
    async def story() -> None:
        async with opened(waiting=1, wait_s=0.01) as workshop, workshop.seat():
            with pytest.raises(Unavailable):
                async with workshop.seat():
                    pass

    asyncio.run(story())


def test_a_step_that_takes_too_long_is_given_up_and_the_seat_is_good_again() -> None:
    async def story() -> None:
        async with opened(step_s=30.0) as workshop:
            async with workshop.seat() as seat:
                first = await seat.run(os.getpid)
                seat.step_s = 0.01
                with pytest.raises(CompileFailed, match="given up"):
                    await seat.run(time.sleep, FOREVER_S)
            until(lambda: not _lives(first), "the process is gone")
            async with workshop.seat() as seat:
                seat.step_s = 30.0
                assert await seat.run(os.getpid) != first

    asyncio.run(story())


def test_a_process_that_dies_is_told_and_replaced() -> None:
    async def story() -> None:
        async with opened() as workshop, workshop.seat() as seat:
            with pytest.raises(Unavailable, match="ended in the middle"):
                await seat.run(os.abort)
            assert await seat.run(abs, -3) == 3

    asyncio.run(story())


def test_who_goes_away_leaves_no_work_behind() -> None:
    async def story() -> None:
        async with opened() as workshop:
            started = asyncio.Event()

            async def go_away() -> None:
                async with workshop.seat() as seat:
                    pids.append(await seat.run(os.getpid))
                    started.set()
                    await seat.run(time.sleep, FOREVER_S)

            pids: list[int] = []
            task = asyncio.create_task(go_away())
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            until(lambda: not _lives(pids[0]), "the process is gone")

    asyncio.run(story())


_PARENT = """
import asyncio, os, sys
from ammeter.features.bundles.workshop import Workshop

async def work():
    async with Workshop(seats=1, waiting=0).seat() as seat:
        print(await seat.run(os.getpid), flush=True)
        await asyncio.sleep(600)

if __name__ == "__main__":
    asyncio.run(work())
"""


def test_a_process_ends_with_a_server_that_was_killed() -> None:
    command = [sys.executable, "-c", _PARENT]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert _lives(pid)
        parent.send_signal(signal.SIGKILL)
    until(lambda: not _lives(pid), "the process of the workshop ends too")


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
