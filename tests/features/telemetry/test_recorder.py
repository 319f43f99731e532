"""Events are stored in batches with their sums, bounded in memory, without secrets, also after a fault."""

from __future__ import annotations

import asyncio
import base64
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast
from urllib.parse import quote

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.event import listen, remove

from ammeter.engines.db.database import Database
from ammeter.features.orgs.model import Organization
from ammeter.features.telemetry import session_store
from ammeter.features.telemetry.model import Event
from ammeter.features.telemetry.recorder import Recorder
from tests.features.telemetry.parts import (
    LONG_AGO,
    call,
    every_row,
    make_event,
    random_events,
    record_all,
    stored_events,
)
from tests.flows.outage import away
from tests.server import until

SECRET = "k9/Zp+q sécret&7"


def test_an_event_comes_back_as_it_was_recorded(shared_db: Database, org: Organization) -> None:
    event = make_event(
        org.id,
        bundle_id="bundle",
        trace_id="a" * 32,
        client_name="agent",
        client_version="1.2",
        protocol_version="2025-11-25",
        request_id="request-1",
        outcome="error",
        error_class="TypeError",
        error_message="x is not a function",
        intent="Find the invoice",
        context="step 2",
        frustration=4,
        tags={"team": "billing"},
        code="return await client.invoices.find()",
        result='{"result": null}',
        logs=({"level": "log", "text": "héllo 🙂"},),
        calls=(call("invoices.find"),),
        invented=("client.invoices.find",),
        cpu_ms=1.5,
        bytes_in=100,
        bytes_out=200,
        truncated=True,
        flags=("blocked_egress",),
    )
    search = make_event(
        org.id,
        kind="search",
        session_source="recent",
        query="invoice",
        result_operations=("invoices.get", "invoices.list"),
        top_score=0.5,
        frustration_text="so so",
    )
    recorder = record_all(shared_db, [event, search])
    first, second = stored_events(shared_db, org.id)
    assert (first.event, second.event) == (event, search)
    assert (first.starts_session, first.first_script) == (True, True)
    assert (second.starts_session, second.first_script) == (False, False)
    figures = recorder.figures()
    assert figures.stored == {"script": 1, "search": 1}
    assert (figures.buffered, figures.buffered_bytes, figures.dropped) == (0, 0, {})


def test_events_are_stored_without_a_stop(shared_db: Database, org: Organization) -> None:
    recorder = Recorder(shared_db)
    recorder.start()
    recorder.record(make_event(org.id))
    until(lambda: len(stored_events(shared_db, org.id)) == 1, "the event is stored")
    recorder.record(make_event(org.id))
    until(lambda: len(stored_events(shared_db, org.id)) == 2, "the next one is stored")
    asyncio.run(recorder.stop())


def test_a_full_batch_does_not_wait_for_its_time(shared_db: Database, org: Organization) -> None:
    recorder = Recorder(shared_db, batch=10, every_s=3600)
    recorder.start()
    for _ in range(10):
        recorder.record(make_event(org.id))
    until(lambda: len(stored_events(shared_db, org.id)) == 10, "the batch is stored")
    asyncio.run(recorder.stop())


def test_what_comes_in_during_a_write_waits_for_the_next_batch(db: Database) -> None:
    recorder = Recorder(db, batch=2, every_s=3600)
    writes: list[Connection] = []

    def another(connection: Connection) -> None:
        writes.append(connection)
        recorder.record(make_event("o"))

    listen(db.writer, "commit", another)
    recorder.start()
    recorder.record(make_event("o"))
    recorder.record(make_event("o"))
    until(lambda: recorder.figures().stored.get("script") == 2, "the batch is stored")
    recorder.close()
    remove(db.writer, "commit", another)
    assert len(writes) == 2
    assert recorder.figures().stored == {"script": 3}


def test_what_does_not_fit_is_dropped_newest_first_and_counted(
    shared_db: Database, org: Organization
) -> None:
    recorder = Recorder(shared_db, capacity=3)
    events = [
        make_event(org.id, kind=kind) for kind in ("script", "search", "script", "search", "initialize")
    ]
    for event in events:
        recorder.record(event)
    assert recorder.figures().dropped == {("search", "full"): 1, ("initialize", "full"): 1}
    assert recorder.figures().buffered == 3
    asyncio.run(recorder.stop())
    assert [each.event.id for each in stored_events(shared_db, org.id)] == [event.id for event in events[:3]]


