"""From an upload to an artifact: compile, prove the examples, index for search, pack; and the diff of two.

Compiling takes seconds of CPU, so it runs in a process of its own and holds up no request; the proof runs
in this process's sandbox. A compile that takes too long is given up, and its process replaced.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import TypeVar, TypeVarTuple

from ammeter.base.errors import CompileFailed, Unavailable
from ammeter.engines.compiler.bundle import Bundle, Compilation, pack, unpack
from ammeter.engines.compiler.compile import Description, compile_description
from ammeter.engines.compiler.diff import ApiDiff, diff_apis
from ammeter.engines.compiler.model import Finding
from ammeter.engines.sandbox.port import Sandbox
from ammeter.features.bundles.prove import prove

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

_STEP_S = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    bundle: Bundle | None
    artifact: bytes
    findings: tuple[Finding, ...]


class Builder:
    def __init__(self, open_sandbox: Callable[[], Awaitable[Sandbox]]) -> None:
        self._open_sandbox = open_sandbox
        self._pool: ProcessPoolExecutor | None = None

    async def build(self, description: Description) -> Built:
        compiled: Compilation = await self._elsewhere(compile_description, description)
        if compiled.bundle is None:
            return Built(bundle=None, artifact=b"", findings=compiled.findings)
        bundle, unproven = await prove(compiled.bundle, await self._open_sandbox())
        bundle, artifact = await self._elsewhere(_finish, bundle)
        return Built(bundle=bundle, artifact=artifact, findings=(*compiled.findings, *unproven))

    async def diff(self, old: bytes | None, new: bytes) -> ApiDiff:
        return await self._elsewhere(_diff, old, new)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    async def _elsewhere(self, work: Callable[[*Ts], T], *args: *Ts) -> T:
        if self._pool is None:
            # Spawned, not forked: this process has threads and sockets that a copy must not have.
            self._pool = ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))
        future = self._pool.submit(work, *args)
        try:
            async with asyncio.timeout(_STEP_S):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            self._give_up()
            raise CompileFailed(f"Compiling took more than {_STEP_S:g} seconds and was given up.") from None
        except BrokenProcessPool:
            self._give_up()
            raise Unavailable("The process that compiles ended in the middle; try again.") from None

    def _give_up(self) -> None:
        pool, self._pool = self._pool, None
        if pool is not None:
            for process in list((pool._processes or {}).values()):
                process.kill()
            pool.shutdown(wait=False, cancel_futures=True)


def _finish(bundle: Bundle) -> tuple[Bundle, bytes]:
    # Imported here: numpy is for the process that compiles.
    from ammeter.engines.search.index import build_index
    from ammeter.engines.search.producers import ids_from

    sources = ids_from(bundle.cards)
    cards = tuple(replace(card, ids_from=source) for card, source in zip(bundle.cards, sources, strict=True))
    bundle = replace(bundle, cards=cards, search=build_index(cards))
    return bundle, pack(bundle)


def _diff(old: bytes | None, new: bytes) -> ApiDiff:
    return diff_apis(unpack(old).api if old is not None else None, unpack(new).api)
