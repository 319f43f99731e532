"""Who writes next where only one can: whoever answers a request goes first, work in the background after.

Runs, jobs and telemetry write many small things that nobody watches being written, and each keeps the file's
one writer for a while. A request that comes in between waits for the one that has it, not for a queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock

_PATIENCE_S = 0.05
"""Then the background has its turn, however many requests there are."""


class Turns:
    def __init__(self, patience_s: float = _PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._changed = Condition()
        self._first = 0
        self._behind = Lock()

    @contextmanager
    def first(self) -> Iterator[None]:
        with self._changed:
            self._first += 1
        try:
            yield
        finally:
            with self._changed:
                self._first -= 1
                if not self._first:
                    self._changed.notify_all()

    @contextmanager
    def behind(self) -> Iterator[None]:
        """One at a time, so that whoever comes first finds at most one before it."""
        with self._behind:
            with self._changed:
                self._changed.wait_for(lambda: not self._first, self._patience_s)
            yield
