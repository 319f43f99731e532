"""What Python's collector finds: objects that hold each other and nobody else."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_OURS = ("ammeter.doors.", "ammeter.features.")


@contextmanager
def waste() -> Iterator[list[Any]]:
    """What of doors and features the collector had to collect after the block; libraries have their own."""
    found: list[Any] = []
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        gc.collect()
        found.extend(thing for thing in gc.garbage if type(thing).__module__.startswith(_OURS))
    finally:
        gc.set_debug(0)
        gc.garbage.clear()


def waste_of(act: Callable[[], object]) -> list[Any]:
    """What three times of it leave; the first time, which may make what is kept, does not count."""
    act()
    with waste() as found:
        for _ in range(3):
            act()
    return found
