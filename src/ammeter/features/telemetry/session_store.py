"""SQL for reading sessions, in views and one by one, and for a person's flag."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime

from sqlalchemy import ColumnElement, RowMapping, and_, or_, select, true, update

from ammeter.engines.db.database import Tx
from ammeter.engines.db.tables import (
    telemetry_session_intents,
    telemetry_session_searches,
    telemetry_sessions,
)
from ammeter.features.telemetry.model import FLAGS, SIGNALS, Session, SessionPage
from ammeter.features.telemetry.trail import FAILED, FAILED_AT_THE_END, exact_key_of, from_json, key_of

_s, _i, _q = telemetry_sessions.c, telemetry_session_intents.c, telemetry_session_searches.c
_SESSION_FIELDS = tuple(
    field.name for field in fields(Session) if field.name not in ("flags", "intents", "signals")
)


def find_session(tx: Tx, org_id: str, session_id: str) -> Session | None:
    chosen = select(telemetry_sessions).where(_s.org_id == org_id, _s.id == session_id)
    row = tx.execute(chosen).mappings().one_or_none()
    return _session(row) if row else None


def find_sessions(tx: Tx, org_id: str, session_ids: Sequence[str]) -> list[Session]:
    """Those that are there, in any order."""
    chosen = select(telemetry_sessions).where(_s.org_id == org_id, _s.id.in_(session_ids))
    return [_session(row) for row in tx.execute(chosen).mappings()]


def list_sessions(
    tx: Tx,
    org_id: str,
    *,
    since: datetime,
    until: datetime | None = None,
    source_ids: Sequence[str] | None = None,
    environment: str | None = None,
    flagged: bool = False,
    strained: bool = False,
    repeat: bool = False,
    intent: str | None = None,
    failed_search: str | None = None,
    over_before: datetime | None = None,
    after: tuple[datetime, str] | None = None,
    limit: int = 50,
) -> SessionPage:
    """With an event in the range, the latest first; `after` is where the page before ended.

    `intent` in any case and spacing, `failed_search` to the letter; sessions without an event since
    `over_before` count as over.
    """
    chosen = select(telemetry_sessions).where(_s.org_id == org_id, _s.last_event_at >= since)
    if until is not None:
        chosen = chosen.where(_s.started_at < until)
    if source_ids is not None:
        chosen = chosen.where(_s.source_id.in_(source_ids))
    if environment is not None:
        chosen = chosen.where(_s.environment == environment)
    for wanted, column in ((flagged, _s.flagged), (strained, _s.strained), (repeat, _s.repeat)):
        if wanted:
            chosen = chosen.where(column == true())
    if intent is not None:
        having = select(_i.session_id).where(_i.org_id == org_id, _i.intent_key == key_of(intent))
        chosen = chosen.where(_s.id.in_(having))
    if failed_search is not None:
        failed: ColumnElement[bool] = _q.state.in_(FAILED)
        if over_before is not None:
            failed = or_(failed, and_(_q.state == FAILED_AT_THE_END, _s.last_event_at < over_before))
        mine = (_q.session_id == _s.id, _q.org_id == org_id, _q.query_key == exact_key_of(failed_search))
        chosen = chosen.join(telemetry_session_searches, and_(*mine)).where(failed)
    if after is not None:
        at, session_id = after
        earlier = and_(_s.last_event_at == at, _s.id < session_id)
        chosen = chosen.where(or_(_s.last_event_at < at, earlier))
    chosen = chosen.order_by(_s.last_event_at.desc(), _s.id.desc()).limit(limit + 1)
    rows = [_session(row) for row in tx.execute(chosen).mappings()]
    last = rows[limit - 1] if len(rows) > limit else None
    return SessionPage(rows=rows[:limit], next_after=(last.last_event_at, last.id) if last else None)


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
