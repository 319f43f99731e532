"""SQL for reading topics and for what people say of them.

A topic that was merged into another is counted there; its id still finds it. `source_ids` limits everything
to sources that the caller may see; None is all of the organization.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, distinct, func, or_, select, update

from ammeter.base.clock import now
from ammeter.base.errors import NotFound
from ammeter.engines.db.database import Tx
from ammeter.engines.db.tables import insight_intents, insight_lineage, insight_states, insight_topics
from ammeter.features.insights.topic_model import (
    Lineage,
    OperationCount,
    OperationDemand,
    Topic,
    TopicCoverage,
    TopicSort,
)

_t, _i, _l = insight_topics.c, insight_intents.c, insight_lineage.c
_EXAMPLES = 5
_OPERATIONS = 8
# Examples and operations are told from so many of the latest sessions of a topic.
_LOOKED_AT = 100


def list_topics(
    tx: Tx,
    org_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    sort: TopicSort = "volume",
    limit: int = 50,
    source_ids: Sequence[str] | None = None,
    archived: bool = False,
) -> list[Topic]:
    """With a session in the range. `sort`: most sessions, highest frustration or greatest change first.
    Archived ones only where asked for, beside the others."""
    until = until or now()
    topics = {row["id"]: row for row in _rows(tx, org_id)}
    merged = {row["id"]: row["merged_into"] for row in topics.values() if row["merged_into"]}
    figures = _figures(tx, org_id, merged, since, until, source_ids)
    before = _figures(tx, org_id, merged, since - (until - since), since, source_ids)
    shown = [one for one in figures if one in topics and (archived or not topics[one]["archived"])]
    shown.sort(
        key=lambda one: (
            -_order(sort, figures[one], before.get(one)),
            -figures[one]["sessions"],
            -figures[one]["scripts"],
            one,
        )
    )
    page = [topics[one] for one in shown[:limit]]
    return _topics(tx, page, figures, before, merged, since, until, source_ids)


def get_topic(
    tx: Tx,
    org_id: str,
    topic_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    source_ids: Sequence[str] | None = None,
) -> Topic:
    """Also an archived one, one without a session in the range, and one that was merged into another.
    NotFound where there is none, or where all of it lies in sources that are not among `source_ids`."""
    until = until or now()
    topics = {row["id"]: row for row in _rows(tx, org_id)}
    row = topics.get(topic_id)
    if row is None or (source_ids is not None and not _is_seen(tx, topic_id, topics, source_ids)):
        raise NotFound("topic")
    merged = {one["id"]: one["merged_into"] for one in topics.values() if one["merged_into"]}
    if topic_id in merged:
        # Told for itself: what it was before it was merged.
        merged = {}
    figures = _figures(tx, org_id, merged, since, until, source_ids)
    before = _figures(tx, org_id, merged, since - (until - since), since, source_ids)
    return _topics(tx, [row], figures, before, merged, since, until, source_ids)[0]


def patch_topic(
    tx: Tx,
    org_id: str,
    topic_id: str,
    *,
    label: str | None = None,
    is_unmet_demand: bool | None = None,
    archived: bool | None = None,
) -> bool:
    """A person's word, which no refresh changes; None leaves as it is. Whether there is such a topic."""
    said = {"person_label": label, "unmet_by_person": is_unmet_demand, "archived": archived}
    chosen = update(insight_topics).where(_t.org_id == org_id, _t.id == topic_id)
    # Without any word the statement still tells whether the topic is there.
    words = {name: value for name, value in said.items() if value is not None} or {"id": topic_id}
    return tx.execute(chosen.values(**words)).rowcount == 1


def list_topic_sessions(
    tx: Tx,
    org_id: str,
    topic_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    source_ids: Sequence[str] | None = None,
    limit: int = 20,
) -> list[str]:
    """Ids of sessions that stated an intent of the topic, the latest first."""
    merged = _merged_into(tx, org_id, topic_id)
    latest = func.max(_i.last_at)
    chosen = (
        _in_range(select(_i.session_id), org_id, since, until or now(), source_ids)
        .where(_i.topic_id.in_((topic_id, *merged)))
        .group_by(_i.session_id)
        .order_by(latest.desc(), _i.session_id.desc())
        .limit(limit)
    )
    return list(tx.scalars(chosen))


def topics_of_session(tx: Tx, org_id: str, session_id: str) -> list[tuple[str, str]]:
    """Id and label of each topic that the session's intents belong to."""
    topics = {row["id"]: row for row in _rows(tx, org_id)}
    chosen = select(_i.topic_id).where(_i.org_id == org_id, _i.session_id == session_id).distinct()
    found = {topics[one]["merged_into"] or one for one in tx.scalars(chosen) if one in topics}
    return [(one, _label(topics[one])) for one in sorted(found)]


