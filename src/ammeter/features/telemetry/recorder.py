"""Takes events from the doors without making them wait, and stores them in batches.

`record` puts an event into a bounded buffer; a thread of the recorder's own takes the buffer every half
second, strips secrets, and writes the events with all sums in one transaction. Known secrets live no longer
than that: they are let go of when the batch is taken, before anything is written, whether or not the
database answers. What does not fit is dropped, newest first, and counted. A hard kill loses what came in
the last second; `stop` stores everything.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ammeter.base.errors import AmmeterError
from ammeter.engines.db.database import Database
from ammeter.features.telemetry import store
from ammeter.features.telemetry.content import Prepared, size_of, storable
from ammeter.features.telemetry.model import Event

log = logging.getLogger("ammeter.telemetry")

_WARN_EVERY_S = 60.0
_FIRST_WAIT_S = 0.2
_LONGEST_WAIT_S = 5.0
# A tenth of a millisecond; to give way after each would cost as much as the work.
_AT_ONCE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Counts since the start, for whoever watches."""

    stored: Mapping[str, int]
    """Events, by kind."""
    dropped: Mapping[tuple[str, str], int]
    """Events, by kind and reason: `full`, `stopped`, `unstorable`, `lost` (no database at the stop)."""
    content_dropped: int
    secrets_stripped: int
    failed_writes: int
    buffered: int
    buffered_bytes: int


