"""SQL for reading sessions, in views and one by one, and for a person's flag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    Select,
    and_,
    exists,
    func,
    literal,
    or_,
    select,
    true,
    update,
)

from ammeter.engines.db.database import Tx
from ammeter.engines.db.dialects import unindexed
from ammeter.engines.db.tables import (
    telemetry_days,
    telemetry_session_intents,
    telemetry_session_searches,
    telemetry_sessions,
)
from ammeter.features.telemetry.model import FLAGS, SIGNALS, Session, SessionPage, SessionPlace, SessionSort
from ammeter.features.telemetry.trail import FAILED, FAILED_AT_THE_END, exact_key_of, from_json, key_of

_s, _i, _q = telemetry_sessions.c, telemetry_session_intents.c, telemetry_session_searches.c
_SORTED_BY: dict[SessionSort, ColumnElement[Any]] = {
    "latest": literal(0),
    "frustration": func.coalesce(_s.frustration_max, -1),
    "failed": _s.script_errors + _s.search_misses,
    "events": _s.events + 0,
    "scripts": _s.scripts + 0,
}
LOOKED_THROUGH = 50_000
"""Sessions of a range that are sorted or filtered without an index: so many, the newest."""
_SESSION_FIELDS = tuple(
    field.name for field in fields(Session) if field.name not in ("flags", "intents", "signals")
)


def find_session(tx: Tx, org_id: str, session_id: str) -> Session | None:
    chosen = select(telemetry_sessions).where(_s.org_id == org_id, _s.id == session_id)
    row = tx.execute(chosen).mappings().one_or_none()
    return _session(row) if row else None


def find_sessions(tx: Tx, org_id: str, session_ids: Sequence[str]) -> list[Session]:
    """Those that are there, in any order."""
    # By their ids: those of the organization are many.
    chosen = select(telemetry_sessions).where(unindexed(tx, _s.org_id) == org_id, _s.id.in_(session_ids))
    return [_session(row) for row in tx.execute(chosen).mappings()]


def list_sessions(
    tx: Tx,
    org_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    source_ids: Sequence[str] | None = None,
    source_id: str | None = None,
    environment: str | None = None,
    client: str | None = None,
    flagged: bool = False,
    strained: bool = False,
    repeat: bool = False,
    intent: str | None = None,
    failed_search: str | None = None,
    any_failed_search: bool = False,
    over_before: datetime | None = None,
    sort: SessionSort = "latest",
    after: SessionPlace | None = None,
    limit: int = 50,
) -> SessionPage:
    """With an event in the range; `after` is where the page before ended.

    `client` is a part of its name, `intent` in any case and spacing, `failed_search` to the letter; sessions
    without an event since `over_before` count as over. What no index has, another order or a filter by
    source, environment, client or any failed search, is looked for in the newest sessions.
    """
    views = ((flagged, _s.flagged), (strained, _s.strained), (repeat, _s.repeat))
    where = [_s.org_id == org_id, *(column == true() for wanted, column in views if wanted)]
    cut_at = None
    if sort != "latest" or source_id or environment or client or any_failed_search:
        cut_at = _cut(tx, where, since)
    where.append(_s.last_event_at >= (cut_at or since))
    if until is not None:
        where.append(_s.started_at < until)
    if source_ids is not None:
        where.append(_s.source_id.in_(source_ids))
    if source_id:
        where.append(_s.source_id == source_id)
    if environment:
        where.append(_s.environment == environment)
    if client:
        where.append(func.lower(_s.client_name).contains(client.lower(), autoescape=True))
    if intent is not None:
        having = select(_i.session_id).where(_i.org_id == org_id, _i.intent_key == key_of(intent))
        where.append(_s.id.in_(having))
    if any_failed_search:
        where += [_s.searches > 0, exists().where(_q.session_id == _s.id, _has_failed(over_before))]
    chosen = select(_s.id).where(*where)
    if failed_search is not None:
        mine = (_q.session_id == _s.id, _q.org_id == org_id, _q.query_key == exact_key_of(failed_search))
        chosen = chosen.join(telemetry_session_searches, and_(*mine)).where(_has_failed(over_before))
    rows = _sorted(tx, chosen, sort, after, limit + 1)
    last = rows[limit - 1] if len(rows) > limit else None
    place = SessionPlace(value=last["sorted_by"], at=last["last_event_at"], id=last["id"]) if last else None
    return SessionPage(rows=[_session(row) for row in rows[:limit]], next_after=place, cut_at=cut_at)


def list_environments(tx: Tx, org_id: str) -> list[str]:
    """Those that sessions were counted in, by name."""
    t = telemetry_days.c
    return list(
        tx.scalars(select(t.environment).where(t.org_id == org_id).distinct().order_by(t.environment))
    )


def _sorted(
    tx: Tx, chosen: Select[Any], sort: SessionSort, after: SessionPlace | None, limit: int
) -> Sequence[RowMapping]:
    value = _SORTED_BY[sort]
    if after is not None:
        earlier = or_(_s.last_event_at < after.at, and_(_s.last_event_at == after.at, _s.id < after.id))
        further = (
            earlier if sort == "latest" else or_(value < after.value, and_(value == after.value, earlier))
        )
        chosen = chosen.where(further)
    order: tuple[Any, ...] = (_s.last_event_at.desc(), _s.id.desc())
    if sort != "latest":
        order = (value.desc(), *order)
    # Their ids first: only the rows of the page are read whole, with their trails.
    ids = list(tx.scalars(chosen.order_by(*order).limit(limit)))
    whole = select(telemetry_sessions, value.label("sorted_by")).where(_s.id.in_(ids))
    return tx.execute(whole.order_by(*order)).mappings().all()


def _cut(tx: Tx, where: Sequence[ColumnElement[bool]], since: datetime) -> datetime | None:
    """The last event of the oldest that is looked through, where there are more in the range."""
    newest = select(_s.last_event_at).where(*where, _s.last_event_at >= since)
    found: datetime | None = tx.scalar(
        newest.order_by(_s.last_event_at.desc()).offset(LOOKED_THROUGH).limit(1)
    )
    return found


def _has_failed(over_before: datetime | None) -> ColumnElement[bool]:
    failed: ColumnElement[bool] = _q.state.in_(FAILED)
    if over_before is None:
        return failed
    return or_(failed, and_(_q.state == FAILED_AT_THE_END, _s.last_event_at < over_before))


def flag_session(tx: Tx, org_id: str, session_id: str, *, flagged: bool) -> bool:
    """A person's flag; whether there is such a session."""
    chosen = update(telemetry_sessions).where(_s.org_id == org_id, _s.id == session_id)
    by_rule = or_(*(_s[flag] > 0 for flag in FLAGS))
    either = true() if flagged else by_rule
    return tx.execute(chosen.values(flagged_by_person=flagged, flagged=either)).rowcount == 1


def find_recent_session(
    tx: Tx,
    *,
    org_id: str,
    source_id: str,
    environment: str,
    key_id: str,
    trace_id: str | None = None,
    client: tuple[str, str] | None = None,
    since: datetime,
) -> str | None:
    """The latest session of this key since then: of a trace, of a client, or any."""
    chosen = select(_s.id).where(
        _s.key_id == key_id,
        _s.org_id == org_id,
        _s.source_id == source_id,
        _s.environment == environment,
        _s.last_event_at >= since,
    )
    if trace_id is not None:
        chosen = chosen.where(_s.trace_id == trace_id)
    if client is not None:
        chosen = chosen.where(_s.client_name == client[0], _s.client_version == client[1])
    found: str | None = tx.scalar(chosen.order_by(_s.last_event_at.desc()).limit(1))
    return found


def _session(row: RowMapping) -> Session:
    given = {name: row[name] for name in _SESSION_FIELDS}
    trail = from_json(row["trail"])
    return Session(
        **given,
        flags=tuple(flag for flag in FLAGS if row[flag]),
        intents=tuple(trail.intents),
        signals=tuple(signal for signal in SIGNALS if getattr(trail, signal)),
    )
