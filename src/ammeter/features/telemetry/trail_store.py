"""SQL for what sessions' events tell one after another: trails, intents, who asked before, open searches.

Called in the transaction of a batch after the sessions' rows were taken, so that nobody else follows the
same session at the same time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import Insert, bindparam, case, delete, select, update

from ammeter.engines.db.bulk import Bulk, column_names
from ammeter.engines.db.database import Tx
from ammeter.engines.db.dialects import merging_insert
from ammeter.engines.db.tables import (
    telemetry_askers,
    telemetry_session_intents,
    telemetry_session_searches,
    telemetry_sessions,
)
from ammeter.features.telemetry.model import FLAGS, HIGH_FRUSTRATION, Event
from ammeter.features.telemetry.tally import SessionChange
from ammeter.features.telemetry.trail import Followed, follow, from_json, to_json

_s, _i, _a, _q = (
    telemetry_sessions.c,
    telemetry_session_intents.c,
    telemetry_askers.c,
    telemetry_session_searches.c,
)


class SessionRow(NamedTuple):
    """What must be known of a session's row to follow it on."""

    id: str
    events: int
    scripts: int
    trail: dict[str, Any]
    repeat: bool
    flagged_by_person: bool
    frustration_max: int | None
    blocked_egress: int
    secret_stripped: int
    unknown_outcome_write: int
    counted_at: datetime
    strained: bool
    has_intent: bool


TOLD_BY_TRAIL = ("trail", "has_intent", "strained", "repeat", "flagged")
"""Columns of a session's row that are written here."""


def add_trails(
    tx: Tx, in_order: Iterable[Event], sessions: Mapping[str, SessionRow], fresh: Set[str]
) -> list[SessionChange]:
    """`sessions`: the rows of the events' sessions as they are now, by id; `fresh`: those without earlier
    events. What the sums must be told: which of them have come to be strained, or to have an intent, or are
    so no longer."""
    events: dict[str, list[Event]] = defaultdict(list)
    for event in in_order:
        events[event.session_id].append(event)
    followed = {
        session_id: follow(from_json(sessions[session_id].trail), events[session_id])
        for session_id in sorted(events)
    }
    firsts = {session_id: events[session_id][0] for session_id in followed}
    _add_intents(tx, followed, firsts)
    again = _asked_before(tx, followed, events)
    _keep_searches(tx, followed, firsts, fresh)
    facts = [
        _facts(sessions[session_id], each, repeat=session_id in again)
        for session_id, each in followed.items()
    ]
    _KEEP_FACTS.run(tx, [_fact_values(fact) for fact in facts])
    return [
        change
        for fact in facts
        if (change := _change(sessions[fact["session"]], firsts[fact["session"]], fact)) is not None
    ]


_KEEP_FACTS = Bulk(
    (*TOLD_BY_TRAIL, "session"),
    lambda _: update(telemetry_sessions).where(_s.id == bindparam("session")),
)
_fact_values = itemgetter(*TOLD_BY_TRAIL, "session")


def _change(was: SessionRow, event: Event, fact: Mapping[str, Any]) -> SessionChange | None:
    strained, with_intent = fact["strained"] - was.strained, fact["has_intent"] - was.has_intent
    if not strained and not with_intent:
        return None
    return SessionChange(
        place=(event.org_id, event.source_id, event.environment),
        counted_at=was.counted_at,
        strained=strained,
        with_intent=with_intent,
    )


def _facts(session: SessionRow, followed: Followed, *, repeat: bool) -> dict[str, Any]:
    trail = followed.trail
    troubled = trail.searched_again or trail.repeated_failure or trail.gave_up
    return {
        "session": session.id,
        "trail": to_json(trail),
        "has_intent": bool(trail.intents),
        "strained": troubled or (session.frustration_max or 0) >= HIGH_FRUSTRATION,
        "repeat": session.repeat or repeat,
        "flagged": session.flagged_by_person or any(getattr(session, flag) for flag in FLAGS),
    }


def _add_intents(tx: Tx, followed: Mapping[str, Followed], firsts: Mapping[str, Event]) -> None:
    rows = [
        (session_id, key, firsts[session_id].org_id)
        for session_id, each in followed.items()
        for key in sorted(each.new_intents)
    ]
    _PUT_INTENTS.run(tx, rows)


