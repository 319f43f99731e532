"""Suite runs go when their runs do: after the days that the operator set for runs. In batches, each a
transaction of its own."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from ammeter.engines.db.database import Database, Tx
from ammeter.features.suites import store

_BATCH = 200
_MOST = 100_000


def prune(db: Database, *, keep_days: int, at: datetime, check: Callable[[Tx], None]) -> int:
    """How many went. With 0 days they stay for ever."""
    gone = 0
    while keep_days and gone < _MOST:
        with db.write() as tx:
            check(tx)
            went = store.prune_suite_runs(tx, at - timedelta(days=keep_days), limit=_BATCH)
        gone += went
        if went < _BATCH:
            break
    return gone
