"""SQL for the refresh: which sessions changed and what their events say; rows in and out, group by group.

Every writing function is called in a transaction that `must_hold` has begun: of two refreshes of one
organization the one that began last writes, the other stops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Table,
    and_,
    case,
    delete,
    distinct,
    func,
    insert,
    or_,
    select,
    update,
)

from ammeter.engines.db.database import Tx
from ammeter.engines.db.dialects import merging_insert
from ammeter.engines.db.tables import (
    insight_clusters,
    insight_forms,
    insight_intents,
    insight_lineage,
    insight_misses,
    insight_names,
    insight_sessions,
    insight_shown,
    insight_states,
    insight_topics,
    telemetry_events,
    telemetry_sessions,
)
from ammeter.features.insights.day_store import keep_sums, rows_of_sessions
from ammeter.features.insights.day_sums import day_sums
from ammeter.features.insights.misses import SeenEvent
from ammeter.features.insights.topic_model import LineageKind

Row = dict[str, Any]
_s, _k, _e = telemetry_sessions.c, insight_sessions.c, telemetry_events.c
_f, _i, _t, _c, _m = (
    insight_forms.c,
    insight_intents.c,
    insight_topics.c,
    insight_clusters.c,
    insight_misses.c,
)
_OF_A_SESSION: tuple[Table, ...] = (insight_intents, insight_misses, insight_shown, insight_names)
_MANY = 400
_SEEN = tuple(each.name for each in fields(SeenEvent))


class Superseded(Exception):
    """Another refresh of this organization began; what this one knows may be out of date."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedSession:
    id: str
    source_id: str
    environment: str
    key_id: str
    events: int
    last_event_at: datetime


def take_over(tx: Tx, org_id: str, writer: str) -> None:
    making = merging_insert(tx, insight_states)
    row = {"org_id": org_id, "writer": writer, "figures": {}}
    tx.execute(making.on_conflict_do_update(index_elements=["org_id"], set_={"writer": writer}), [row])


def must_hold(tx: Tx, org_id: str, writer: str) -> None:
    """Locks out other refreshes of the organization until the transaction ends."""
    holds = update(insight_states).where(insight_states.c.org_id == org_id, insight_states.c.writer == writer)
    if tx.execute(holds.values(writer=writer)).rowcount != 1:
        raise Superseded


def finish(tx: Tx, org_id: str, at: datetime, figures: Mapping[str, int]) -> None:
    chosen = update(insight_states).where(insight_states.c.org_id == org_id)
    tx.execute(chosen.values(refreshed_at=at, figures=dict(figures)))


def changed_sessions(
    tx: Tx,
    org_id: str,
    *,
    since: datetime,
    settled_before: datetime,
    after: tuple[datetime, str] | None = None,
    limit: int = 200,
) -> list[ChangedSession]:
    """With events that were not read, or ended since they were; in the order of their last events."""
    chosen = (
        select(_s.id, _s.source_id, _s.environment, _s.key_id, _s.events, _s.last_event_at)
        .select_from(telemetry_sessions.outerjoin(insight_sessions, _k.session_id == _s.id))
        .where(_changed(org_id, since, settled_before))
    )
    if after is not None:
        same = and_(_s.last_event_at == after[0], _s.id > after[1])
        chosen = chosen.where(or_(_s.last_event_at > after[0], same))
    rows = tx.execute(chosen.order_by(_s.last_event_at, _s.id).limit(limit)).mappings()
    return [ChangedSession(**row) for row in rows]


def count_changed(tx: Tx, org_id: str, *, since: datetime, settled_before: datetime) -> int:
    joined = telemetry_sessions.outerjoin(insight_sessions, _k.session_id == _s.id)
    chosen = select(func.count()).select_from(joined).where(_changed(org_id, since, settled_before))
    return int(tx.scalar(chosen) or 0)


