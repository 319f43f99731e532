"""SQL for telemetry: a batch in one transaction with its sums, what is read of it, what goes in time."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import fields
from datetime import datetime, timedelta
from operator import itemgetter
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Insert,
    RowMapping,
    Select,
    Table,
    case,
    delete,
    func,
    literal_column,
    or_,
    select,
    tuple_,
)

from ammeter.base.clock import now, to_millis
from ammeter.engines.db.bulk import Bulk, column_names, insert_rows, json_text
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
from ammeter.features.telemetry.trail_store import (
    TOLD_BY_TRAIL,
    SessionRow,
    add_trails,
    prune_askers,
    prune_trails,
)

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


def insert_batch(tx: Tx, events: Sequence[Event]) -> None:
    """Events and all sums over them. Rows that other recorders may lock too are taken in one order."""
    before, sessions = _add_to_sessions(tx, events)
    batch = placed(events, before)
    fresh = {session_id for session_id, (count, _) in before.items() if not count}
    became = add_trails(tx, batch.events, sessions, fresh)
    new_pairs = _add_session_operations(tx, session_operations(events), fresh)
    _add_up(tx, telemetry_operation_days, tally_use(batch.events, new_pairs))
    hours = tally_hours(batch, became)
    _add_up(tx, telemetry_hours, hours)
    _add_up(tx, telemetry_days, tally_days(hours))
    rows = [
        _event_values(event, event.id in batch.starting, event.id in batch.first_scripts)
        for event in batch.events
    ]
    insert_rows(tx, telemetry_events, rows)


def stored_ids(tx: Tx, ids: Sequence[str]) -> set[str]:
    """Which of these events are there."""
    return set(tx.scalars(select(_e.id).where(_e.id.in_(ids))))


def _add_to_sessions(
    tx: Tx, events: Sequence[Event]
) -> tuple[dict[str, tuple[int, int]], dict[str, SessionRow]]:
    """How many events and scripts each session had before, and its row as it is now."""
    rows = tally_sessions(events)
    found = _PUT_SESSIONS.fetch(tx, [_session_values(row) for row in rows])
    after = {row.id: row for row in map(SessionRow._make, found)}
    before = {
        row["id"]: (after[row["id"]].events - row["events"], after[row["id"]].scripts - row["scripts"])
        for row in rows
    }
    return before, after


def _putting_sessions(tx: Tx) -> Insert:
    making = merging_insert(tx, telemetry_sessions)
    new = making.excluded
    empty: ColumnElement[str] = literal_column("''")
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
        "client_name": case((_s.client_name == empty, new.client_name), else_=_s.client_name),
        "client_version": case((_s.client_version == empty, new.client_version), else_=_s.client_version),
    }
    upsert = making.on_conflict_do_update(index_elements=[_s.id], set_=later)
    return upsert.returning(*(_s[name] for name in SessionRow._fields))


_SESSION_NAMES = [name for name in column_names(telemetry_sessions) if name not in TOLD_BY_TRAIL]
_PUT_SESSIONS = Bulk(_SESSION_NAMES, _putting_sessions)
_session_values = itemgetter(*_SESSION_NAMES)


def _add_session_operations(
    tx: Tx, pairs: Sequence[tuple[str, str]], fresh: Set[str]
) -> set[tuple[str, str]]:
    """Which of them are new; all those of a session without earlier events are."""
    found = {pair for pair in pairs if pair[0] in fresh}
    insert_rows(tx, telemetry_session_operations, [pair for pair in pairs if pair in found])
    made = _PUT_OPERATIONS.fetch(tx, [pair for pair in pairs if pair not in found])
    return found.union((session_id, name) for session_id, name in made)


_PUT_OPERATIONS = Bulk(
    column_names(telemetry_session_operations),
    lambda tx: (
        merging_insert(tx, telemetry_session_operations)
        .on_conflict_do_nothing()
        .returning(_p.session_id, _p.operation_id)
    ),
)


def _add_up(tx: Tx, table: Table, rows: list[Row]) -> None:
    values = itemgetter(*column_names(table))
    _ADD_UP[table].run(tx, [values(row) for row in rows])


def _adding_up(table: Table, counts: Sequence[str]) -> Bulk:
    def make(tx: Tx) -> Insert:
        making = merging_insert(tx, table)
        sums = {name: table.c[name] + making.excluded[name] for name in counts}
        return making.on_conflict_do_update(index_elements=list(table.primary_key), set_=sums)

    return Bulk(column_names(table), make)


_ADD_UP = {
    telemetry_hours: _adding_up(telemetry_hours, ROLL_UP_COUNTS),
    telemetry_days: _adding_up(telemetry_days, ROLL_UP_COUNTS),
    telemetry_operation_days: _adding_up(telemetry_operation_days, USE_COUNTS),
}


def _event_values(event: Event, starts_session: bool, first_script: bool) -> tuple[Any, ...]:
    # In the order of the table's columns, and written out: names to go through cost three times as much.
    return (
        event.id,
        event.org_id,
        event.source_id,
        event.environment,
        event.bundle_id,
        event.key_id,
        event.kind,
        to_millis(event.at),
        event.session_id,
        event.session_source,
        starts_session,
        first_script,
        event.trace_id,
        event.client_name,
        event.client_version,
        event.protocol_version,
        event.request_id,
        event.duration_ms,
        event.outcome,
        event.error_class,
        event.error_message,
        event.intent,
        event.context,
        event.frustration,
        event.frustration_text,
        json_text(event.tags) if event.tags else "{}",
        event.query,
        _json_list(event.result_operations),
        event.top_score,
        event.code,
        event.result,
        _json_list(event.logs),
        _json_list(event.calls),
        _json_list(event.invented),
        event.cpu_ms,
        event.bytes_in,
        event.bytes_out,
        event.truncated,
        event.secrets_stripped,
        _json_list(event.flags),
        event.content_dropped,
    )


def _json_list(values: Sequence[Any]) -> str:
    return json_text(values) if values else "[]"


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
    at = _ROLL_UPS[bucket].c.at
    chosen = _summed(bucket, org_id, since, until, source_ids, at)
    if environment is not None:
        chosen = chosen.where(_ROLL_UPS[bucket].c.environment == environment)
    rows = tx.execute(chosen.group_by(at).order_by(at))
    return [dict(zip(_AT_AND_COUNTS, (when, *map(int, counts)), strict=True)) for when, *counts in rows]


def total(
    tx: Tx,
    org_id: str,
    bucket: Bucket,
    *,
    since: datetime,
    until: datetime,
    source_ids: Sequence[str] | None = None,
) -> dict[str, int]:
    """The same, all buckets added up."""
    counts = tx.execute(_summed(bucket, org_id, since, until, source_ids)).one()
    return dict(zip(ROLL_UP_COUNTS, (int(count or 0) for count in counts), strict=True))


_AT_AND_COUNTS = ("at", *ROLL_UP_COUNTS)


def _summed(
    bucket: Bucket,
    org_id: str,
    since: datetime,
    until: datetime,
    source_ids: Sequence[str] | None,
    *by: ColumnElement[Any],
) -> Select[*tuple[Any, ...]]:
    t = _ROLL_UPS[bucket].c
    added: list[ColumnElement[Any]] = [func.sum(t[name]).label(name) for name in ROLL_UP_COUNTS]
    chosen = select(*by, *added).where(t.org_id == org_id, t.at >= bucket_start(since, bucket), t.at < until)
    return chosen if source_ids is None else chosen.where(t.source_id.in_(source_ids))


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
