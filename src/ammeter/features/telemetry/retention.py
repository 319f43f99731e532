"""Telemetry goes in time: events and sessions after the days the operator set, sums after two years. In
batches, each a transaction of its own, so that nobody who writes waits long."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from ammeter.engines.db.database import Database, Tx
from ammeter.features.telemetry import store

SUMS_LIFE = timedelta(days=730)

_BATCH = 1_000
_MOST = 500_000


def prune(
    db: Database, *, keep_days: int, at: datetime, check: Callable[[Tx], None], batch: int = _BATCH
) -> int:
    """How many rows went; what is left of a great many goes at the next call. `check` is called in each
    transaction and raises where the work is no longer ours. With 0 days events stay for ever."""
    gone = 0
    if keep_days:
        gone += _in_batches(db, check, at - timedelta(days=keep_days), batch, store.prune_events)
    return gone + _in_batches(db, check, at - SUMS_LIFE, batch, store.prune_sums)


def _in_batches(
    db: Database, check: Callable[[Tx], None], before: datetime, batch: int, step: Callable[..., int]
) -> int:
    gone = 0
    while gone < _MOST:
        with db.write() as tx:
            check(tx)
            went = step(tx, before, limit=batch)
        if not went:
            break
        gone += went
    return gone