_PUT_INTENTS = Bulk(
    column_names(telemetry_session_intents),
    lambda tx: merging_insert(tx, telemetry_session_intents).on_conflict_do_nothing(),
)


def _asked_before(tx: Tx, followed: Mapping[str, Followed], events: Mapping[str, list[Event]]) -> set[str]:
    """Sessions with an intent that another session of the same key or client had before."""
    first: dict[tuple[str, str, str], tuple[datetime, str]] = {}
    asking: list[tuple[tuple[str, str, str], str]] = []
    for session_id, each in followed.items():
        event = events[session_id][0]
        askers, mine = tuple(_askers(event)), (event.at, session_id)
        for key in each.new_intents:
            for asker in askers:
                row = (event.source_id, key, asker)
                asking.append((row, session_id))
                if row not in first or mine < first[row]:
                    first[row] = mine
    rows = [(*row, session_id, at) for row, (at, session_id) in sorted(first.items())]
    owners = {row[:3]: row[3] for row in _PUT_ASKERS.fetch(tx, rows)}
    return {session_id for row, session_id in asking if owners[row] != session_id}


def _putting_askers(tx: Tx) -> Insert:
    making = merging_insert(tx, telemetry_askers)
    latest = case((making.excluded.at > _a.at, making.excluded.at), else_=_a.at)
    keeping = making.on_conflict_do_update(
        index_elements=[_a.source_id, _a.intent_key, _a.asker], set_={"at": latest}
    )
    return keeping.returning(_a.source_id, _a.intent_key, _a.asker, _a.session_id)


_PUT_ASKERS = Bulk(column_names(telemetry_askers), _putting_askers)


def _askers(event: Event) -> Iterable[str]:
    yield f"key {event.key_id}"
    if event.client_name:
        yield f"client {event.client_name} {event.client_version}"


def _keep_searches(
    tx: Tx, followed: Mapping[str, Followed], firsts: Mapping[str, Event], fresh: Set[str]
) -> None:
    """Searches of this batch with their texts; of earlier ones what has become of them."""
    new, later, used = list[tuple[str, ...]](), list[tuple[str, ...]](), list[tuple[str, ...]]()
    for session_id, each in followed.items():
        org_id = firsts[session_id].org_id
        for key, (words, state) in sorted(each.searches.items()):
            if state == "used":
                if session_id not in fresh:
                    used.append((session_id, key))
            elif words:
                new.append((session_id, key, org_id, words, state))
            else:
                later.append((state, session_id, key))
    _DROP_SEARCHES.run(tx, used)
    _SETTLE_SEARCHES.run(tx, later)
    _PUT_SEARCHES.run(tx, new)


def _putting_searches(tx: Tx) -> Insert:
    making = merging_insert(tx, telemetry_session_searches)
    return making.on_conflict_do_update(
        index_elements=[_q.session_id, _q.query_key], set_={"state": making.excluded.state}
    )


_THAT_SEARCH = (_q.session_id == bindparam("session"), _q.query_key == bindparam("key"))
_DROP_SEARCHES = Bulk(("session", "key"), lambda _: delete(telemetry_session_searches).where(*_THAT_SEARCH))
_SETTLE_SEARCHES = Bulk(
    ("state", "session", "key"), lambda _: update(telemetry_session_searches).where(*_THAT_SEARCH)
)
_PUT_SEARCHES = Bulk(column_names(telemetry_session_searches), _putting_searches)


def prune_trails(tx: Tx, session_ids: Sequence[str]) -> None:
    tx.execute(delete(telemetry_session_intents).where(_i.session_id.in_(session_ids)))
    tx.execute(delete(telemetry_session_searches).where(_q.session_id.in_(session_ids)))


def prune_askers(tx: Tx, before: datetime, *, limit: int) -> int:
    oldest = select(_a.source_id, _a.intent_key, _a.asker).where(_a.at < before).order_by(_a.at).limit(limit)
    rows = [dict(zip(("source", "intent", "who"), row, strict=True)) for row in tx.execute(oldest)]
    if rows:
        mine = (_a.source_id == bindparam("source"), _a.intent_key == bindparam("intent"))
        tx.execute(delete(telemetry_askers).where(*mine, _a.asker == bindparam("who")), rows)
    return len(rows)
