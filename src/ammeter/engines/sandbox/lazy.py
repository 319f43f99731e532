"""A sandbox that starts when it is first needed: a server that runs no scripts pays nothing for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ammeter.engines.sandbox.port import Counters, Json, Sandbox

if TYPE_CHECKING:
    from ammeter.engines.sandbox.pool import Pool


class LazySandbox:
    def __init__(self, cache: Path, *, hardening: Literal["require", "best-effort"] = "best-effort") -> None:
        self._cache = cache
        self._hardening = hardening
        self._pool: Pool | None = None
        self._starting: asyncio.Lock | None = None

    async def open(self) -> Sandbox:
        """The running sandbox; whoever comes first waits for its start, the others with them."""
        if self._starting is None:
            self._starting = asyncio.Lock()
        async with self._starting:
            if self._pool is None:
                # Imported here: wasmtime is for those who run scripts.
                from ammeter.engines.sandbox.pool import Pool, PoolOptions

                pool = Pool(PoolOptions(cache=self._cache, hardening=self._hardening))
                await pool.start()
                self._pool = pool
        return self._pool

    async def warm(self) -> None:
        """Start it before the first script comes; the first time on a machine this takes seconds."""
        await self.open()

    def hardening(self) -> Mapping[str, Json] | None:
        """None until it is started."""
        return None if self._pool is None else self._pool.hardening()

    def counters(self) -> Counters:
        return Counters() if self._pool is None else self._pool.counters()

    async def stop(self) -> None:
        pool, self._pool, self._starting = self._pool, None, None
        if pool is not None:
            await pool.stop()
