"""SQL for what sessions' events tell one after another: trails, intents, who asked before, open searches.

Called in the transaction of a batch after the sessions' rows were taken, so that nobody else follows the
same session at the same time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, case, delete, select, update

from ammeter.engines.db.bulk import put_rows
from ammeter.engines.db.database import Tx
from ammeter.engines.db.dialects import merging_insert
from ammeter.engines.db.tables import (
    telemetry_askers,
    telemetry_session_intents,
    telemetry_session_searches,
    telemetry_sessions,
)
from ammeter.features.telemetry.model import FLAGS, HIGH_FRUSTRATION, Event, StoredEvent
from ammeter.features.telemetry.tally import SessionChange
from ammeter.features.telemetry.trail import Followed, follow, from_json, to_json

_s, _i, _a, _q = (
    telemetry_sessions.c,
    telemetry_session_intents.c,
    telemetry_askers.c,
    telemetry_session_searches.c,
)

NEEDED = (
    *(_s.id, _s.trail, _s.repeat, _s.flagged_by_person, _s.frustration_max, *(_s[flag] for flag in FLAGS)),
    *(_s.counted_at, _s.strained, _s.has_intent),
)
"""What must be known of a session's row to follow it on."""


def add_trails(
    tx: Tx, stored: Iterable[StoredEvent], sessions: Mapping[str, Row[Any]], fresh: Set[str]
) -> list[SessionChange]:
    """`sessions`: the rows of the events' sessions as they are now, by id; `fresh`: those without earlier
    events. What the sums must be told: which
    of them have come to be strained, or to have an intent, or are so no longer."""
    events: dict[str, list[Event]] = defaultdict(list)
    for each in stored:
        events[each.event.session_id].append(each.event)
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
    tx.execute(update(telemetry_sessions).where(_s.id == bindparam("session")), facts)
    return [
        change
        for fact in facts
        if (change := _change(sessions[fact["session"]], firsts[fact["session"]], fact)) is not None
    ]


def _change(was: Row[Any], event: Event, fact: Mapping[str, Any]) -> SessionChange | None:
    strained, with_intent = fact["strained"] - was.strained, fact["has_intent"] - was.has_intent
    if not strained and not with_intent:
        return None
    return SessionChange(
        place=(event.org_id, event.source_id, event.environment),
        counted_at=was.counted_at,
        strained=strained,
        with_intent=with_intent,
    )


def _facts(session: Row[Any], followed: Followed, *, repeat: bool) -> dict[str, Any]:
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
    put_rows(tx, telemetry_session_intents, rows)


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
    if not first:
        return set()
    making = merging_insert(tx, telemetry_askers)
    latest = case((making.excluded.at > _a.at, making.excluded.at), else_=_a.at)
    keeping = making.on_conflict_do_update(
        index_elements=[_a.source_id, _a.intent_key, _a.asker], set_={"at": latest}
    )
    rows = [
        {"source_id": row[0], "intent_key": row[1], "asker": row[2], "session_id": found[1], "at": found[0]}
        for row, found in sorted(first.items())
    ]
    found = tx.execute(keeping.returning(_a.source_id, _a.intent_key, _a.asker, _a.session_id), rows)
    owners = {(row.source_id, row.intent_key, row.asker): row.session_id for row in found}
    return {session_id for row, session_id in asking if owners[row] != session_id}


def _askers(event: Event) -> Iterable[str]:
    yield f"key {event.key_id}"
    if event.client_name:
        yield f"client {event.client_name} {event.client_version}"


def _keep_searches(
    tx: Tx, followed: Mapping[str, Followed], firsts: Mapping[str, Event], fresh: Set[str]
) -> None:
    """Searches of this batch with their texts; of earlier ones what has become of them."""
    new, later, used = list[tuple[str, ...]](), list[dict[str, str]](), list[dict[str, str]]()
    for session_id, each in followed.items():
        org_id = firsts[session_id].org_id
        for key, (words, state) in sorted(each.searches.items()):
            if state == "used":
                if session_id not in fresh:
                    used.append({"session": session_id, "key": key})
            elif words:
                new.append((session_id, key, org_id, words, state))
            else:
                later.append({"session": session_id, "key": key, "became": state})
    mine = (_q.session_id == bindparam("session"), _q.query_key == bindparam("key"))
    if used:
        tx.execute(delete(telemetry_session_searches).where(*mine), used)
    if later:
        tx.execute(update(telemetry_session_searches).where(*mine).values(state=bindparam("became")), later)
    put_rows(tx, telemetry_session_searches, new, replacing=("state",))


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
