"""SQL for reading clusters of failed searches, invented names and results that nobody used.

`source_ids` limits everything to sources that the caller may see; None is all of the organization.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, case, distinct, func, select

from ammeter.base.clock import now
from ammeter.base.errors import NotFound
from ammeter.engines.db.database import Tx
from ammeter.engines.db.tables import (
    insight_clusters,
    insight_intents,
    insight_misses,
    insight_names,
    insight_shown,
    insight_topics,
)
from ammeter.features.insights.topic_model import (
    Cluster,
    InventedName,
    NearOperation,
    Replay,
    Suggestion,
    UnusedResult,
)

_c, _m, _n, _s, _i, _t = (
    insight_clusters.c,
    insight_misses.c,
    insight_names.c,
    insight_shown.c,
    insight_intents.c,
    insight_topics.c,
)
_EXAMPLES = 8
_LOOKED_AT = 60


def list_clusters(
    tx: Tx,
    org_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    limit: int = 50,
    source_ids: Sequence[str] | None = None,
    cluster_ids: Sequence[str] | None = None,
) -> list[Cluster]:
    """With a failed search in the range, those with most searches first."""
    within = _within(insight_misses, org_id, since, until or now(), source_ids)
    searches, sessions = func.count(), func.count(distinct(_m.session_id))
    chosen = select(_m.cluster_id, searches, sessions).where(within).group_by(_m.cluster_id)
    if cluster_ids is not None:
        chosen = chosen.where(_m.cluster_id.in_(cluster_ids))
    counted = tx.execute(chosen.order_by(searches.desc(), sessions.desc(), _m.cluster_id).limit(limit)).all()
    rows = _rows(tx, org_id, [one for one, _, _ in counted])
    return [_cluster(tx, rows[one], count, seen, within) for one, count, seen in counted if one in rows]


def get_cluster(
    tx: Tx,
    org_id: str,
    cluster_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    source_ids: Sequence[str] | None = None,
) -> Cluster:
    """Also one without a failed search in the range; NotFound where there is none for this caller."""
    row = _rows(tx, org_id, [cluster_id]).get(cluster_id)
    if row is None or (source_ids is not None and row["source_id"] not in source_ids):
        raise NotFound("failed-search cluster")
    within = _within(insight_misses, org_id, since, until or now(), source_ids)
    chosen = select(func.count(), func.count(distinct(_m.session_id)))
    count, seen = tx.execute(chosen.where(within, _m.cluster_id == cluster_id)).one()
    return _cluster(tx, row, count, seen, within)


def list_cluster_sessions(
    tx: Tx,
    org_id: str,
    cluster_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    source_ids: Sequence[str] | None = None,
    limit: int = 20,
) -> list[str]:
    """Ids of sessions in which such a search failed, the latest first."""
    chosen = (
        select(_m.session_id)
        .where(
            _within(insight_misses, org_id, since, until or now(), source_ids), _m.cluster_id == cluster_id
        )
        .group_by(_m.session_id)
        .order_by(func.max(_m.at).desc(), _m.session_id.desc())
        .limit(limit)
    )
    return list(tx.scalars(chosen))


def list_miss_sessions(
    tx: Tx,
    org_id: str,
    query: str,
    *,
    since: datetime,
    until: datetime | None = None,
    source_ids: Sequence[str] | None = None,
    limit: int = 200,
) -> list[str]:
    """Ids of sessions in which a search with exactly this text failed, the latest first."""
    chosen = (
        select(_m.session_id)
        .where(_within(insight_misses, org_id, since, until or now(), source_ids), _m.query == query)
        .group_by(_m.session_id)
        .order_by(func.max(_m.at).desc(), _m.session_id.desc())
        .limit(limit)
    )
    return list(tx.scalars(chosen))


def clusters_of_topic(
    tx: Tx,
    org_id: str,
    topic_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    source_ids: Sequence[str] | None = None,
    limit: int = 10,
) -> list[Cluster]:
    """Of searches that failed in sessions of the topic."""
    merged = select(_t.id).where(_t.org_id == org_id, _t.merged_into == topic_id)
    ids = (topic_id, *tx.scalars(merged))
    sessions = select(_i.session_id).where(_i.org_id == org_id, _i.topic_id.in_(ids), _i.last_at >= since)
    chosen = (
        select(_m.cluster_id)
        .where(
            _within(insight_misses, org_id, since, until or now(), source_ids),
            _m.session_id.in_(sessions),
        )
        .group_by(_m.cluster_id)
        .order_by(func.count().desc(), _m.cluster_id)
        .limit(limit)
    )
    found = list(tx.scalars(chosen))
    if not found:
        return []
    return list_clusters(
        tx, org_id, since=since, until=until, limit=limit, source_ids=source_ids, cluster_ids=found
    )


def list_invented_names(
    tx: Tx,
    org_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    source_ids: Sequence[str] | None = None,
    limit: int = 50,
) -> list[InventedName]:
    """Names that scripts used and that do not exist, by the sessions they occur in."""
    sessions, uses, last = func.count(), func.sum(_n.uses), func.max(_n.at)
    chosen = (
        select(_n.name, uses, sessions, last.label("last"))
        .where(_within(insight_names, org_id, since, until or now(), source_ids))
        .group_by(_n.name)
        .order_by(sessions.desc(), uses.desc(), _n.name)
        .limit(limit)
    )
    return [
        InventedName(name=name, uses=int(used), sessions=seen, last_seen=at)
        for name, used, seen, at in tx.execute(chosen)
    ]


def list_unused_results(
    tx: Tx,
    org_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    source_ids: Sequence[str] | None = None,
    limit: int = 50,
) -> list[UnusedResult]:
    """Operations that searches showed, by the sessions that saw them and did not call them."""
    unused = func.sum(case((_s.used, 0), else_=1))
    chosen = (
        select(_s.operation_id, func.sum(_s.shown), func.count(), unused)
        .where(_within(insight_shown, org_id, since, until or now(), source_ids))
        .group_by(_s.operation_id)
        .having(unused > 0)
        .order_by(unused.desc(), _s.operation_id)
        .limit(limit)
    )
    return [
        UnusedResult(operation_id=one, shown=int(shown), sessions=sessions, unused_sessions=int(without))
        for one, shown, sessions, without in tx.execute(chosen)
    ]


def _within(
    table: Table, org_id: str, since: datetime, until: datetime, source_ids: Sequence[str] | None
) -> ColumnElement[bool]:
    limits = [table.c.org_id == org_id, table.c.at >= since, table.c.at <= until]
    if source_ids is not None:
        limits.append(table.c.source_id.in_(source_ids))
    return and_(*limits)


def _rows(tx: Tx, org_id: str, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
    columns = [column for column in _c if column.name != "centre"]
    chosen = select(*columns).where(_c.org_id == org_id, _c.id.in_(ids))
    return {row["id"]: dict(row) for row in tx.execute(chosen).mappings()}


def _cluster(
    tx: Tx, row: Mapping[str, Any], searches: int, sessions: int, within: ColumnElement[bool]
) -> Cluster:
    of_it = _m.cluster_id == row["id"]
    first, last = tx.execute(select(func.min(_m.at), func.max(_m.at)).where(of_it)).one()
    latest = select(_m.query).where(within, of_it).order_by(_m.at.desc()).limit(_LOOKED_AT)
    return Cluster(
        id=row["id"],
        source_id=row["source_id"],
        environment=row["environment"],
        label=row["label"],
        searches=searches,
        sessions=sessions,
        example_queries=tuple(dict.fromkeys(tx.scalars(latest)))[:_EXAMPLES],
        gap_kind=row["gap_kind"],
        suggestion=read_suggestion(row["suggestion"]),
        first_seen=first or row["created_at"],
        last_seen=last or row["last_seen"],
    )


def read_suggestion(stored: Mapping[str, Any]) -> Suggestion:
    """As `gaps.written` stores it; an unjudged cluster has none of its parts."""
    replay = stored.get("replay")
    return Suggestion(
        text=stored.get("text", ""),
        nearest_operations=tuple(NearOperation(**one) for one in stored.get("nearest_operations", ())),
        overlay=stored.get("overlay"),
        replay=Replay(**replay) if replay else None,
    )
