"""SQL for reading topics and for what people say of them.

A topic that was merged into another is counted there; its id still finds it. `source_ids` limits everything
to sources that the caller may see; None is all of the organization.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Text, cast, or_, select, update

from ammeter.base.clock import now
from ammeter.base.errors import NotFound
from ammeter.engines.db.database import Tx
from ammeter.engines.db.tables import insight_intents, insight_lineage, insight_states, insight_topics
from ammeter.features.insights.day_store import (
    TOPICS,
    Span,
    first_of,
    last_of,
    latest_rows,
    latest_sessions,
    read_figures,
)
from ammeter.features.insights.day_sums import NO_TOPIC
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
_NEWEST = 25_000


Figures = Mapping[str, Counter[str]]
"""Of a range, by topic; what is in none stands under the empty id."""


def read_topic_figures(
    tx: Tx,
    org_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    source_ids: Sequence[str] | None = None,
) -> Figures:
    """For whoever lists topics and tells their coverage: both go by the same figures."""
    span = Span(org_id=org_id, since=since, until=until or now(), source_ids=source_ids)
    return read_figures(tx, TOPICS, span)


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
    told: Figures | None = None,
) -> list[Topic]:
    """With a session in the range. `sort`: most sessions, highest frustration or greatest change first.
    Archived ones only where asked for, beside the others. `told`: the figures, where they were read."""
    span = Span(org_id=org_id, since=since, until=until or now(), source_ids=source_ids)
    topics = {row["id"]: row for row in _rows(tx, org_id)}
    merged = _merged(topics.values())
    figures = _by_topic(merged, read_figures(tx, TOPICS, span) if told is None else told)
    before = _before(tx, merged, span)
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
    return _topics(tx, page, figures, before, merged, span)


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
    span = Span(org_id=org_id, since=since, until=until or now(), source_ids=source_ids)
    topics = {row["id"]: row for row in _rows(tx, org_id)}
    row = topics.get(topic_id)
    if row is None or (source_ids is not None and not _is_seen(tx, topic_id, topics, source_ids)):
        raise NotFound("topic")
    # One that was merged is told for itself: what it was before.
    merged = {old: new for old, new in _merged(topics.values()).items() if new == topic_id}
    ids = (topic_id, *merged)
    figures = _by_topic(merged, read_figures(tx, TOPICS, span, ids))
    before = _before(tx, merged, span, ids)
    return _topics(tx, [row], figures, before, merged, span)[0]


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
    span = Span(org_id=org_id, since=since, until=until or now(), source_ids=source_ids)
    return latest_sessions(tx, TOPICS, with_merged(tx, org_id, topic_id), span, limit=limit)


def topics_of_session(tx: Tx, org_id: str, session_id: str) -> list[tuple[str, str]]:
    """Id and label of each topic that the session's intents belong to."""
    topics = {row["id"]: row for row in _rows(tx, org_id)}
    chosen = select(_i.topic_id).where(_i.session_id == session_id).distinct()
    found = {topics[one]["merged_into"] or one for one in tx.scalars(chosen) if one in topics}
    return [(one, _label(topics[one])) for one in sorted(found)]


def topic_coverage(
    tx: Tx,
    org_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    source_ids: Sequence[str] | None = None,
    told: Figures | None = None,
) -> TopicCoverage:
    """`told`: the figures, where they are read already."""
    figures = told or read_topic_figures(tx, org_id, since=since, until=until, source_ids=source_ids)
    intents = sum(counts["intents"] for counts in figures.values())
    long_tail = figures.get(NO_TOPIC, Counter())["intents"]
    state = select(insight_states.c.refreshed_at).where(insight_states.c.org_id == org_id)
    return TopicCoverage(
        intents=intents,
        in_topics=intents - long_tail,
        long_tail=long_tail,
        topics=len(figures.keys() - {NO_TOPIC}),
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
    newest: int = _NEWEST,
) -> list[OperationDemand]:
    """Operations by the sessions that called them, each with the topics it was called for; as told by the
    `newest` intents of the range."""
    sessions: dict[str, set[str]] = {}
    topics: dict[str, Counter[str]] = {}
    known: dict[str, list[str]] = {}
    merged = _merged(_rows(tx, org_id))
    limits = [_i.org_id == org_id, _i.last_at >= since, _i.last_at <= (until or now())]
    if source_ids is not None:
        limits.append(_i.source_id.in_(source_ids))
    called = cast(_i.operations, Text)
    chosen = select(_i.session_id, _i.topic_id, called).where(*limits).order_by(_i.last_at.desc())
    for session_id, topic_id, told in tx.execute(chosen.limit(newest)):
        # Sessions call much the same: most texts were read before.
        operations = known.get(told)
        if operations is None:
            operations = known[told] = json.loads(told)
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


