"""A sandbox that starts when it is first needed: a server that runs no scripts pays nothing for it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from ammeter.engines.sandbox.port import Sandbox

if TYPE_CHECKING:
    from ammeter.engines.sandbox.pool import Pool


class LazySandbox:
    def __init__(self, cache: Path) -> None:
        self._cache = cache
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

                pool = Pool(PoolOptions(cache=self._cache))
                await pool.start()
                self._pool = pool
        return self._pool

    async def stop(self) -> None:
        pool, self._pool, self._starting = self._pool, None, None
        if pool is not None:
            await pool.stop()
