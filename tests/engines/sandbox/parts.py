"""What the tests of the sandbox share: a client, a host that answers it, and a real pool on a loop of its
own, so that a test reads as script in, outcome out."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from ammeter.engines.sandbox.pool import Pool, PoolOptions
from ammeter.engines.sandbox.port import (
    Host,
    HostError,
    Json,
    Limits,
    Outcome,
    Sandbox,
    Script,
    ScriptError,
    Value,
)

T = TypeVar("T")

SDK = """(call) => Object.freeze({
  echo: (value) => call("echo", value),
  slow: (value) => call("slow", value),
  never: () => call("never", null),
  refuse: (value) => call("refuse", value),
  other: (operation, value) => call(operation, value),
})"""
QUICK = Limits(wall_ms=8_000, cpu_ms=700, memory_bytes=32 << 20)
WAIT_S = 30.0


class Answering:
    """Echoes, refuses, or never answers; remembers the most calls that were under way at once."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Json]] = []
        self.under_way = self.most_under_way = 0

    async def call(self, operation_id: str, arguments: Json) -> Json | HostError:
        self.asked.append((operation_id, arguments))
        self.under_way += 1
        self.most_under_way = max(self.under_way, self.most_under_way)
        try:
            match operation_id:
                case "slow":
                    await asyncio.sleep(0.05)
                case "never":
                    await asyncio.Event().wait()
                case "refuse":
                    return HostError(message="no such pet", name="ApiError", properties={"status": 404})
                case "burst":
                    raise RuntimeError("the host's own fault, with a secret in it")
            return arguments
        finally:
            self.under_way -= 1


class Opened:
    """A pool that any test may use from its own thread."""

    def __init__(self, cache: Path, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        self.pool = self.within(self._made(PoolOptions(cache=cache, **({"workers": 2} | options))))
        try:
            self.within(self.pool.start(), timeout_s=90)
        except BaseException:
            self._end()
            raise

    @staticmethod
    async def _made(options: PoolOptions) -> Pool:
        return Pool(options)

    def within(self, work: Coroutine[Any, Any, T], *, timeout_s: float = WAIT_S) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout_s)

    def run(self, code: str, host: Host | None = None, *, sdk: str = SDK, **limits: int) -> Outcome:
        script = Script(code=code, sdk=sdk, limits=replace(QUICK, **limits))
        sandbox: Sandbox = self.pool
        return self.within(sandbox.run(script, host or Answering()))

    def run_all(self, codes: Sequence[str], host: Host | None = None, **limits: int) -> list[Outcome]:
        async def together() -> list[Outcome]:
            scripts = [Script(code=code, sdk=SDK, limits=replace(QUICK, **limits)) for code in codes]
            return await asyncio.gather(*(self.pool.run(script, host or Answering()) for script in scripts))

        return self.within(together(), timeout_s=60)

    def value(self, code: str, host: Host | None = None, **limits: int) -> Json:
        outcome = self.run(code, host, sdk=SDK, **limits)
        assert isinstance(outcome, Value), outcome
        return outcome.json

    def error(self, code: str, host: Host | None = None, **limits: int) -> ScriptError:
        outcome = self.run(code, host, sdk=SDK, **limits)
        assert isinstance(outcome, ScriptError), outcome
        return outcome

    @property
    def pids(self) -> list[int]:
        return self.pool.worker_pids()

    def close(self) -> None:
        try:
            self.within(self.pool.stop())
        finally:
            self._end()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_S)
        self._loop.close()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