def topic_coverage(
    tx: Tx,
    org_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    source_ids: Sequence[str] | None = None,
) -> TopicCoverage:
    chosen = select(func.count(), func.count(_i.topic_id), func.count(distinct(_i.topic_id)))
    row = tx.execute(_in_range(chosen, org_id, since, until or now(), source_ids)).one()
    state = select(insight_states.c.refreshed_at).where(insight_states.c.org_id == org_id)
    return TopicCoverage(
        intents=row[0],
        in_topics=row[1],
        long_tail=row[0] - row[1],
        topics=row[2],
        refreshed_at=tx.scalar(state),
    )


def operation_demand(
    tx: Tx,
    org_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    source_ids: Sequence[str] | None = None,
    limit: int = 50,
) -> list[OperationDemand]:
    """Operations by the sessions that called them, each with the topics it was called for."""
    sessions: dict[str, set[str]] = {}
    topics: dict[str, Counter[str]] = {}
    merged = {row["id"]: row["merged_into"] for row in _rows(tx, org_id) if row["merged_into"]}
    chosen = select(_i.session_id, _i.topic_id, _i.operations)
    for session_id, topic_id, operations in tx.execute(
        _in_range(chosen, org_id, since, until or now(), source_ids).execution_options(yield_per=1_000)
    ):
        for operation_id in operations:
            sessions.setdefault(operation_id, set()).add(session_id)
            if topic_id is not None:
                topics.setdefault(operation_id, Counter())[merged.get(topic_id, topic_id)] += 1
    order = sorted(sessions, key=lambda one: (-len(sessions[one]), one))
    return [
        OperationDemand(
            operation_id=one,
            sessions=len(sessions[one]),
            topics=tuple(topics.get(one, Counter()).most_common(5)),
        )
        for one in order[:limit]
    ]


def _rows(tx: Tx, org_id: str) -> list[Mapping[str, Any]]:
    columns = [column for column in _t if column.name != "centre"]
    return [dict(row) for row in tx.execute(select(*columns).where(_t.org_id == org_id)).mappings()]


_NOTHING: Mapping[str, Any] = {"sessions": 0, "scripts": 0, "felt": 0, "stated": 0}


def _figures(
    tx: Tx,
    org_id: str,
    merged: Mapping[str, str],
    since: datetime,
    until: datetime,
    source_ids: Sequence[str] | None,
) -> dict[str, Mapping[str, Any]]:
    """By topic. Sessions of a merged topic are added to those of the one it went into: few have both."""
    chosen = _in_range(
        select(
            _i.topic_id,
            func.count(distinct(_i.session_id)).label("sessions"),
            func.sum(_i.scripts).label("scripts"),
            func.sum(_i.frustration_sum).label("felt"),
            func.sum(_i.frustration_count).label("stated"),
        ),
        org_id,
        since,
        until,
        source_ids,
    )
    found: dict[str, Mapping[str, Any]] = {}
    for row in tx.execute(chosen.where(_i.topic_id.is_not(None)).group_by(_i.topic_id)).mappings():
        one = merged.get(row["topic_id"], row["topic_id"])
        old = found.get(one, _NOTHING)
        found[one] = {name: old[name] + int(row[name]) for name in _NOTHING}
    return found


def _in_range(
    chosen: Select[*tuple[Any, ...]],
    org_id: str,
    since: datetime,
    until: datetime,
    source_ids: Sequence[str] | None,
) -> Select[*tuple[Any, ...]]:
    limits: list[ColumnElement[bool]] = [_i.org_id == org_id, _i.last_at >= since, _i.last_at <= until]
    if source_ids is not None:
        limits.append(_i.source_id.in_(source_ids))
    return chosen.where(and_(*limits))


def _topics(
    tx: Tx,
    rows: Sequence[Mapping[str, Any]],
    figures: Mapping[str, Mapping[str, Any]],
    before: Mapping[str, Mapping[str, Any]],
    merged: Mapping[str, str],
    since: datetime,
    until: datetime,
    source_ids: Sequence[str] | None,
) -> list[Topic]:
    """With what is told of each: first and last seen, examples, operations, lineage."""
    members = {row["id"]: [row["id"]] for row in rows}
    for old, new in merged.items():
        if new in members:
            members[new].append(old)
    seen = _seen(tx, members, source_ids)
    lineage = _lineage(tx, list(members))
    made = []
    for row in rows:
        one, latest = row["id"], _latest(tx, row["org_id"], members[row["id"]], since, until, source_ids)
        first, last = seen.get(one, (row["created_at"], row["last_seen"]))
        used = Counter(operation for _, operations in latest for operation in operations)
        counts = figures.get(one, _NOTHING)
        made.append(
            Topic(
                id=one,
                kind=row["kind"],
                label=_label(row),
                is_unmet_demand=_unmet(row),
                archived=row["archived"],
                sessions=counts["sessions"],
                scripts=counts["scripts"],
                avg_frustration=_frustration(counts),
                trend=_trend(counts, before.get(one)),
                first_seen=first,
                last_seen=last,
                example_intents=_examples(example for example, _ in latest),
                top_operations=tuple(
                    OperationCount(operation_id=name, scripts=count)
                    for name, count in sorted(used.items(), key=lambda item: (-item[1], item[0]))[
                        :_OPERATIONS
                    ]
                ),
                lineage=lineage.get(one, ()),
            )
        )
    return made