class Recorder:
    def __init__(
        self,
        db: Database,
        *,
        capacity: int = 20_000,
        capacity_bytes: int = 64 * 1024 * 1024,
        batch: int = 500,
        every_s: float = 0.4,
        stop_patience_s: float = 5.0,
    ) -> None:
        self._db = db
        self._capacity, self._capacity_bytes = capacity, capacity_bytes
        self._batch, self._every_s, self._stop_patience_s = batch, every_s, stop_patience_s
        self._incoming: deque[tuple[Event, tuple[str, ...]]] = deque()
        self._ready: deque[Event] = deque()
        self._held, self._held_bytes = 0, 0
        self._lock = threading.Lock()
        self._some, self._hurry = threading.Event(), threading.Event()
        self._stop = threading.Event()
        self._unsure = False
        self._gives_up_at = float("inf")
        self._thread: threading.Thread | None = None
        self._stored: Counter[str] = Counter()
        self._dropped: Counter[tuple[str, str]] = Counter()
        self._content_dropped = self._secrets_stripped = self._failed_writes = 0
        self._warned_at = float("-inf")

    def start(self) -> None:
        """Begin to store; a recorder that has begun goes on."""
        if self._thread is not None:
            return
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    def record(self, event: Event, known_secrets: Iterable[str] = ()) -> None:
        """Keep an event to be stored. Never waits for the database and never raises."""
        try:
            self._keep(event, tuple(known_secrets))
        except Exception:
            log.exception("an event could not be taken")

    async def stop(self) -> None:
        """Store all that was recorded. What the database has not taken within some seconds is lost."""
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def close(self) -> None:
        """The same, for whoever has no event loop."""
        with self._lock:
            if not self._stop.is_set():
                self._gives_up_at = time.monotonic() + self._stop_patience_s
                self._stop.set()
        self._hurry.set()
        self._some.set()
        if self._incoming:
            self.start()
        if self._thread is not None:
            self._thread.join()

    def figures(self) -> Figures:
        with self._lock:
            return Figures(
                stored=dict(self._stored),
                dropped=dict(self._dropped),
                content_dropped=self._content_dropped,
                secrets_stripped=self._secrets_stripped,
                failed_writes=self._failed_writes,
                buffered=self._held,
                buffered_bytes=self._held_bytes,
            )

    def _keep(self, event: Event, known_secrets: tuple[str, ...]) -> None:
        size = size_of(event)
        with self._lock:
            full = self._held >= self._capacity or self._held_bytes + size > self._capacity_bytes
            if full or self._stop.is_set():
                self._dropped[event.kind, "full" if full else "stopped"] += 1
                return
            self._held += 1
            self._held_bytes += size
            self._incoming.append((event, known_secrets))
            waiting = len(self._incoming)
        if waiting == 1:
            self._some.set()
        elif waiting >= self._batch:
            self._hurry.set()

    def _run(self) -> None:
        wait_s = _FIRST_WAIT_S
        while True:
            self._some.wait()
            self._hurry.wait(self._every_s)
            stopping = self._stop.is_set()
            if self._take_and_write():
                if stopping:
                    return
                wait_s = _FIRST_WAIT_S
                continue
            if time.monotonic() >= self._gives_up_at:
                self._give_up()
                return
            if stopping:
                time.sleep(_FIRST_WAIT_S)
            else:
                self._stop.wait(wait_s)
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
            self._some.set()

    def _take_and_write(self) -> bool:
        """Batch by batch, so that the first ones do not wait for the last; whether all are stored.

        What came in meanwhile, if it is less than a batch, waits for its turn: a write costs the same for
        one event as for a hundred, and a steady trickle would keep this thread at it all the time.
        """
        self._some.clear()
        self._hurry.clear()
        if self._stop.is_set():
            self._some.set()
            self._hurry.set()
        while self._incoming:
            self._take(self._batch)
            if not self._write_ready():
                # Secrets do not wait for a database.
                self._take(len(self._incoming))
                return False
            if len(self._incoming) < self._batch and not self._stop.is_set():
                break
        if self._incoming:
            self._some.set()
        return self._write_ready()

    def _take(self, most: int) -> None:
        """What came in, without secrets, to what is ready to be stored."""
        prepared: Prepared = {}
        for number in range(min(most, len(self._incoming))):
            event, known_secrets = self._incoming.popleft()
            clean = storable(event, known_secrets, prepared)
            with self._lock:
                self._held_bytes += size_of(clean) - size_of(event)
                self._content_dropped += clean.content_dropped
                self._secrets_stripped += clean.secrets_stripped
            self._ready.append(clean)
            if number % _AT_ONCE == _AT_ONCE - 1:
                # Taking secrets out is work: whoever waits to answer a request goes first.
                time.sleep(0)

    def _write_ready(self) -> bool:
        """Whether everything that was ready is stored, or never can be."""
        try:
            while self._ready:
                self._write(min(self._batch, len(self._ready)))
        except AmmeterError as fault:
            self._unsure = True
            self._count_failed_write()
            self._warn(f"telemetry waits for the database: {fault.message}")
            return False
        return True

    def _write(self, count: int) -> None:
        """The first so many of those that are ready."""
        events = list(itertools.islice(self._ready, count))
        try:
            self._insert(events)
        except AmmeterError:
            raise
        except Exception:
            self._unsure = True
            if count > 1:
                # One of them is at fault: each by itself, and the others are stored.
                for _ in events:
                    self._write(1)
                return
            self._count_failed_write()
            log.exception("an event cannot be stored", extra={"event_id": events[0].id})
            self._let_go(1, lost="unstorable")
            return
        self._unsure = False
        self._let_go(count)

    def _insert(self, events: Sequence[Event]) -> None:
        with self._db.write_behind() as tx:
            # After a fault nobody knows whether the commit was done.
            known = store.stored_ids(tx, [event.id for event in events]) if self._unsure else set()
            if new := [event for event in events if event.id not in known]:
                store.insert_batch(tx, new)

    def _give_up(self) -> None:
        log.error("%d events are lost: the database took none before the stop", len(self._ready))
        self._let_go(len(self._ready), lost="lost")

    def _let_go(self, count: int, *, lost: str | None = None) -> None:
        with self._lock:
            for _ in range(count):
                event = self._ready.popleft()
                self._held -= 1
                self._held_bytes -= size_of(event)
                if lost:
                    self._dropped[event.kind, lost] += 1
                else:
                    self._stored[event.kind] += 1

    def _count_failed_write(self) -> None:
        with self._lock:
            self._failed_writes += 1

    def _warn(self, words: str) -> None:
        if time.monotonic() - self._warned_at >= _WARN_EVERY_S:
            self._warned_at = time.monotonic()
            log.warning(words)
