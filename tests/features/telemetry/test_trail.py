"""Sessions followed event by event: the same in one batch and in many, bounded, and gone with the session."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.cli.demo_seed.days import Shop, sessions_of_day
from ammeter.engines.db.database import Database
from ammeter.features.orgs.model import Organization
from ammeter.features.telemetry import session_store, store
from ammeter.features.telemetry.model import Event, Session
from ammeter.features.telemetry.trail import Trail, follow, from_json, to_json
from tests.features.telemetry.parts import LONG_AGO, call, make_event
from tests.telling import LAST_DAY

TABLES = ("telemetry_session_intents", "telemetry_session_searches", "telemetry_askers")


def stored(db: Database, org: Organization, sessions: list[list[Event]], batch: int) -> list[Session]:
    """The sessions after their events came in batches of this size, each session with an id of its own."""
    source_id = new_id()
    events = [
        replace(event, id=new_id(), org_id=org.id, source_id=source_id, session_id=session_id)
        for session in sessions
        for session_id in [new_id()]
        for event in session
    ]
    for start in range(0, len(events), batch):
        with db.write() as tx:
            store.insert_batch(tx, events[start : start + batch])
    ids = list(dict.fromkeys(event.session_id for event in events))
    with db.read() as tx:
        found = {session.id: session for session in session_store.find_sessions(tx, org.id, ids)}
    return [found[session_id] for session_id in ids]


def test_a_session_is_the_same_however_its_events_are_batched(shared_db: Database, org: Organization) -> None:
    shop = Shop(org_id=org.id, source_id="s", key_ids=["k1", "k2"])
    sessions = sorted(sessions_of_day(shop, LAST_DAY, 40, last_day=LAST_DAY, tasks=4), key=lambda s: s[0].at)
    one, few, many = (stored(shared_db, org, sessions, size) for size in (10_000, 25, 3))

    def facts(session: Session) -> tuple[Any, ...]:
        return (session.intents, session.signals, session.strained, session.repeat, session.flagged)

    assert [facts(s) for s in one] == [facts(s) for s in few] == [facts(s) for s in many]
    assert {signal for session in one for signal in session.signals} == {
        "searched_again",
        "repeated_failure",
        "gave_up",
    }
    assert {session.repeat for session in one} == {True, False}


def test_a_trail_is_small_however_long_the_session(org: Organization) -> None:
    trail = Trail()
    for number in range(3_000):
        shown = [f"op{number}-{i}" for i in range(20)]
        events = [
            make_event(org.id, kind="search", query=f"query {number}", result_operations=shown),
            make_event(org.id, outcome="error", error_message=f"failed {number}", intent=f"intent {number}"),
        ]
        trail = from_json(json.loads(json.dumps(to_json(follow(trail, events).trail))))
    assert len(json.dumps(to_json(trail))) < 20_000
    assert trail.intents == [f"intent {number}" for number in range(20)]


@pytest.mark.parametrize(
    ("kinds", "signals"),
    [
        ("hx", []),
        ("mx", []),
        ("m", ["gave_up"]),
        ("xm", ["gave_up"]),
        ("mh", ["gave_up"]),
        ("hhx", []),
        ("hhhx", ["searched_again"]),
        ("hhm", ["searched_again", "gave_up"]),
        ("ee", ["repeated_failure"]),
        ("exe", ["repeated_failure"]),
        ("ef", []),
        ("em", ["gave_up"]),
        ("rrr", []),
    ],
)
def test_signals_by_what_follows_what(org: Organization, kinds: str, signals: list[str]) -> None:
    facts: dict[str, dict[str, Any]] = {
        "h": {"kind": "search", "result_operations": ["a"]},
        "m": {"kind": "search", "outcome": "miss"},
        "x": {"calls": [call("a")]},
        "e": {"outcome": "error", "calls": [call("a", "error")], "error_message": "differs each time"},
        "f": {"outcome": "error", "error_class": "E", "error_message": "another"},
        "r": {"outcome": "refused", "kind": "search"},
    }
    events = [make_event(org.id, query=f"query {n}", **facts[kind]) for n, kind in enumerate(kinds)]
    trail = follow(Trail(), events).trail
    found = [name for name in ("searched_again", "repeated_failure", "gave_up") if getattr(trail, name)]
    assert found == signals


def test_the_same_query_in_other_letters_is_the_same(org: Organization) -> None:
    events = [
        make_event(org.id, kind="search", query="List  Books"),
        make_event(org.id, intent="one"),
        make_event(org.id, kind="search", query="list books"),
    ]
    assert follow(Trail(), events).trail.searched_again


def test_what_is_remembered_of_a_session_goes_with_it(shared_db: Database, org: Organization) -> None:
    at = now() - timedelta(days=400)
    events = [
        make_event(org.id, at=at, kind="search", outcome="miss", query="gift card"),
        make_event(org.id, at=at, intent="Sell a gift card", client_name="c"),
    ]
    with shared_db.write() as tx:
        store.insert_batch(tx, events)
        kept = [session.id for session in session_store.list_sessions(tx, org.id, since=LONG_AGO).rows]
        assert len(kept) == 1
    assert rows(shared_db, kept[0]) == [1, 1, 1]
    with shared_db.write() as tx:
        while store.prune_events(tx, at + timedelta(days=1), limit=500):
            pass
    assert rows(shared_db, kept[0]) == [0, 0, 0]


def rows(db: Database, session_id: str) -> list[int]:
    asked = [f"SELECT count(*) FROM {table} WHERE session_id = :id" for table in TABLES]
    with db.read() as tx:
        return [int(tx.scalar(text(one), {"id": session_id}) or 0) for one in asked]