def test_large_events_fill_the_buffer_by_their_size(shared_db: Database, org: Organization) -> None:
    recorder = Recorder(shared_db, capacity_bytes=500_000)
    for _ in range(5):
        recorder.record(make_event(org.id, code="x" * 200_000))
    assert recorder.figures().dropped == {("script", "full"): 3}
    asyncio.run(recorder.stop())
    assert len(stored_events(shared_db, org.id)) == 2


def test_after_the_stop_events_are_dropped_and_counted(shared_db: Database, org: Organization) -> None:
    recorder = record_all(shared_db, [])
    recorder.record(make_event(org.id))
    assert recorder.figures().dropped == {("script", "stopped"): 1}


def test_recording_never_raises(shared_db: Database, org: Organization) -> None:
    broken = make_event(org.id, logs=cast(Any, 7))
    recorder = record_all(shared_db, [broken, make_event(org.id)])
    assert recorder.figures().stored == {"script": 1}


@pytest.mark.parametrize(
    "broken",
    [{"duration_ms": 2**70}, {"frustration": "high"}, {"cpu_ms": object()}],
    ids=["too large", "no number", "no value"],
)
def test_an_event_that_cannot_be_stored_takes_no_other_with_it(
    shared_db: Database, org: Organization, broken: dict[str, Any]
) -> None:
    events = [make_event(org.id), make_event(org.id, **broken), make_event(org.id)]
    recorder = record_all(shared_db, events)
    kept = {each.event.id for each in stored_events(shared_db, org.id)}
    assert {events[0].id, events[2].id} <= kept
    figures = recorder.figures()
    assert figures.buffered == 0
    assert figures.stored["script"] + figures.dropped.get(("script", "unstorable"), 0) == 3
    assert figures.stored["script"] == len(kept)


def test_texts_that_a_database_refuses_are_made_storable(shared_db: Database, org: Organization) -> None:
    odd = "a\0b\ud800c"
    event = make_event(
        org.id,
        code=odd,
        result=odd,
        intent=odd,
        tags={odd: odd},
        logs=({"level": odd, "text": odd},),
        calls=(call(odd),),
        invented=(odd,),
    )
    recorder = record_all(shared_db, [event])
    assert recorder.figures().stored == {"script": 1}
    (stored,) = stored_events(shared_db, org.id)
    assert stored.event.code == "a\N{REPLACEMENT CHARACTER}b?c"


def test_long_texts_are_cut(shared_db: Database, org: Organization) -> None:
    record_all(
        shared_db,
        [
            make_event(
                org.id,
                code="c" * 300_000,
                result="r" * 30_000,
                query="q" * 9_000,
                logs=[{"level": "log", "text": "l" * 9_000}] * 500,
                calls=[call("op")] * 500,
            )
        ],
    )
    (stored,) = stored_events(shared_db, org.id)
    event = stored.event
    assert event.code is not None
    assert event.result is not None
    assert event.query is not None
    assert (len(event.code), len(event.result), len(event.query)) == (65_536, 24_000, 2_000)
    assert (len(event.logs), len(event.logs[0]["text"]), len(event.calls)) == (200, 2_000, 200)


