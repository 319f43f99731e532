"""SQL for figures of groups in a range: topics by their intents, clusters by their failed searches.

Whole days come from the sums by day; the parts of days at both ends, and sessions that are spread over
several days, from the rows. What is told is exactly what the rows alone would tell. The refresh keeps the
sums, in the transactions that change the rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Column,
    ColumnElement,
    Select,
    Table,
    UnaryExpression,
    and_,
    bindparam,
    delete,
    distinct,
    func,
    literal,
    select,
    true,
    type_coerce,
    union_all,
)

from ammeter.engines.db.database import Tx
from ammeter.engines.db.dialects import merging_insert, unindexed
from ammeter.engines.db.tables import (
    insight_cluster_days,
    insight_intents,
    insight_misses,
    insight_topic_clusters,
    insight_topic_days,
)
from ammeter.features.insights.day_sums import (
    CLUSTER_KEY,
    NO_TOPIC,
    PAIR_KEY,
    TOPIC_KEY,
    TOPIC_SUMS,
    DaySums,
    Row,
    Sums,
    difference,
)
from ammeter.features.telemetry.tally import bucket_start

_i, _m, _p = insight_intents.c, insight_misses.c, insight_topic_clusters.c
_DAY = timedelta(days=1)
_MANY = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouped:
    """Rows that belong to groups, and the table of their sums by day."""

    rows: Table
    at: str
    group: str
    days: Table
    what: str
    """What one row is, in the sums."""
    sums: tuple[str, ...] = ()

    @property
    def time(self) -> Column[datetime]:
        return self.rows.c[self.at]

    @property
    def of_group(self) -> Column[str]:
        return self.rows.c[self.group]


TOPICS = Grouped(
    rows=insight_intents,
    at="last_at",
    group="topic_id",
    days=insight_topic_days,
    what="intents",
    sums=TOPIC_SUMS,
)
CLUSTERS = Grouped(
    rows=insight_misses, at="at", group="cluster_id", days=insight_cluster_days, what="searches"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """From `since` to `until`, both included, of one organization, and of these sources where they are
    told."""

    org_id: str
    since: datetime
    until: datetime
    source_ids: Sequence[str] | None = None

    def whole_days(self) -> tuple[datetime, datetime] | None:
        """The first day that lies in it with all its hours, and the first that does not any more."""
        first = bucket_start(self.since, "day")
        first = first if first == self.since else first + _DAY
        end = bucket_start(self.until, "day")
        return (first, end) if first < end else None

    def of_sources(self, column: Column[str]) -> ColumnElement[bool]:
        return true() if self.source_ids is None else column.in_(self.source_ids)


def read_figures(
    tx: Tx, kind: Grouped, span: Span, groups: Sequence[str] | None = None
) -> dict[str, Counter[str]]:
    """By group: rows, distinct sessions and sums. What is in no group is told under the empty id."""
    names = (kind.what, "sessions", *kind.sums)
    told: dict[str, Counter[str]] = {}
    chosen = [_from_rows(kind, span, groups)]
    if whole := span.whole_days():
        d = kind.days.c
        added: list[ColumnElement[Any]] = [func.sum(d[name]).label(name) for name in names]
        days = select(d[kind.group], *added).where(
            d.org_id == span.org_id, d.at >= whole[0], d.at < whole[1], span.of_sources(d.source_id)
        )
        days = days if groups is None else days.where(d[kind.group].in_(groups))
        chosen.append(days.group_by(d[kind.group]))
    for each in chosen:
        for row in tx.execute(each):
            counts = told.setdefault(row[0] or NO_TOPIC, Counter())
            counts.update(dict(zip(names, (int(number) for number in row[1:]), strict=True)))
    return {group: counts for group, counts in told.items() if counts[kind.what]}


def _from_rows(kind: Grouped, span: Span, groups: Sequence[str] | None) -> Select[*tuple[Any, ...]]:
    """What the sums by day do not tell: the ends of the range, and which spread sessions are in it."""
    r = kind.rows.c
    mine: list[ColumnElement[bool]] = [r.org_id == span.org_id, span.of_sources(r.source_id)]
    if groups is not None:
        mine.append(kind.of_group.in_(groups))
    counted = [literal(1).label(kind.what), *(r[name].label(name) for name in kind.sums)]
    nothing = [literal(0).label(name) for name in (kind.what, *kind.sums)]
    whole = span.whole_days()
    parts = [
        select(kind.of_group.label("one"), r.session_id.label("session"), *counted).where(*mine, end)
        for end in _ends(kind.time, span, whole)
    ]
    if whole:
        spread = and_(r.spread_at >= whole[0], r.spread_at < whole[1])
        parts.append(
            select(kind.of_group.label("one"), r.session_id.label("session"), *nothing).where(*mine, spread)
        )
    every = union_all(*parts).subquery()
    e = every.c
    added = [func.sum(e[name]) for name in kind.sums]
    return select(e.one, func.sum(e[kind.what]), func.count(distinct(e.session)), *added).group_by(e.one)


def _ends(
    time: Column[datetime], span: Span, whole: tuple[datetime, datetime] | None
) -> Iterable[ColumnElement[bool]]:
    if whole is None:
        return [and_(time >= span.since, time <= span.until)]
    return [and_(time >= span.since, time < whole[0]), and_(time >= whole[1], time <= span.until)]


def clusters_beside(tx: Tx, topic_ids: Sequence[str], span: Span, *, limit: int) -> list[str]:
    """Clusters by the failed searches of sessions that had an intent of one of the topics, most first."""
    found: Counter[str] = Counter()
    whole = span.whole_days()
    # By session: the rows of a topic are many, those of a session few.
    topic_id, last_at = unindexed(tx, _i.topic_id), unindexed(tx, _i.last_at)
    had = select(_i.session_id).where(
        _i.session_id == _m.session_id, topic_id.in_(topic_ids), last_at >= span.since
    )
    mine = (_m.org_id == span.org_id, span.of_sources(_m.source_id), had.exists())
    parts = list(_ends(_m.at, span, whole))
    if whole:
        parts.append(and_(_m.spread_at >= whole[0], _m.spread_at < whole[1]))
        days = select(_p.cluster_id, func.sum(_p.searches)).where(
            _p.org_id == span.org_id,
            _p.topic_id.in_(topic_ids),
            _p.at >= whole[0],
            _p.at < whole[1],
            span.of_sources(_p.source_id),
        )
        _add(found, tx, days.group_by(_p.cluster_id))
    for part in parts:
        _add(found, tx, select(_m.cluster_id, func.count()).where(part, *mine).group_by(_m.cluster_id))
    ordered = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    return [cluster_id for cluster_id, searches in ordered if searches][:limit]


def _add(found: Counter[str], tx: Tx, chosen: Select[*tuple[Any, ...]]) -> None:
    for one, count in tx.execute(chosen):
        found[one] += int(count)


def latest_rows(
    tx: Tx,
    kind: Grouped,
    members: Mapping[str, Sequence[str]],
    span: Span,
    columns: Sequence[ColumnElement[Any]],
    *,
    limit: int,
) -> dict[str, list[tuple[Any, ...]]]:
    """The latest rows by name, each name standing for some groups. Each group is asked by itself: its index
    has the order; and all with one statement: making it takes longer than a step of it."""
    time = type_coerce(kind.time, BigInteger)
    chosen = select(time, *columns).where(*_of(kind, bindparam("one"), span))
    chosen = chosen.order_by(kind.time.desc()).limit(limit)
    found = {}
    for name, groups in members.items():
        rows = [row for group in groups for row in tx.execute(chosen, {"one": group}).all()]
        if len(groups) > 1:
            rows.sort(key=lambda row: row[0], reverse=True)
        found[name] = [tuple(row[1:]) for row in rows[:limit]]
    return found


def latest_sessions(tx: Tx, kind: Grouped, groups: Sequence[str], span: Span, *, limit: int) -> list[str]:
    """Ids of sessions with a row of these groups in the range, the latest first."""
    latest: dict[str, datetime] = {}
    for group in groups:
        for session_id, at in _walk(tx, kind, group, span, limit).items():
            latest[session_id] = max(at, latest.get(session_id, at))
    return sorted(latest, key=lambda one: (latest[one], one), reverse=True)[:limit]


def _walk(tx: Tx, kind: Grouped, group: str, span: Span, limit: int) -> dict[str, datetime]:
    """The first rows of so many sessions, from the latest on: few rows have to be looked at."""
    found: dict[str, datetime] = {}
    seen, step = 0, 4 * limit
    session_id = kind.rows.c.session_id
    chosen = select(session_id, kind.time).where(*_of(kind, group, span))
    chosen = chosen.order_by(kind.time.desc(), session_id.desc())
    while True:
        rows = tx.execute(chosen.offset(seen).limit(step)).all()
        for one, at in rows:
            found.setdefault(one, at)
            if len(found) == limit:
                return found
        if len(rows) < step:
            return found
        seen, step = seen + step, 4 * step


def _of(kind: Grouped, group: str | BindParameter[str], span: Span) -> tuple[ColumnElement[bool], ...]:
    # Without the organization: a group is of one, and its index is the one to take.
    in_range = and_(kind.time >= span.since, kind.time <= span.until)
    return (kind.of_group == group, in_range, span.of_sources(kind.rows.c.source_id))


def first_of(
    group: Column[str], of_group: Column[str], time: Column[datetime], span: Span
) -> ColumnElement[datetime]:
    """The earliest time of a group in any range: one step in the index of group and time."""
    return _one_of(group, of_group, time, time.asc(), span)


def last_of(
    group: Column[str], of_group: Column[str], time: Column[datetime], span: Span
) -> ColumnElement[datetime]:
    return _one_of(group, of_group, time, time.desc(), span)


def _one_of(
    group: Column[str],
    of_group: Column[str],
    time: Column[datetime],
    order: UnaryExpression[datetime],
    span: Span,
) -> ColumnElement[datetime]:
    chosen = select(time).where(of_group == group, span.of_sources(of_group.table.c.source_id))
    return chosen.order_by(order).limit(1).correlate(group.table).scalar_subquery()


def rows_of_sessions(tx: Tx, session_ids: Sequence[str]) -> tuple[list[Row], list[Row]]:
    """The rows of sessions, intents and failed searches, as far as the sums are made of them."""
    intents = (_i.session_id, _i.form_id, _i.org_id, _i.topic_id, _i.source_id, _i.last_at, _i.spread_at)
    sums = tuple(_i[name] for name in TOPIC_SUMS)
    misses = (_m.session_id, _m.event_id, _m.org_id, _m.cluster_id, _m.source_id, _m.at, _m.spread_at)
    found: tuple[list[Row], list[Row]] = ([], [])
    for begin in range(0, len(session_ids), _MANY):
        part = session_ids[begin : begin + _MANY]
        for chosen, rows in zip(
            (
                select(*intents, *sums).where(_i.session_id.in_(part)),
                select(*misses).where(_m.session_id.in_(part)),
            ),
            found,
            strict=True,
        ):
            rows += [dict(row) for row in tx.execute(chosen).mappings()]
    return found


def keep_sums(tx: Tx, before: DaySums, after: DaySums) -> None:
    """Sessions that added `before` to the sums now add `after`."""
    _add_up(
        tx, insight_topic_days, TOPIC_KEY, after.topics, before.topics, ("intents", "sessions", *TOPIC_SUMS)
    )
    _add_up(tx, insight_cluster_days, CLUSTER_KEY, after.clusters, before.clusters, ("searches", "sessions"))
    _add_up(tx, insight_topic_clusters, PAIR_KEY, after.pairs, before.pairs, ("searches",))


def _add_up(
    tx: Tx, table: Table, names: Sequence[str], after: Sums, before: Sums, counts: Sequence[str]
) -> None:
    rows = [
        dict(zip(names, key, strict=True)) | {name: change[name] for name in counts}
        for key, change in difference(after, before)
    ]
    if rows:
        making = merging_insert(tx, table)
        sums = {name: table.c[name] + making.excluded[name] for name in counts}
        tx.execute(making.on_conflict_do_update(index_elements=list(table.primary_key), set_=sums), rows)


def prune_empty_days(tx: Tx, org_id: str, before: datetime) -> None:
    """Sums of days whose rows have all gone."""
    for table, what in (
        (insight_topic_days, "intents"),
        (insight_cluster_days, "searches"),
        (insight_topic_clusters, "searches"),
    ):
        tx.execute(delete(table).where(table.c.org_id == org_id, table.c.at < before, table.c[what] == 0))
