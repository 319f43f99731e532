"""Whose script may run now: so many at once over all and for each tenant, a queue with an end, and tenants
served in turn. In goes a tenant that wants to run a script, out comes yes, or no at once or soon.

What is run is absent; a tenant is any text.
"""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque


class Turns:
    def __init__(self, *, running: int, running_each: int, waiting: int, waiting_each: int) -> None:
        self._most_running, self._most_running_each = running, running_each
        self._most_waiting, self._most_waiting_each = waiting, waiting_each
        self._running: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self.running = 0
        self.waiting = 0

    async def take(self, tenant: str, *, patience_s: float) -> bool:
        """True: `give_back` has to follow. False: there is no room, or no turn came in time."""
        if self._may_run(tenant) and tenant not in self._queues:
            self._begin(tenant)
            return True
        queue = self._queues.get(tenant, ())
        if self.waiting >= self._most_waiting or len(queue) >= self._most_waiting_each:
            return False
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(tenant, deque()).append(turn)
        self.waiting += 1
        try:
            async with asyncio.timeout(patience_s):
                await turn
        except TimeoutError:
            self._leave(tenant, turn)
            return False
        except asyncio.CancelledError:
            self._leave(tenant, turn)
            raise
        return True

    def give_back(self, tenant: str) -> None:
        self.running -= 1
        self._running[tenant] -= 1
        if not self._running[tenant]:
            del self._running[tenant]
        self._serve()

    def _may_run(self, tenant: str) -> bool:
        return self.running < self._most_running and self._running[tenant] < self._most_running_each

    def _begin(self, tenant: str) -> None:
        self.running += 1
        self._running[tenant] += 1

    def _leave(self, tenant: str, turn: asyncio.Future[None]) -> None:
        if turn.done() and not turn.cancelled():
            # The turn came just as nobody waited for it any more.
            self.give_back(tenant)
            return
        queue = self._queues[tenant]
        queue.remove(turn)
        self.waiting -= 1
        if not queue:
            del self._queues[tenant]

    def _serve(self) -> None:
        """One from each tenant in turn, for as long as there is room."""
        while (tenant := next(filter(self._may_run, self._queues), None)) is not None:
            self._grant(tenant)

    def _grant(self, tenant: str) -> None:
        queue = self._queues[tenant]
        turn = queue.popleft()
        self.waiting -= 1
        if queue:
            self._queues.move_to_end(tenant)
        else:
            del self._queues[tenant]
        self._begin(tenant)
        turn.set_result(None)
