"""The sandbox: a few worker processes, kept alive, and as many scripts at once as they may carry.

In comes a script and its host, out goes an outcome. A worker that dies, falls silent or has served long
enough is replaced, and only the scripts inside it are lost. There is no endless queue (`turns.py`): who
cannot be served soon is told `Busy`. What a script says is for `run.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from ammeter.base.errors import SettingsError
from ammeter.engines.sandbox import wire
from ammeter.engines.sandbox.engine import Artifacts, prepare
from ammeter.engines.sandbox.port import (
    Busy,
    Counters,
    Crashed,
    Host,
    Json,
    Outcome,
    RepeatableHost,
    Script,
    ScriptError,
    Value,
)
from ammeter.engines.sandbox.process import Link, WorkerLost, start_worker
from ammeter.engines.sandbox.run import Run
from ammeter.engines.sandbox.turns import Turns
from ammeter.engines.sandbox.wire import ToWorker

# A loaded SDK takes about 20 times its text in each worker.
_IMAGES, _IMAGES_CHARS = 32, 8 << 20
_TRIES = 3
_PING_S = 1.0
_SILENCE_S = 10.0
_RETRY_S = 0.5
_START_S = 60.0

# What a worker needs beside its scripts' memory: its interpreter, its modules, types being stripped.
_WORKER_BYTES = 768 << 20

Hardening = Literal["require", "best-effort", "off"]

_log = logging.getLogger(__name__)


class HardeningMissing(SettingsError):
    """Walls are required that this system does not raise."""

    def __init__(self, missing: list[str], report: Mapping[str, Json]) -> None:
        super().__init__(
            f"The sandbox's workers have no {' and no '.join(missing)} on this system ({report}), and"
            " AMMETER_SANDBOX_HARDENING is `require`. Run on Linux where seccomp is allowed, or set it to"
            " `best-effort`."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOptions:
    cache: Path
    """A folder of this user alone; compiled modules are kept there."""
    workers: int = field(default_factory=lambda: max(2, min(os.cpu_count() or 2, 4)))
    """Processes; each uses at most one core and holds about 30 MB."""
    running: int = 128
    """Scripts at once, over all workers. One that waits for an answer costs a few megabytes and no time."""
    running_per_tenant: int = 64
    waiting: int = 256
    """Scripts that wait for their turn; beyond it `Busy` is said at once."""
    waiting_per_tenant: int = 64
    patience_s: float = 10.0
    """How long a script waits for its turn, or for a worker, before it is told `Busy`."""
    memory_bytes: int = 1 << 30
    """Of all scripts together; where they would use more, the largest ends as `MemoryExceeded`."""
    retire_after: int = 20_000
    """Scripts after which a worker is replaced."""
    hardening: Hardening = "best-effort"
    """`require`: no start without seccomp and resource limits. `off`: for looking for faults."""


class Pool:
    """`async with Pool(options) as sandbox` or `start` and `stop`."""

    def __init__(self, options: PoolOptions) -> None:
        self._options = options
        self._links: list[Link] = []
        self._keepers: list[asyncio.Task[None]] = []
        self._numbers = itertools.count(1)
        self._images: OrderedDict[tuple[str | int, ...], int] = OrderedDict()
        self._turns = Turns(
            running=options.running,
            running_each=options.running_per_tenant,
            waiting=options.waiting,
            waiting_each=options.waiting_per_tenant,
        )
        self._changed = asyncio.Condition()
        self._restarts = self._scripts = self._busy = 0

    async def __aenter__(self) -> Pool:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Returns once every worker can take scripts; the first time on a machine this takes seconds."""
        setup = await self._setup()
        starts = [_start(setup) for _ in range(self._options.workers)]
        started = await asyncio.gather(*starts, return_exceptions=True)
        self._links = [link for link in started if isinstance(link, Link)]
        for failed in started:
            if isinstance(failed, BaseException):
                await self.stop()
                raise failed
        missing = missing_walls(self.hardening())
        if missing and self._options.hardening == "require":
            report = self.hardening()
            await self.stop()
            raise HardeningMissing(missing, report)
        self._keepers = [asyncio.create_task(self._keep(place)) for place in range(self._options.workers)]

    async def stop(self) -> None:
        for keeper in self._keepers:
            keeper.cancel()
        await asyncio.gather(*self._keepers, return_exceptions=True)
        links, self._links, self._keepers = self._links, [], []
        for link in links:
            await link.close()

    def hardening(self) -> Mapping[str, Json]:
        return self._links[0].report if self._links else {}

    def counters(self) -> Counters:
        return Counters(
            running=self._turns.running,
            waiting=self._turns.waiting,
            workers=len(self.worker_pids()),
            restarts=self._restarts,
            scripts=self._scripts,
            busy=self._busy,
        )

    def worker_pids(self) -> list[int]:
        return [link.pid for link in self._links if not link.is_lost]

    async def run(self, script: Script, host: Host) -> Outcome:
        if len(script.code.encode("utf-8", "replace")) > script.limits.script_bytes:
            limit = script.limits.script_bytes
            return ScriptError(name="RangeError", message=f"The script is longer than {limit} bytes.")
        if not await self._turns.take(script.tenant, patience_s=self._options.patience_s):
            self._busy += 1
            return Busy()
        try:
            self._scripts += 1
            for _ in range(_TRIES):
                link = await self._find_link()
                if link is None:
                    self._busy += 1
                    return Busy()
                outcome = await self._run_in(link, script, host)
                if not (isinstance(outcome, Crashed) and link.is_lost and _may_begin_again(outcome, host)):
                    break
                # Its worker died under it and it has changed nothing outside: another one starts it anew.
            return outcome
        finally:
            self._turns.give_back(script.tenant)

    async def _find_link(self) -> Link | None:
        ready = [link for link in self._links if not link.is_lost]
        if ready:
            return min(ready, key=lambda link: len(link.runs))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._options.patience_s), self._changed:
                while not (ready := [link for link in self._links if not link.is_lost]):
                    await self._changed.wait()
                return min(ready, key=lambda link: len(link.runs))
        return None

    async def _run_in(self, link: Link, script: Script, host: Host) -> Outcome:
        number = next(self._numbers) & 0x7FFF_FFFF
        image = self._image_in(link, script)
        run = Run(script, host, deliver=lambda events: link.send(number, ToWorker.DELIVER, events))
        link.runs[number] = run
        link.served += 1
        limits = script.limits
        header = wire.RUN.pack(
            image, limits.memory_bytes, limits.cpu_ms, limits.call_bytes + limits.output_bytes
        )
        forget: Callable[[int, ToWorker], None] = link.send
        try:
            link.send(number, ToWorker.RUN, header + script.code.encode("utf-8", "replace"))
            outcome = await run.outcome
            if isinstance(outcome, Value):
                # It came to its end by itself: nothing of it runs any more.
                forget = link.send_along
            return outcome
        finally:
            del link.runs[number]
            run.close()
            forget(number, ToWorker.CANCEL)

    def _image_in(self, link: Link, script: Script) -> int:
        """The number of this SDK's image; the worker makes the image when it first hears of it."""
        limits = script.limits
        options: dict[str, str | int] = {
            "clientName": script.client_name,
            "calls": limits.calls,
            "logChars": limits.log_bytes,
            "timers": limits.timers,
        }
        # The text itself is the key: its hash is kept by Python, a digest would be made for every script.
        key = (script.sdk, *options.values())
        number = self._images.setdefault(key, next(self._numbers))
        self._images.move_to_end(key)
        if number not in link.images:
            link.images.add(number)
            wanted = json.dumps({"sdk": script.sdk, "options": options})
            link.send(number, ToWorker.IMAGE, wanted.encode())
            self._forget_images()
        return number

    def _forget_images(self) -> None:
        """The least recently used, for as long as there are too many."""
        while len(self._images) > 1:
            chars = sum(len(str(key[0])) for key in self._images)
            if len(self._images) <= _IMAGES and chars <= _IMAGES_CHARS:
                return
            _, old = self._images.popitem(last=False)
            for other in self._links:
                if old in other.images:
                    other.images.remove(old)
                    other.send(old, ToWorker.FORGET)

    async def _setup(self) -> bytes:
        return _setup(await asyncio.to_thread(prepare, self._options.cache), self._options)

    async def _keep(self, place: int) -> None:
        """Watch over one worker for as long as the pool lives."""
        while True:
            link = self._links[place]
            await self._watch(link)
            await self._replace(place)
            self._restarts += 1
            async with self._changed:
                self._changed.notify_all()
            await _drained(link)
            await link.close()

    async def _watch(self, link: Link) -> None:
        """Returns when the worker has to be replaced."""
        while not link.is_lost and link.served < self._options.retire_after:
            link.send(0, ToWorker.PING)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(link.lost.wait(), _PING_S)
            if link.silent_s() > _SILENCE_S:
                _log.warning("A sandbox worker did not answer for %.0f s and is replaced", link.silent_s())
                link.lose("it did not answer")

    async def _replace(self, place: int) -> None:
        while True:
            try:
                # Prepared each time: the compiled modules may be gone from the cache by now.
                self._links[place] = await _start(await self._setup())
            except (WorkerLost, TimeoutError, OSError) as error:
                _log.error("A sandbox worker does not start: %s", error)
                await asyncio.sleep(_RETRY_S)
            else:
                return


def _may_begin_again(outcome: Crashed, host: Host) -> bool:
    return not outcome.calls or (isinstance(host, RepeatableHost) and host.begin_again())


async def _start(setup: bytes) -> Link:
    async with asyncio.timeout(_START_S):
        return await start_worker(setup)


async def _drained(link: Link) -> None:
    """A worker that only retires may finish what it has."""
    while link.runs and not link.is_lost:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(link.lost.wait(), _PING_S)


def missing_walls(report: Mapping[str, Json]) -> list[str]:
    """Those without which no worker is safe enough to require; others are good to have."""
    walls = {"seccomp": "seccomp filter", "limits": "resource limits"}
    return [name for wall, name in walls.items() if not report.get(wall)]


def _setup(artifacts: Artifacts, options: PoolOptions) -> bytes:
    share = options.memory_bytes // options.workers
    setup = {
        "guest": str(artifacts.guest),
        "layout": asdict(artifacts.layout),
        "stripper": str(artifacts.stripper),
        "harden": options.hardening != "off",
        "memory_bytes": share,
        "data_bytes": share + _WORKER_BYTES,
    }
    return json.dumps(setup).encode()
