"""Processes for work that takes seconds of CPU: a few at once, a few waiting, each step within a time.

Comes in: a pure function and its arguments. Goes out: what it gives. Whoever takes a seat has its process
alone until it leaves. A step that takes too long is given up and its process replaced; when more want a
seat than may wait for one, the rest are told to come back. A process ends with the one that started it.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager
from typing import TypeVar, TypeVarTuple

from ammeter.base.errors import CompileFailed, Unavailable

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_RETRY_AFTER_S = 5


class Workshop:
    def __init__(self, *, seats: int, waiting: int, wait_s: float = 60.0, step_s: float = 120.0) -> None:
        self._free = asyncio.Semaphore(seats)
        self._idle: list[Seat] = []
        self._taken: set[Seat] = set()
        self._queued = 0
        self._waiting = waiting
        self._wait_s = wait_s
        self.step_s = step_s

    @asynccontextmanager
    async def seat(self) -> AsyncIterator[Seat]:
        await self._wait_for_turn()
        seat = self._idle.pop() if self._idle else Seat(self.step_s)
        self._taken.add(seat)
        try:
            yield seat
        finally:
            self._taken.remove(seat)
            self._idle.append(seat)
            self._free.release()

    def close(self) -> None:
        for seat in (*self._idle, *self._taken):
            seat.close()

    async def _wait_for_turn(self) -> None:
        if self._free.locked() and self._queued >= self._waiting:
            raise _busy()
        self._queued += 1
        try:
            async with asyncio.timeout(self._wait_s):
                await self._free.acquire()
        except TimeoutError:
            raise _busy() from None
        finally:
            self._queued -= 1


class Seat:
    """One process, started with the first step."""

    def __init__(self, step_s: float) -> None:
        self.step_s = step_s
        self._pool: ProcessPoolExecutor | None = None

    async def run(self, work: Callable[[*Ts], T], *args: *Ts) -> T:
        if self._pool is None:
            # Spawned, not forked: this process has threads and sockets that a copy must not have.
            spawn = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, mp_context=spawn, initializer=_begin)
        try:
            async with asyncio.timeout(self.step_s):
                return await asyncio.wrap_future(self._pool.submit(work, *args))
        except TimeoutError:
            self.close()
            raise CompileFailed(f"It took more than {self.step_s:g} seconds and was given up.") from None
        except BrokenProcessPool:
            self.close()
            raise Unavailable("The process that compiles ended in the middle; try again.") from None
        except asyncio.CancelledError:
            # Nobody waits for the answer any more, and the next one in this seat must not.
            self.close()
            raise

    def close(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            for process in list((pool._processes or {}).values()):
                process.kill()
            pool.shutdown(wait=False, cancel_futures=True)


def _busy() -> Unavailable:
    return Unavailable(
        "As many uploads as this server takes at once are being compiled or waiting; try again shortly.",
        retry_after_s=_RETRY_AFTER_S,
    )


def _begin() -> None:
    """In a new process: an interrupt from the terminal is the server's affair, and so is its end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    # After a kill -9 nobody else would tell: a pool's process waits for work for ever.
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
