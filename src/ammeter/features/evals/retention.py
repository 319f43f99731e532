"""Runs go in time, with their events and evaluations: after the days the operator set. In batches, each a
transaction of its own, so that nobody who writes waits long."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from ammeter.engines.db.database import Database, Tx
from ammeter.features.evals import store

_BATCH = 200
_MOST = 100_000


def prune(
    db: Database, *, keep_days: int, at: datetime, check: Callable[[Tx], None], batch: int = _BATCH
) -> int:
    """How many runs went; what is left of a great many goes at the next call. `check` is called in each
    transaction and raises where the work is no longer ours. With 0 days runs stay for ever."""
    gone = 0
    while keep_days and gone < _MOST:
        with db.write() as tx:
            check(tx)
            went = store.prune_runs(tx, at - timedelta(days=keep_days), limit=batch)
        gone += went
        if went < batch:
            break
    return gone