def _changed(org_id: str, since: datetime, settled_before: datetime) -> ColumnElement[bool]:
    return and_(
        _s.org_id == org_id,
        _s.last_event_at >= since,
        or_(
            _k.session_id.is_(None),
            _k.events != _s.events,
            and_(_k.settled.is_(False), _s.last_event_at < settled_before),
        ),
    )


def seen_events(tx: Tx, session_ids: Sequence[str], *, limit: int) -> dict[str, list[SeenEvent]]:
    """By session, without the long texts; `limit` of each at most."""
    found: dict[str, list[SeenEvent]] = {one: [] for one in session_ids}
    columns = [_e[name] for name in _SEEN]
    for one in session_ids:
        chosen = select(*columns).where(_e.session_id == one, _e.kind != "initialize")
        for row in tx.execute(chosen.order_by(_e.id).limit(limit)).mappings():
            found[one].append(SeenEvent(**row))
    return found


def replace_sessions(
    tx: Tx,
    sessions: Sequence[Row],
    *,
    intents: Sequence[Row],
    misses: Sequence[Row],
    shown: Sequence[Row],
    names: Sequence[Row],
) -> None:
    """All that was known of these sessions goes, this comes."""
    ids = [session["session_id"] for session in sessions]
    before = day_sums(*rows_of_sessions(tx, ids))
    for part in parts_of(ids):
        for table in (*_OF_A_SESSION, insight_sessions):
            tx.execute(delete(table).where(table.c.session_id.in_(part)))
    made = (intents, misses, shown, names)
    for table, rows in zip((insight_sessions, *_OF_A_SESSION), (sessions, *made), strict=True):
        if rows:
            tx.execute(insert(table), list(rows))
    keep_sums(tx, before, day_sums(intents, misses))


def find_forms(tx: Tx, org_id: str, kind: str, keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Row]:
    """Known forms by scope and hash."""
    wanted: dict[str, list[str]] = {}
    for scope, hashed in keys:
        wanted.setdefault(scope, []).append(hashed)
    found: dict[tuple[str, str], Row] = {}
    for scope, hashes in wanted.items():
        for part in parts_of(sorted(set(hashes))):
            chosen = select(insight_forms).where(
                _f.org_id == org_id, _f.kind == kind, _f.scope == scope, _f.hash.in_(part)
            )
            for row in tx.execute(chosen).mappings():
                found[scope, row["hash"]] = dict(row)
    return found


def pending_forms(tx: Tx, org_id: str, *, limit: int) -> list[tuple[str, str]]:
    """Ids and texts of the latest intents that have no topic."""
    chosen = select(_f.id, _f.text).where(_f.org_id == org_id, _f.kind == "intent", _f.group_id.is_(None))
    rows = tx.execute(chosen.order_by(_f.last_seen.desc(), _f.id.desc()).limit(limit))
    return [(form_id, text) for form_id, text in rows]


def put_forms(tx: Tx, new: Sequence[Row], seen: Mapping[str, datetime]) -> None:
    if new:
        tx.execute(insert(insight_forms), list(new))
    for form_id, at in sorted(seen.items()):
        tx.execute(update(insight_forms).where(_f.id == form_id, _f.last_seen < at).values(last_seen=at))