def _merged(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Topics that were merged, and into which."""
    return {row["id"]: row["merged_into"] for row in rows if row["merged_into"]}


def _before(
    tx: Tx, merged: Mapping[str, str], span: Span, topic_ids: Sequence[str] | None = None
) -> dict[str, Counter[str]]:
    """By topic, of the range of the same length before this one."""
    earlier = replace(span, since=span.since - (span.until - span.since), until=span.since)
    return _by_topic(merged, read_figures(tx, TOPICS, earlier, topic_ids))


def _by_topic(merged: Mapping[str, str], figures: Figures) -> dict[str, Counter[str]]:
    """Sessions of a merged topic are added to those of the one it went into: few have both."""
    found: dict[str, Counter[str]] = {}
    for topic_id, counts in figures.items():
        if topic_id != NO_TOPIC:
            found.setdefault(merged.get(topic_id, topic_id), Counter()).update(counts)
    return found


def _topics(
    tx: Tx,
    rows: Sequence[Mapping[str, Any]],
    figures: Mapping[str, Counter[str]],
    before: Mapping[str, Counter[str]],
    merged: Mapping[str, str],
    span: Span,
) -> list[Topic]:
    """With what is told of each: first and last seen, examples, operations, lineage."""
    members = {row["id"]: [row["id"]] for row in rows}
    for old, new in merged.items():
        if new in members:
            members[new].append(old)
    seen = _seen(tx, members, span)
    lineage = _lineage(tx, list(members))
    # Intents as they were stated, and what their scripts called; few differ in that.
    columns = (_i.example, cast(_i.operations, Text))
    latest = latest_rows(tx, TOPICS, members, span, columns, limit=_LOOKED_AT)
    made = []
    for row in rows:
        one = row["id"]
        first, last = seen.get(one, (row["created_at"], row["last_seen"]))
        counts = figures.get(one, Counter())
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
                example_intents=_examples(example for example, _ in latest[one]),
                top_operations=_operations(operations for _, operations in latest[one]),
                lineage=lineage.get(one, ()),
            )
        )
    return made


def _seen(tx: Tx, members: Mapping[str, Sequence[str]], span: Span) -> dict[str, tuple[datetime, datetime]]:
    """When each topic was first and last heard of, in any range."""
    whose = {member: one for one, of_it in members.items() for member in of_it}
    chosen = select(
        _t.id, first_of(_t.id, _i.topic_id, _i.first_at, span), last_of(_t.id, _i.topic_id, _i.last_at, span)
    )
    found: dict[str, tuple[datetime, datetime]] = {}
    for topic_id, first, last in tx.execute(chosen.where(_t.id.in_(whose))):
        if first is not None:
            known = found.get(whose[topic_id], (first, last))
            found[whose[topic_id]] = (min(first, known[0]), max(last, known[1]))
    return found


def _label(row: Mapping[str, Any]) -> str:
    return str(row["label"] if row["person_label"] is None else row["person_label"])


def _unmet(row: Mapping[str, Any]) -> bool:
    return bool(row["unmet_proposed"] if row["unmet_by_person"] is None else row["unmet_by_person"])


def _frustration(figures: Mapping[str, Any]) -> float | None:
    return figures["frustration_sum"] / stated if (stated := figures["frustration_count"]) else None


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


def _operations(called: Iterable[str]) -> tuple[OperationCount, ...]:
    """The most used; each of `called` is a JSON object of operations and how many scripts called them."""
    used: Counter[str] = Counter()
    for operations, often in Counter(called).items():
        for name in json.loads(operations):
            used[name] += often
    ranked = sorted(used.items(), key=lambda item: (-item[1], item[0]))
    return tuple(OperationCount(operation_id=name, scripts=count) for name, count in ranked[:_OPERATIONS])


def _lineage(tx: Tx, topic_ids: Sequence[str]) -> dict[str, tuple[Lineage, ...]]:
    chosen = select(insight_lineage).where(or_(_l.topic_id.in_(topic_ids), _l.other_id.in_(topic_ids)))
    found: dict[str, tuple[Lineage, ...]] = {}
    for row in tx.execute(chosen.order_by(_l.at, _l.topic_id, _l.other_id)).mappings():
        one = Lineage(kind=row["kind"], topic_id=row["topic_id"], other_id=row["other_id"], at=row["at"])
        for topic_id in (one.topic_id, one.other_id):
            found[topic_id] = (*found.get(topic_id, ()), one)
    return found


def with_merged(tx: Tx, org_id: str, topic_id: str) -> tuple[str, ...]:
    """The topic and those that were merged into it."""
    chosen = select(_t.id).where(_t.org_id == org_id, _t.merged_into == topic_id)
    return (topic_id, *tx.scalars(chosen))


def _is_seen(
    tx: Tx, topic_id: str, topics: Mapping[str, Mapping[str, Any]], source_ids: Sequence[str]
) -> bool:
    ids = (topic_id, *(one for one, row in topics.items() if row["merged_into"] == topic_id))
    chosen = select(_i.session_id).where(_i.topic_id.in_(ids), _i.source_id.in_(source_ids)).limit(1)
    return tx.scalar(chosen) is not None
