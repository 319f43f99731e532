"""How many calls of one organization are under way at once on this node. Connections to a host are bounded
for all together, so an organization whose calls hang would leave none to others that use the same API.
"""

from __future__ import annotations

import asyncio
from weakref import WeakValueDictionary

CALLS_AT_ONCE = 32
"""A quarter of the connections that one host may have."""


class Lanes:
    def __init__(self, calls_at_once: int = CALLS_AT_ONCE) -> None:
        self._calls_at_once = calls_at_once
        # A lane lives as long as a script is in it.
        self._lanes: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def of(self, tenant: str) -> asyncio.Semaphore:
        lane = self._lanes.get(tenant)
        if lane is None:
            lane = self._lanes[tenant] = asyncio.Semaphore(self._calls_at_once)
        return lane
