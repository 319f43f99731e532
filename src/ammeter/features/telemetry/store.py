"""SQL for telemetry: a batch in one transaction with its sums, what is read of it, what goes in time."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import fields
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    Table,
    case,
    delete,
    func,
    or_,
    select,
    tuple_,
)
from sqlalchemy import Row as SqlRow

from ammeter.base.clock import now, to_millis
from ammeter.engines.db.bulk import insert_rows, json_text
from ammeter.engines.db.database import Tx
from ammeter.engines.db.dialects import merging_insert
from ammeter.engines.db.tables import (
    telemetry_days,
    telemetry_events,
    telemetry_hours,
    telemetry_operation_days,
    telemetry_session_intents,
    telemetry_session_operations,
    telemetry_session_searches,
    telemetry_sessions,
)
from ammeter.features.telemetry.model import (
    Event,
    StoredEvent,
    Use,
)
from ammeter.features.telemetry.tally import (
    ROLL_UP_COUNTS,
    SESSION_COUNTS,
    USE_COUNTS,
    Bucket,
    Row,
    bucket_start,
    placed,
    session_operations,
    tally_days,
    tally_hours,
    tally_sessions,
    tally_use,
)
from ammeter.features.telemetry.trail_store import NEEDED, add_trails, prune_askers, prune_trails

RECENT = timedelta(days=30)

_e, _s, _p, _o, _i, _q = (
    telemetry_events.c,
    telemetry_sessions.c,
    telemetry_session_operations.c,
    telemetry_operation_days.c,
    telemetry_session_intents.c,
    telemetry_session_searches.c,
)
_ROLL_UPS: dict[Bucket, Table] = {"hour": telemetry_hours, "day": telemetry_days}
_EVENT_FIELDS = tuple(field.name for field in fields(Event))
_SEQUENCES = ("result_operations", "logs", "calls", "invented", "flags")
_EVENT_COLUMNS = [column.name for column in telemetry_events.columns]
_AT = _EVENT_COLUMNS.index("at")
# What a column holds where its JSON is empty, as most are.
_EMPTY_JSON = [(_EVENT_COLUMNS.index(name), "[]") for name in _SEQUENCES] + [
    (_EVENT_COLUMNS.index("tags"), "{}")
]
_PLACED = [(_EVENT_COLUMNS.index(name), attrgetter(name)) for name in ("starts_session", "first_script")]
_read_event = attrgetter(*(name if name in _EVENT_FIELDS else "id" for name in _EVENT_COLUMNS))


def insert_batch(tx: Tx, events: Sequence[Event]) -> None:
    """Events and all sums over them. Rows that other recorders may lock too are taken in one order."""
    before, sessions = _add_to_sessions(tx, events)
    stored = placed(events, before)
    fresh = {session_id for session_id, (count, _) in before.items() if not count}
    became = add_trails(tx, stored, sessions, fresh)
    new_pairs = _add_session_operations(tx, session_operations(events), fresh)
    _add_up(tx, telemetry_operation_days, tally_use((each.event for each in stored), new_pairs), USE_COUNTS)
    hours = tally_hours(stored, became)
    _add_up(tx, telemetry_hours, hours, ROLL_UP_COUNTS)
    _add_up(tx, telemetry_days, tally_days(hours), ROLL_UP_COUNTS)
    insert_rows(tx, telemetry_events, [_event_row(each) for each in stored])


def stored_ids(tx: Tx, ids: Sequence[str]) -> set[str]:
    """Which of these events are there."""
    return set(tx.scalars(select(_e.id).where(_e.id.in_(ids))))


def _add_to_sessions(
    tx: Tx, events: Sequence[Event]
) -> tuple[dict[str, tuple[int, int]], dict[str, SqlRow[Any]]]:
    """How many events and scripts each session had before, and its row as it is now."""
    rows = tally_sessions(events)
    making = merging_insert(tx, telemetry_sessions)
    new = making.excluded
    later = {name: _s[name] + new[name] for name in SESSION_COUNTS} | {
        "started_at": case((new.started_at < _s.started_at, new.started_at), else_=_s.started_at),
        "last_event_at": case(
            (new.last_event_at > _s.last_event_at, new.last_event_at), else_=_s.last_event_at
        ),
        "frustration_max": case(
            (
                or_(_s.frustration_max.is_(None), new.frustration_max > _s.frustration_max),
                new.frustration_max,
            ),
            else_=_s.frustration_max,
        ),
        "client_name": case((_s.client_name == "", new.client_name), else_=_s.client_name),
        "client_version": case((_s.client_version == "", new.client_version), else_=_s.client_version),
    }
    upsert = making.on_conflict_do_update(index_elements=[_s.id], set_=later)
    after = {row.id: row for row in tx.execute(upsert.returning(_s.events, _s.scripts, *NEEDED), rows)}
    before = {
        row["id"]: (after[row["id"]].events - row["events"], after[row["id"]].scripts - row["scripts"])
        for row in rows
    }
    return before, after


def _add_session_operations(
    tx: Tx, pairs: Sequence[tuple[str, str]], fresh: Set[str]
) -> set[tuple[str, str]]:
    """Which of them are new; all those of a session without earlier events are."""
    found = {pair for pair in pairs if pair[0] in fresh}
    insert_rows(tx, telemetry_session_operations, [pair for pair in pairs if pair in found])
    rows = [{"session_id": one, "operation_id": name} for one, name in pairs if one not in fresh]
    if rows:
        making = merging_insert(tx, telemetry_session_operations).on_conflict_do_nothing()
        made = tx.execute(making.returning(_p.session_id, _p.operation_id), rows)
        found |= {(row.session_id, row.operation_id) for row in made}
    return found


def _add_up(tx: Tx, table: Table, rows: list[Row], counts: Sequence[str]) -> None:
    if not rows:
        return
    making = merging_insert(tx, table)
    sums = {name: table.c[name] + making.excluded[name] for name in counts}
    tx.execute(making.on_conflict_do_update(index_elements=list(table.primary_key), set_=sums), rows)


def _event_row(stored: StoredEvent) -> tuple[Any, ...]:
    values = list(_read_event(stored.event))
    values[_AT] = to_millis(values[_AT])
    for place, read in _PLACED:
        values[place] = read(stored)
    for place, empty in _EMPTY_JSON:
        given = values[place]
        values[place] = json_text(given) if given else empty
    return tuple(values)


def list_events(
    tx: Tx, org_id: str, session_id: str, *, after: str | None = None, limit: int = 200
) -> list[StoredEvent]:
    """Of one session in the order they happened; `after` is the id of the last one seen."""
    chosen = select(telemetry_events).where(_e.org_id == org_id, _e.session_id == session_id)
    if after is not None:
        chosen = chosen.where(_e.id > after)
    return [_stored(row) for row in tx.execute(chosen.order_by(_e.id).limit(limit)).mappings()]


def list_org_events(
    tx: Tx,
    org_id: str,
    *,
    since: datetime,
    until: datetime,
    after: tuple[datetime, str] | None = None,
    limit: int = 1_000,
) -> list[Event]:
    """Of all sessions, in the order of time; `after` is the time and id of the last one seen."""
    chosen = select(telemetry_events).where(_e.org_id == org_id, _e.at >= since, _e.at < until)
    if after is not None:
        at, event_id = after
        chosen = chosen.where(_e.at >= at, or_(_e.at > at, _e.id > event_id))
    rows = tx.execute(chosen.order_by(_e.at, _e.id).limit(limit)).mappings()
    return [_stored(row).event for row in rows]


def sums(
    tx: Tx,
    org_id: str,
    bucket: Bucket,
    *,
    since: datetime,
    until: datetime,
    source_ids: Sequence[str] | None = None,
    environment: str | None = None,
) -> list[Row]:
    """Counters by bucket, in order, added up over sources and environments; empty buckets are absent."""
    table = _ROLL_UPS[bucket]
    t = table.c
    added: list[ColumnElement[Any]] = [func.sum(t[name]).label(name) for name in ROLL_UP_COUNTS]
    chosen = select(t.at, *added).where(t.org_id == org_id, t.at >= bucket_start(since, bucket), t.at < until)
    if source_ids is not None:
        chosen = chosen.where(t.source_id.in_(source_ids))
    if environment is not None:
        chosen = chosen.where(t.environment == environment)
    rows = tx.execute(chosen.group_by(t.at).order_by(t.at)).mappings()
    return [{"at": row["at"], **{name: int(row[name]) for name in ROLL_UP_COUNTS}} for row in rows]


def first_day(tx: Tx, org_id: str, *, source_ids: Sequence[str] | None = None) -> datetime | None:
    """The first day of which there are sums."""
    days = telemetry_days.c
    chosen = select(func.min(days.at)).where(days.org_id == org_id)
    if source_ids is not None:
        chosen = chosen.where(days.source_id.in_(source_ids))
    found: datetime | None = tx.scalar(chosen)
    return found


def recent_use(
    tx: Tx, source_id: str, environment: str, operation_ids: Sequence[str], *, at: datetime | None = None
) -> dict[str, Use]:
    """How much each operation was used in the last 30 days; operations without any use have none."""
    since = bucket_start((at or now()) - RECENT, "day")
    found = dict.fromkeys(operation_ids, Use())
    chosen = (
        select(_o.operation_id, *(func.sum(_o[name]).label(name) for name in USE_COUNTS))
        .where(_o.source_id == source_id, _o.environment == environment, _o.at >= since)
        .group_by(_o.operation_id)
    )
    for row in tx.execute(chosen).mappings():
        if row["operation_id"] in found:
            found[row["operation_id"]] = Use(**{name: int(row[name]) for name in USE_COUNTS})
    return found


def prune_events(tx: Tx, before: datetime, *, limit: int) -> int:
    """Events and sessions from before, oldest first, at most so many of each; how many went."""
    chosen = select(_e.id).where(_e.at < before).order_by(_e.at).limit(limit)
    events = tx.execute(delete(telemetry_events).where(_e.id.in_(chosen))).rowcount
    ended = select(_s.id).where(_s.last_event_at < before).order_by(_s.last_event_at).limit(limit)
    session_ids = list(tx.scalars(ended))
    for part in (session_ids[i : i + 500] for i in range(0, len(session_ids), 500)):
        tx.execute(delete(telemetry_session_operations).where(_p.session_id.in_(part)))
        prune_trails(tx, part)
        tx.execute(delete(telemetry_sessions).where(_s.id.in_(part)))
    return events + len(session_ids) + prune_askers(tx, before, limit=limit)


def prune_sums(tx: Tx, before: datetime, *, limit: int) -> int:
    gone = 0
    for table in (*_ROLL_UPS.values(), telemetry_operation_days):
        key = tuple_(*table.primary_key)
        chosen = select(*table.primary_key).where(table.c.at < before).order_by(table.c.at).limit(limit)
        gone += tx.execute(delete(table).where(key.in_(chosen))).rowcount
    return gone


def _stored(row: RowMapping) -> StoredEvent:
    values: Row = {name: row[name] for name in _EVENT_FIELDS}
    values |= {name: tuple(values[name]) for name in _SEQUENCES}
    return StoredEvent(
        event=Event(**values), starts_session=row["starts_session"], first_script=row["first_script"]
    )