def test_no_known_secret_is_in_any_row(db: Database) -> None:
    forms = [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe=""),
        json.dumps(SECRET),
        json.dumps(json.dumps(SECRET)),
        *(base64.b64encode(b"u:"[:n] + SECRET.encode()).decode() for n in range(3)),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
        SECRET.encode().hex(),
    ]
    around = [f"before {form} after" for form in forms]
    everywhere = "\n".join(around)
    events = [
        make_event("o", **{field: everywhere})
        for field in (
            *("client_name", "client_version", "protocol_version", "request_id", "error_class"),
            *("error_message", "intent", "context", "frustration_text", "query", "code", "result"),
        )
    ]
    events += [
        make_event(
            "o",
            tags={form: form for form in around},
            result_operations=around,
            invented=around,
            logs=[{"level": form, "text": form} for form in around],
            calls=[call(form) for form in around],
        ),
        # Where a text is cut, no half of a secret may stay.
        *(make_event("o", code="x" * (262_144 - n) + SECRET + "y" * 90_000) for n in range(len(SECRET))),
        *(make_event("o", result="x" * (24_000 - n) + SECRET) for n in range(len(SECRET))),
    ]
    recorder = record_all(db, events, [SECRET])
    assert recorder.figures().stored == {"script": len(events)}
    rows = every_row(db)
    assert "[redacted:known_value]" in rows
    for form in (*forms, SECRET[:7], SECRET[-7:], quote(SECRET)[:9]):
        assert form not in rows
    with db.read() as tx:
        (session,) = session_store.list_sessions(tx, "o", since=LONG_AGO).rows
    assert session.flags == ("secret_stripped",)


def test_where_secrets_cannot_be_taken_out_the_texts_are_left_out(
    db: Database, caplog: pytest.LogCaptureFixture
) -> None:
    event = make_event(
        "o", code=SECRET, intent=SECRET, client_name=SECRET, calls=(call("op"),), frustration=3
    )
    recorder = record_all(db, [event], cast(Any, [b"not a text"]))
    (stored,) = stored_events(db, "o")
    assert stored.event.content_dropped
    assert (stored.event.code, stored.event.intent, stored.event.client_name) == (None, None, "")
    assert (stored.event.outcome, stored.event.frustration) == ("ok", 3)
    assert SECRET not in every_row(db) + caplog.text
    assert recorder.figures().content_dropped == 1


def test_events_wait_for_a_database_that_is_away(db: Database, caplog: pytest.LogCaptureFixture) -> None:
    recorder = Recorder(db)
    recorder.start()
    with away(db):
        recorder.record(make_event("o", code=SECRET), [SECRET])
        until(lambda: recorder.figures().failed_writes >= 1, "a write has failed")
        recorder.record(make_event("o"))
        assert recorder.figures().buffered == 2
    until(lambda: len(stored_events(db, "o")) == 2, "both are stored")
    asyncio.run(recorder.stop())
    assert recorder.figures().stored == {"script": 2}
    assert "cannot be" in caplog.text
    assert SECRET not in caplog.text


def test_a_stop_without_a_database_ends_and_counts_what_is_lost(db: Database) -> None:
    recorder = Recorder(db, stop_patience_s=0)
    with away(db):
        recorder.record(make_event("o"))
        asyncio.run(recorder.stop())
    assert recorder.figures().dropped == {("script", "lost"): 1}
    assert recorder.figures().buffered == 0
    assert stored_events(db, "o") == []


def test_two_recorders_at_once_lose_and_double_nothing(db: Database) -> None:
    events = random_events("o", 1_200, seed=1)
    halves = [events[::2], events[1::2]]
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda half: record_all(db, half, batch=50), halves))
    assert sorted(_ids(db)) == sorted(event.id for event in events)
    with db.read() as tx:
        sessions = session_store.list_sessions(tx, "o", since=LONG_AGO, limit=200).rows
    assert sum(session.events for session in sessions) == len(events)
    stored = [each for session in sessions for each in stored_events(db, "o", session.id)]
    assert sum(each.starts_session for each in stored) == len(sessions)
    assert sum(each.first_script for each in stored) == sum(session.scripts > 0 for session in sessions)


def test_a_batch_that_was_stored_before_the_fault_is_not_counted_twice(db: Database) -> None:
    """As after a lost answer to a commit: the recorder is told of events that are there already."""
    events: list[Event] = [make_event("o") for _ in range(3)]
    record_all(db, events)
    poison = make_event("o", duration_ms=2**70)
    recorder = record_all(db, [*events, poison])
    with db.read() as tx:
        (session,) = session_store.list_sessions(tx, "o", since=LONG_AGO).rows
    assert session.events == 3 + (poison.id in _ids(db))
    assert recorder.figures().buffered == 0


def _ids(db: Database) -> list[str]:
    with db.read() as tx:
        return list(tx.scalars(text("SELECT id FROM telemetry_events")))
