"""SQL for reading clusters of failed searches, invented names and results that nobody used.

`source_ids` limits everything to sources that the caller may see; None is all of the organization.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Table, and_, case, func, select

from ammeter.base.clock import now
from ammeter.base.errors import NotFound
from ammeter.engines.db.database import Tx
from ammeter.engines.db.tables import (
    insight_clusters,
    insight_misses,
    insight_names,
    insight_shown,
)
from ammeter.features.insights.day_store import (
    CLUSTERS,
    Span,
    clusters_beside,
    first_of,
    last_of,
    latest_rows,
    latest_sessions,
    read_figures,
)
from ammeter.features.insights.topic_model import (
    Cluster,
    InventedName,
    NearOperation,
    Replay,
    Suggestion,
    UnusedResult,
)
from ammeter.features.insights.topic_store import with_merged

_c, _m, _n, _s = insight_clusters.c, insight_misses.c, insight_names.c, insight_shown.c
_EXAMPLES = 8
_LOOKED_AT = 60
_NEWEST = 50_000


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
    span = Span(org_id=org_id, since=since, until=until or now(), source_ids=source_ids)
    figures = read_figures(tx, CLUSTERS, span, cluster_ids)
    ordered = sorted(figures, key=lambda one: (-figures[one]["searches"], -figures[one]["sessions"], one))
    return _clusters(tx, ordered[:limit], figures, span)


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
    span = Span(org_id=org_id, since=since, until=until or now(), source_ids=source_ids)
    found = _clusters(tx, [cluster_id], read_figures(tx, CLUSTERS, span, [cluster_id]), span)
    if not found or (source_ids is not None and found[0].source_id not in source_ids):
        raise NotFound("failed-search cluster")
    return found[0]


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
    span = Span(org_id=org_id, since=since, until=until or now(), source_ids=source_ids)
    return latest_sessions(tx, CLUSTERS, [cluster_id], span, limit=limit)


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
    span = Span(org_id=org_id, since=since, until=until or now(), source_ids=source_ids)
    found = clusters_beside(tx, with_merged(tx, org_id, topic_id), span, limit=limit)
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
    newest: int = _NEWEST,
) -> list[UnusedResult]:
    """Operations that searches showed, by the sessions that saw them and did not call them; as told by the
    `newest` of the range."""
    latest = (
        select(_s.operation_id, _s.shown, _s.used)
        .where(_within(insight_shown, org_id, since, until or now(), source_ids))
        .order_by(_s.at.desc())
        .limit(newest)
        .subquery()
    ).c
    unused = func.sum(case((latest.used, 0), else_=1))
    chosen = (
        select(latest.operation_id, func.sum(latest.shown), func.count(), unused)
        .group_by(latest.operation_id)
        .having(unused > 0)
        .order_by(unused.desc(), latest.operation_id)
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


def _clusters(tx: Tx, ids: Sequence[str], figures: Mapping[str, Counter[str]], span: Span) -> list[Cluster]:
    """Those of the organization that are there, in this order."""
    columns = [column for column in _c if column.name != "centre"]
    seen = (
        first_of(_c.id, _m.cluster_id, _m.at, span).label("first"),
        last_of(_c.id, _m.cluster_id, _m.at, span).label("last"),
    )
    chosen = select(*columns, *seen).where(_c.org_id == span.org_id, _c.id.in_(ids))
    rows = {row["id"]: dict(row) for row in tx.execute(chosen).mappings()}
    latest = latest_rows(tx, CLUSTERS, {one: [one] for one in rows}, span, [_m.query], limit=_LOOKED_AT)
    return [_cluster(rows[one], figures.get(one, Counter()), latest[one]) for one in ids if one in rows]


def _cluster(row: Mapping[str, Any], counts: Counter[str], latest: Sequence[tuple[str]]) -> Cluster:
    return Cluster(
        id=row["id"],
        source_id=row["source_id"],
        environment=row["environment"],
        label=row["label"],
        searches=counts["searches"],
        sessions=counts["sessions"],
        example_queries=tuple(dict.fromkeys(query for (query,) in latest))[:_EXAMPLES],
        gap_kind=row["gap_kind"],
        suggestion=read_suggestion(row["suggestion"]),
        first_seen=row["first"] or row["created_at"],
        last_seen=row["last"] or row["last_seen"],
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
