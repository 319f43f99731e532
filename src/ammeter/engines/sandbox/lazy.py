"""A sandbox that starts when it is first needed: a server that runs no scripts pays nothing for it."""

from __future__ import annotations

import asyncio

from ammeter.engines.sandbox.pool import Pool, PoolOptions
from ammeter.engines.sandbox.port import Sandbox


class LazySandbox:
    def __init__(self, options: PoolOptions) -> None:
        self._options = options
        self._pool: Pool | None = None
        self._starting: asyncio.Lock | None = None

    async def open(self) -> Sandbox:
        """The running sandbox; whoever comes first waits for its start, the others with them."""
        if self._starting is None:
            self._starting = asyncio.Lock()
        async with self._starting:
            if self._pool is None:
                pool = Pool(self._options)
                await pool.start()
                self._pool = pool
        return self._pool

    async def stop(self) -> None:
        pool, self._pool, self._starting = self._pool, None, None
        if pool is not None:
            await pool.stop()