def sessions_by_form(tx: Tx, form_ids: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in parts_of(form_ids):
        chosen = select(_i.form_id, func.count()).where(_i.form_id.in_(part)).group_by(_i.form_id)
        found.update((form_id, count) for form_id, count in tx.execute(chosen))
    return found


def stated_before(tx: Tx, form_ids: Sequence[str], before: datetime) -> set[str]:
    """Those of the forms that were stated before then."""
    found: set[str] = set()
    for part in parts_of(form_ids):
        found.update(tx.scalars(select(_i.form_id).where(_i.form_id.in_(part), _i.first_at < before)))
    return found


def latest_members(tx: Tx, org_id: str, *, limit: int) -> list[tuple[str, str]]:
    """Text and open topic of the intents with one that were stated last; those of programs left out."""
    chosen = (
        select(_f.text, func.coalesce(_t.merged_into, _t.id))
        .join(insight_topics, _t.id == _f.group_id)
        .where(_f.org_id == org_id, _f.kind == "intent", _t.kind == "demand")
    )
    rows = tx.execute(chosen.order_by(_f.last_seen.desc(), _f.id.desc()).limit(limit))
    return [(text, topic_id) for text, topic_id in rows]


def count_sessions(tx: Tx, form_ids: Sequence[str]) -> int:
    """Distinct sessions that stated one of these forms; of a great many forms the first are enough."""
    chosen = select(func.count(distinct(_i.session_id))).where(_i.form_id.in_(form_ids[:_MANY]))
    return int(tx.scalar(chosen) or 0)


def form_times(tx: Tx, form_id: str, *, limit: int = 40) -> list[tuple[str, datetime]]:
    """By whom and when a form was stated, the latest first."""
    chosen = select(_i.key_id, _i.first_at).where(_i.form_id == form_id)
    return [(key, at) for key, at in tx.execute(chosen.order_by(_i.last_at.desc()).limit(limit))]


def topics_of_forms(tx: Tx, form_ids: Sequence[str]) -> dict[str, tuple[str, str]]:
    """Text and topic of each form that has one."""
    found: dict[str, tuple[str, str]] = {}
    for part in parts_of(form_ids):
        chosen = select(_f.id, _f.text, _f.group_id).where(_f.id.in_(part), _f.group_id.is_not(None))
        found.update((form_id, (text, group)) for form_id, text, group in tx.execute(chosen))
    return found


def count_forms(tx: Tx, topic_id: str) -> int:
    return int(tx.scalar(select(func.count()).where(_f.group_id == topic_id)) or 0)


def set_recurring(tx: Tx, topic_id: str) -> None:
    tx.execute(update(insight_topics).where(_t.id == topic_id).values(kind="recurring"))


def open_topics(tx: Tx, org_id: str) -> list[Row]:
    """Topics with their centres, those that were merged into others left out."""
    chosen = select(insight_topics).where(_t.org_id == org_id, _t.merged_into.is_(None)).order_by(_t.id)
    return [dict(row) for row in tx.execute(chosen).mappings()]


def insert_topic(tx: Tx, row: Row) -> None:
    """Without any form; `join_topics` gives it some."""
    tx.execute(insert(insight_topics), [row])


def join_topics(tx: Tx, topic_of: Mapping[str, str]) -> None:
    """Forms, by id, belong to these topics from now on, and so does every intent of such a form. All that
    change together are given at once: each session is read once for them, and its sums are kept."""
    forms = sorted(topic_of)
    ids: set[str] = set()
    for part in parts_of(forms):
        ids.update(tx.scalars(select(_i.session_id).where(_i.form_id.in_(part)).distinct()))
    for sessions in parts_of(sorted(ids)):
        intents, misses = rows_of_sessions(tx, sessions)
        moved = [{**row, "topic_id": topic_of.get(row["form_id"], row["topic_id"])} for row in intents]
        keep_sums(tx, day_sums(intents, misses), day_sums(moved, misses))
    joined: dict[str, list[str]] = {}
    for form_id in forms:
        joined.setdefault(topic_of[form_id], []).append(form_id)
    for topic_id, form_ids in joined.items():
        for part in parts_of(form_ids):
            tx.execute(update(insight_forms).where(_f.id.in_(part)).values(group_id=topic_id))
            tx.execute(update(insight_intents).where(_i.form_id.in_(part)).values(topic_id=topic_id))


def insert_lineage(
    tx: Tx, org_id: str, topic_id: str, kind: LineageKind, other_id: str, at: datetime
) -> None:
    row = {"topic_id": topic_id, "kind": kind, "other_id": other_id, "org_id": org_id, "at": at}
    tx.execute(merging_insert(tx, insight_lineage).on_conflict_do_nothing(), [row])


def merge_topics(tx: Tx, org_id: str, topic_id: str, into: str, at: datetime) -> None:
    gone = or_(_t.id == topic_id, _t.merged_into == topic_id)
    tx.execute(update(insight_topics).where(_t.org_id == org_id, gone).values(merged_into=into))
    insert_lineage(tx, org_id, topic_id, "merged_into", into, at)


def save_topic_centres(tx: Tx, rows: Sequence[Row]) -> None:
    """Where topics are now, and when something last joined them."""
    _save_centres(tx, insight_topics, rows)


def save_cluster_centres(tx: Tx, rows: Sequence[Row]) -> None:
    _save_centres(tx, insight_clusters, rows)


def _save_centres(tx: Tx, table: Table, rows: Sequence[Row]) -> None:
    for row in rows:
        values = {name: value for name, value in row.items() if name != "id"}
        tx.execute(update(table).where(table.c.id == row["id"]).values(**values))


def troubled_topics(tx: Tx, org_id: str, since: datetime) -> dict[str, tuple[int, int, int]]:
    """By topic: intents of sessions, how many were answered, how many met trouble."""
    trouble = or_(_i.misses > 0, and_(_i.scripts > 0, _i.errors >= _i.scripts), _i.frustration_max >= 7)
    chosen = (
        select(
            _i.topic_id,
            func.count(),
            func.sum(case((_i.answered, 1), else_=0)),
            func.sum(case((trouble, 1), else_=0)),
        )
        .where(_i.org_id == org_id, _i.last_at >= since, _i.topic_id.is_not(None))
        .group_by(_i.topic_id)
    )
    return {one: (count, int(well), int(badly)) for one, count, well, badly in tx.execute(chosen)}


def propose_unmet(tx: Tx, topic_id: str, unmet: bool) -> None:
    tx.execute(
        update(insight_topics)
        .where(_t.id == topic_id, _t.unmet_proposed != unmet)
        .values(unmet_proposed=unmet)
    )


def open_clusters(tx: Tx, source_id: str, *, limit: int) -> list[Row]:
    """With their centres, those that were heard of last."""
    chosen = select(insight_clusters).where(_c.source_id == source_id)
    rows = tx.execute(chosen.order_by(_c.last_seen.desc(), _c.id.desc()).limit(limit)).mappings()
    return [dict(row) for row in rows]


def insert_clusters(tx: Tx, rows: Sequence[Row]) -> None:
    if rows:
        tx.execute(insert(insight_clusters), list(rows))


def recent_clusters(tx: Tx, org_id: str, since: datetime, *, limit: int) -> list[tuple[str, int]]:
    """Ids and failed searches of clusters, most first."""
    count = func.count()
    chosen = select(_m.cluster_id, count).where(_m.org_id == org_id, _m.at >= since)
    rows = tx.execute(chosen.group_by(_m.cluster_id).order_by(count.desc(), _m.cluster_id).limit(limit))
    return [(one, searches) for one, searches in rows]


def find_clusters(tx: Tx, ids: Sequence[str]) -> list[Row]:
    columns = [column for column in _c if column.name != "centre"]
    found: list[Row] = []
    for part in parts_of(ids):
        found += [dict(row) for row in tx.execute(select(*columns).where(_c.id.in_(part))).mappings()]
    return found


def latest_misses(tx: Tx, cluster_id: str, *, limit: int) -> list[Row]:
    columns = (_m.session_id, _m.environment, _m.reason, _m.query, _m.shown, _m.later_used)
    chosen = select(*columns).where(_m.cluster_id == cluster_id).order_by(_m.at.desc()).limit(limit)
    return [dict(row) for row in tx.execute(chosen).mappings()]


def save_judgement(tx: Tx, cluster_id: str, values: Row) -> None:
    tx.execute(update(insight_clusters).where(_c.id == cluster_id).values(**values))


def parts_of(ids: Sequence[str]) -> Iterable[Sequence[str]]:
    return (ids[begin : begin + _MANY] for begin in range(0, len(ids), _MANY))