def _latest(
    tx: Tx,
    org_id: str,
    topic_ids: Sequence[str],
    since: datetime,
    until: datetime,
    source_ids: Sequence[str] | None,
) -> list[tuple[str, Mapping[str, int]]]:
    """Intents as they were stated, and what their scripts called."""
    chosen = _in_range(select(_i.example, _i.operations), org_id, since, until, source_ids)
    chosen = chosen.where(_i.topic_id.in_(topic_ids)).order_by(_i.last_at.desc()).limit(_LOOKED_AT)
    return [(example, operations) for example, operations in tx.execute(chosen)]


def _seen(
    tx: Tx, members: Mapping[str, Sequence[str]], source_ids: Sequence[str] | None
) -> dict[str, tuple[datetime, datetime]]:
    """When each topic was first and last heard of, in any range."""
    whose = {member: one for one, of_it in members.items() for member in of_it}
    chosen = select(_i.topic_id, func.min(_i.first_at), func.max(_i.last_at))
    chosen = chosen.where(_i.topic_id.in_(whose)).group_by(_i.topic_id)
    if source_ids is not None:
        chosen = chosen.where(_i.source_id.in_(source_ids))
    found: dict[str, tuple[datetime, datetime]] = {}
    for topic_id, first, last in tx.execute(chosen):
        known = found.get(whose[topic_id], (first, last))
        found[whose[topic_id]] = (min(first, known[0]), max(last, known[1]))
    return found


def _label(row: Mapping[str, Any]) -> str:
    return str(row["label"] if row["person_label"] is None else row["person_label"])


def _unmet(row: Mapping[str, Any]) -> bool:
    return bool(row["unmet_proposed"] if row["unmet_by_person"] is None else row["unmet_by_person"])


def _frustration(figures: Mapping[str, Any]) -> float | None:
    return figures["felt"] / figures["stated"] if figures["stated"] else None


def _trend(figures: Mapping[str, Any], before: Mapping[str, Any] | None) -> float:
    was = before["sessions"] if before else 0
    return float((figures["sessions"] - was) / max(was, 1))


def _order(sort: TopicSort, figures: Mapping[str, Any], before: Mapping[str, Any] | None) -> float:
    match sort:
        case "volume":
            return float(figures["sessions"])
        case "frustration":
            felt = _frustration(figures)
            return -1.0 if felt is None else felt
        case "trend":
            return _trend(figures, before)


def _examples(texts: Iterable[str]) -> tuple[str, ...]:
    """The latest, each once, whatever its case and spacing."""
    found: dict[str, str] = {}
    for text in texts:
        found.setdefault(" ".join(text.lower().split()), text)
    return tuple(found.values())[:_EXAMPLES]


def _lineage(tx: Tx, topic_ids: Sequence[str]) -> dict[str, tuple[Lineage, ...]]:
    chosen = select(insight_lineage).where(or_(_l.topic_id.in_(topic_ids), _l.other_id.in_(topic_ids)))
    found: dict[str, tuple[Lineage, ...]] = {}
    for row in tx.execute(chosen.order_by(_l.at, _l.topic_id, _l.other_id)).mappings():
        one = Lineage(kind=row["kind"], topic_id=row["topic_id"], other_id=row["other_id"], at=row["at"])
        for topic_id in (one.topic_id, one.other_id):
            found[topic_id] = (*found.get(topic_id, ()), one)
    return found


def _merged_into(tx: Tx, org_id: str, topic_id: str) -> tuple[str, ...]:
    chosen = select(_t.id).where(_t.org_id == org_id, _t.merged_into == topic_id)
    return tuple(tx.scalars(chosen))


def _is_seen(
    tx: Tx, topic_id: str, topics: Mapping[str, Mapping[str, Any]], source_ids: Sequence[str]
) -> bool:
    ids = (topic_id, *(one for one, row in topics.items() if row["merged_into"] == topic_id))
    chosen = select(_i.session_id).where(_i.topic_id.in_(ids), _i.source_id.in_(source_ids)).limit(1)
    return tx.scalar(chosen) is not None
