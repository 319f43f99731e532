"""SQL for what goes in time of insights, with the sums that are kept of it."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, Table, and_, delete, select, tuple_

from ammeter.engines.db.database import Tx
from ammeter.engines.db.tables import (
    insight_clusters,
    insight_forms,
    insight_intents,
    insight_misses,
    insight_names,
    insight_sessions,
    insight_shown,
)
from ammeter.features.insights.day_store import keep_sums, prune_empty_days, rows_of_sessions
from ammeter.features.insights.day_sums import day_sums
from ammeter.features.insights.refresh_store import parts_of

_c, _m = insight_clusters.c, insight_misses.c
_COUNTED: tuple[tuple[Table, str], ...] = ((insight_intents, "last_at"), (insight_misses, "at"))
_OTHERS: tuple[tuple[Table, str], ...] = (
    (insight_shown, "at"),
    (insight_names, "at"),
    (insight_sessions, "last_event_at"),
    (insight_forms, "last_seen"),
)


def prune(tx: Tx, org_id: str, before: datetime, *, limit: int) -> int:
    """What is older goes, about so many rows of each table; how many went. Topics stay, so that what comes
    back finds its topic and its label."""
    gone = 0
    for table, column in _COUNTED:
        old = and_(table.c.org_id == org_id, table.c[column] < before)
        gone += _delete_counted(tx, table, old, limit)
    for table, column in _OTHERS:
        old = and_(table.c.org_id == org_id, table.c[column] < before)
        gone += _delete_some(tx, table, old, limit)
    prune_empty_days(tx, org_id, before)
    missed = select(_m.event_id).where(_m.cluster_id == _c.id).exists()
    unheard = and_(_c.org_id == org_id, _c.last_seen < before, ~missed)
    return gone + _delete_some(tx, insight_clusters, unheard, limit)


def _delete_counted(tx: Tx, table: Table, old: ColumnElement[bool], limit: int) -> int:
    """Session by session, as the sums are made."""
    gone = 0
    ids = sorted(set(tx.scalars(select(table.c.session_id).where(old).limit(limit))))
    sums = day_sums(*rows_of_sessions(tx, ids))
    for part in parts_of(ids):
        gone += tx.execute(delete(table).where(old, table.c.session_id.in_(part))).rowcount
    keep_sums(tx, sums, day_sums(*rows_of_sessions(tx, ids)))
    return gone


def _delete_some(tx: Tx, table: Table, old: ColumnElement[bool], limit: int) -> int:
    chosen = select(*table.primary_key).where(old).limit(limit)
    return tx.execute(delete(table).where(tuple_(*table.primary_key).in_(chosen))).rowcount
