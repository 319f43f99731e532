"""The loop that both queues share: claim jobs, run their handlers, write how they ended.

In comes a `Source` (where claims come from) and the handlers; out go row changes and log lines. The
loop outlives a lost database and a handler's every fault. Threads of its own are absent: database
calls use the database's threads, handlers run on the event loop.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

from ammeter.base.errors import Unavailable
from ammeter.engines.db.database import Tx
from ammeter.engines.db.together import SharedWrites
from ammeter.engines.jobs import rows
from ammeter.engines.jobs.port import (
    Handler,
    Job,
    JobCancelled,
    JobFailed,
    JobLost,
    Pace,
)
from ammeter.engines.jobs.rows import Broke, Cancelled, Claim, Failed, GivenBack, Outcome, Seen, Succeeded

log = logging.getLogger(__name__)

_AWAY_S = 1.0
"""Between two tries at a database that is away."""


class Source(Protocol):
    """Where claims come from, and how this worker shows that it lives."""

    async def open(self, wake: Callable[[], None]) -> None:
        """Called before each claim; does its work once. `wake` says that there may be a job."""
        ...

    async def claim(self, limit: int, *, active: Set[str], woken: bool) -> Sequence[Claim]:
        """At most `limit` jobs; those of dead workers are first put back. `active` are our own tokens."""
        ...

    async def watch(self, claims: Sequence[Claim]) -> Seen:
        """Called every `watch_s`, with or without claims: beat, and see what became of them."""
        ...

    def settle(self, tx: Tx, claim: Claim, outcome: Outcome) -> None: ...

    async def close(self) -> None: ...


class Attempt:
    """The `JobRun` that a handler gets."""

    def __init__(self, writes: SharedWrites, claim: Claim) -> None:
        self._writes = writes
        self._claim = claim
        self.cancelled = asyncio.Event()

    @property
    def job(self) -> Job:
        return self._claim.job

    async def progress(self, fraction: float, message: str = "") -> None:
        try:
            job = await self._writes.write(lambda tx: rows.progress(tx, self._claim, fraction, message))
        except Unavailable as fault:
            # Only a picture for people: not worth a job that may have run for an hour.
            log.warning("progress not written: %s", fault.message, extra={"job_id": self.job.id})
            return
        if job.cancel_requested:
            self.cancelled.set()

    def check_in(self, tx: Tx) -> None:
        rows.check_held(tx, self._claim)

    def stop_if_cancelled(self) -> None:
        if self.cancelled.is_set():
            raise JobCancelled


@dataclass(slots=True, kw_only=True, eq=False)
class _Slot:
    claim: Claim
    run: Attempt
    task: asyncio.Task[None] | None = None
    lost: bool = False
    settling: bool = False


class QueueWorker:
    def __init__(
        self,
        writes: SharedWrites,
        source: Source,
        handlers: Mapping[str, Handler],
        *,
        concurrency: int,
        pace: Pace,
    ) -> None:
        self._writes = writes
        self._source = source
        self._handlers = handlers
        self._concurrency = concurrency
        self._pace = pace
        self._slots: set[_Slot] = set()
        self._wake = asyncio.Event()
        self._woken = False
        self._stopping = asyncio.Event()
        self._loops: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._loops = [
            loop.create_task(self._claiming(), name="jobs claiming"),
            loop.create_task(self._watching(), name="jobs watching"),
        ]

    async def stop(self, grace_s: float = 10.0) -> None:
        if not self._loops:
            return
        claiming, watching = self._loops
        self._loops = []
        self._stopping.set()
        self._wake.set()
        await claiming
        await self._wait_for_slots(grace_s)
        for slot in self._slots:
            if not slot.settling and slot.task is not None:
                slot.task.cancel()
        await self._wait_for_slots(self._pace.wind_down_s)
        for slot in list(self._slots):
            log.warning("the handler does not end; its job is given back", extra=_names(slot.claim.job))
            slot.lost = True
            await self._settle(slot.claim, GivenBack(), patient=False)
        await end(watching)
        await self._source.close()

    def _notify(self) -> None:
        self._woken = True
        self._wake.set()

    async def _claiming(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            woken, self._woken = self._woken, False
            more = False
            if await self._survives(self._source.open(self._notify)):
                more = await self._survives(self._claim(woken))
            if not more:
                await _wait(self._stopping, _AWAY_S)
            elif len(self._slots) >= self._concurrency:
                await self._wake.wait()
            else:
                await _wait(self._wake, self._pace.poll_s)

    async def _claim(self, woken: bool) -> None:
        free = self._concurrency - len(self._slots)
        active = {slot.claim.token for slot in self._slots}
        for claim in await self._source.claim(free, active=active, woken=woken):
            slot = _Slot(claim=claim, run=Attempt(self._writes, claim))
            self._slots.add(slot)
            slot.task = asyncio.create_task(self._run(slot), name=f"job {claim.job.kind}")

    async def _watching(self) -> None:
        while True:
            await asyncio.sleep(self._pace.watch_s)
            await self._survives(self._watch())

    async def _watch(self) -> None:
        watched = list(self._slots)
        seen = await self._source.watch([slot.claim for slot in watched])
        for slot in watched:
            if slot.claim.job.id in seen.cancelled:
                slot.run.cancelled.set()
            # A job that is being settled here has left the row's token behind by our own hand.
            if slot.claim.job.id in seen.lost and not slot.settling and slot.task is not None:
                slot.lost = True
                slot.task.cancel()

    async def _run(self, slot: _Slot) -> None:
        try:
            outcome = await self._attempt(slot)
            slot.settling = True
            if outcome is None or slot.lost:
                log.warning("another worker has the job; nothing is written", extra=_names(slot.claim.job))
            else:
                await self._settle(slot.claim, outcome)
        finally:
            self._slots.discard(slot)
            self._notify()

    async def _attempt(self, slot: _Slot) -> Outcome | None:
        """How the handler ended; None where the job is no longer ours."""
        job = slot.claim.job
        try:
            return _succeeded(await self._handlers[job.kind](slot.run))
        except JobLost:
            return None
        except JobCancelled:
            return Cancelled()
        except JobFailed as failure:
            return Failed(message=str(failure))
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                return None if slot.lost else GivenBack()
            return Broke(message="The handler cancelled itself.")
        except Exception as fault:
            log.exception("attempt %d of %d failed", job.attempts, job.max_attempts, extra=_names(job))
            return Broke(message=f"{type(fault).__name__}: {fault}")

    async def _settle(self, claim: Claim, outcome: Outcome, *, patient: bool = True) -> None:
        """Write the end of the attempt; where patient, wait for a database that is away."""
        while True:
            try:
                await self._writes.write(lambda tx: self._source.settle(tx, claim, outcome))
            except JobLost:
                log.warning("another worker has the job; its end is not written", extra=_names(claim.job))
            except Unavailable as fault:
                log.warning("the job's end is not written yet: %s", fault.message, extra=_names(claim.job))
                if patient:
                    await asyncio.sleep(_AWAY_S)
                    continue
            except Exception:
                log.exception("the job's end cannot be written", extra=_names(claim.job))
            return

    async def _wait_for_slots(self, timeout_s: float) -> None:
        if tasks := [slot.task for slot in self._slots if slot.task is not None]:
            await asyncio.wait(tasks, timeout=timeout_s)

    async def _survives(self, step: Coroutine[Any, Any, None]) -> bool:
        try:
            await step
        except Unavailable as fault:
            log.warning("the job queue is out of reach: %s", fault.message)
            return False
        except Exception:
            log.exception("a step of the job worker failed; it goes on")
            return False
        return True


async def end(task: asyncio.Task[None]) -> None:
    """Cancel a task until it has ended."""
    # Once is not enough: before Python 3.12 asyncio.wait_for, which the drivers wait with, swallows a
    # cancellation that comes at the same moment as what it waits for.
    while not task.done():
        task.cancel()
        await asyncio.wait([task], timeout=0.1)


def _succeeded(result: object) -> Outcome:
    try:
        json.dumps(result, allow_nan=False)
    except (TypeError, ValueError) as fault:
        return Failed(message=f"The handler's result is not JSON: {fault}")
    return Succeeded(result=result)


def _names(job: Job) -> dict[str, str]:
    return {"job_id": job.id, "job_kind": job.kind}


async def _wait(event: asyncio.Event, timeout_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await event.wait()
    except TimeoutError:
        return
