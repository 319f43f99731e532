"""Sums are what a recount of the stored events gives; what is read of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select

from ammeter.base.clock import now
from ammeter.engines.db.database import Database
from ammeter.engines.db.tables import DURATION_COLUMNS, telemetry_sessions
from ammeter.features.bundles.model import RecentUse
from ammeter.features.orgs.model import Organization
from ammeter.features.telemetry import session_store, store
from ammeter.features.telemetry.model import StoredEvent, Use
from ammeter.features.telemetry.tally import (
    DURATION_BOUNDS_MS,
    DURATIONS,
    ROLL_UP_COUNTS,
    SESSION_COUNTS,
    Bucket,
    bucket_start,
    duration_column,
    median_ms,
)
from tests.features.telemetry.parts import (
    LONG_AGO,
    call,
    make_event,
    random_events,
    record_all,
    stored_events,
)

FAR = now() + timedelta(days=400)


@pytest.fixture
def stored(shared_db: Database, org: Organization) -> list[StoredEvent]:
    """Random events of the organization, recorded in several batches."""
    for seed in range(3):
        record_all(shared_db, random_events(org.id, 200, seed), batch=30)
    with shared_db.read() as tx:
        sessions = session_store.list_sessions(tx, org.id, since=LONG_AGO, limit=200).rows
    found = [each for session in sessions for each in stored_events(shared_db, org.id, session.id)]
    assert len(found) == 600
    return found


@pytest.mark.parametrize("bucket", ["hour", "day"])
def test_roll_ups_are_what_a_recount_gives(
    shared_db: Database, org: Organization, stored: list[StoredEvent], bucket: Bucket
) -> None:
    recount: dict[datetime, Counter[str]] = {}
    with shared_db.read() as tx:
        ids = {each.event.session_id for each in stored}
        sessions = {one.id: one for one in session_store.find_sessions(tx, org.id, sorted(ids))}
    for each in stored:
        event = each.event
        session = sessions[event.session_id]
        hour = event.at.hour if bucket == "hour" else 0
        at = event.at.replace(hour=hour, minute=0, second=0, microsecond=0)
        counts = recount.setdefault(at, Counter())
        ran = event.outcome not in ("refused", "busy")
        script, search = ran and event.kind == "script", ran and event.kind == "search"
        counts["sessions"] += each.starts_session
        counts["strained_sessions"] += each.starts_session and session.strained
        counts["sessions_with_intent"] += each.starts_session and bool(session.intents)
        counts["refused"] += not ran
        counts["scripts"] += script
        counts["script_errors"] += script and event.outcome == "error"
        counts["searches"] += search
        counts["search_misses"] += search and event.outcome == "miss"
        counts["calls"] += len(event.calls)
        counts["frustration_sum"] += event.frustration or 0
        counts["frustration_count"] += event.frustration is not None
        counts["first_scripts"] += each.first_script
        counts["first_script_successes"] += each.first_script and event.outcome == "ok"
        if script:
            fitting = [bound for bound in DURATION_BOUNDS_MS if event.duration_ms <= bound]
            counts[f"ms_{fitting[0]}" if fitting else "ms_more"] += 1
    with shared_db.read() as tx:
        rows = store.sums(tx, org.id, bucket, since=LONG_AGO, until=FAR)
    assert rows == [
        {"at": at, **{name: recount[at][name] for name in ROLL_UP_COUNTS}} for at in sorted(recount)
    ]


def test_a_session_counts_as_strained_while_it_is(shared_db: Database, org: Organization) -> None:
    """In the bucket of its first event, whenever the later ones come."""
    begun = now() - timedelta(hours=5)

    def told(hours: int, **facts: Any) -> tuple[int, int]:
        at = begun + timedelta(hours=hours)
        record_all(shared_db, [make_event(org.id, session_id=f"strained {org.id}", at=at, **facts)])
        with shared_db.read() as tx:
            rows = store.sums(tx, org.id, "hour", since=LONG_AGO, until=FAR)
        assert all(row["strained_sessions"] == row["sessions_with_intent"] == 0 for row in rows[1:])
        return rows[0]["strained_sessions"], rows[0]["sessions_with_intent"]

    assert told(0, kind="search", outcome="miss", query="gift card") == (1, 0)
    assert told(1, kind="script", intent="Sell a gift card") == (0, 1)
    assert told(2, kind="script", intent="Sell a gift card", frustration=9) == (1, 1)
    assert told(3, kind="script", intent="Sell another") == (1, 1)


def test_sessions_are_what_a_recount_gives(
    shared_db: Database, org: Organization, stored: list[StoredEvent]
) -> None:
    with shared_db.read() as tx:
        rows = tx.execute(select(telemetry_sessions).where(telemetry_sessions.c.org_id == org.id)).mappings()
        sessions = {row["id"]: row for row in rows}
    assert sessions.keys() == {each.event.session_id for each in stored}
    for session_id, session in sessions.items():
        events = [each.event for each in stored if each.event.session_id == session_id]
        ran = [event for event in events if event.outcome not in ("refused", "busy")]
        levels = [event.frustration for event in events if event.frustration is not None]
        expected = {
            "events": len(events),
            "scripts": sum(event.kind == "script" for event in ran),
            "script_errors": sum(event.kind == "script" and event.outcome == "error" for event in ran),
            "searches": sum(event.kind == "search" for event in ran),
            "search_misses": sum(event.outcome == "miss" for event in ran),
            "errors": sum(event.outcome == "error" for event in events),
            "calls": sum(len(event.calls) for event in events),
            "frustration_sum": sum(levels),
            "frustration_count": len(levels),
            "blocked_egress": sum("blocked_egress" in event.flags for event in events),
            "secret_stripped": 0,
            "unknown_outcome_write": 0,
        }
        assert {name: session[name] for name in SESSION_COUNTS} == expected
        assert session["frustration_max"] == max(levels, default=None)
        assert (session["started_at"], session["last_event_at"]) == (
            min(event.at for event in events),
            max(event.at for event in events),
        )


def test_use_of_operations_is_what_a_recount_gives(
    shared_db: Database, org: Organization, stored: list[StoredEvent]
) -> None:
    names = ["op0", "op1", "op2", "op3", "never"]
    for source_id, environment in {(each.event.source_id, each.event.environment) for each in stored}:
        events = [
            each.event
            for each in stored
            if (each.event.source_id, each.event.environment) == (source_id, environment)
        ]
        with shared_db.read() as tx:
            found = store.recent_use(tx, source_id, environment, names)
        for name in names:
            users = [event for event in events if any(c["operationId"] == name for c in event.calls)]
            calls = [c for event in users for c in event.calls if c["operationId"] == name]
            use = found[name]
            errors = sum(c["outcome"] != "ok" for c in calls)
            assert (use.scripts, use.calls, use.errors) == (len(users), len(calls), errors)


def test_a_session_is_one_user_of_an_operation_however_often_and_long(
    shared_db: Database, org: Organization
) -> None:
    at = now()
    days = [at - timedelta(days=2), at - timedelta(days=1), at]
    events = [
        make_event(org.id, session_id=f"{org.id} {number}", at=day, calls=[call("a"), call("a", "error")])
        for day in days
        for number in range(2)
    ]
    old = make_event(org.id, session_id=f"{org.id} old", at=at - timedelta(days=40), calls=[call("a")])
    for event in [old, *events]:
        record_all(shared_db, [event])
    with shared_db.read() as tx:
        found = store.recent_use(tx, events[0].source_id, "production", ["a", "b"])
        known: RecentUse = store.recent_use
        elsewhere = known(tx, source_id=events[0].source_id, environment="staging", operation_ids=["a"])
    assert found == {"a": Use(scripts=6, sessions=2, calls=12, errors=6), "b": Use()}
    assert elsewhere == {"a": Use()}


def test_sums_can_be_asked_for_by_source_environment_and_range(
    shared_db: Database, org: Organization
) -> None:
    at = datetime(2026, 3, 5, 10, 30, tzinfo=UTC)
    one = make_event(org.id, at=at)
    record_all(
        shared_db,
        [
            one,
            replace(one, id=f"{one.id}2", source_id="other", session_id=f"{org.id} 2"),
            replace(one, id=f"{one.id}3", environment="staging", session_id=f"{org.id} 3"),
            replace(one, id=f"{one.id}4", at=at + timedelta(hours=1), session_id=f"{org.id} 4"),
        ],
    )

    def scripts(**chosen: object) -> list[int]:
        given = {"since": at, "until": FAR} | chosen
        with shared_db.read() as tx:
            return [row["scripts"] for row in store.sums(tx, org.id, "hour", **given)]  # type: ignore[arg-type]

    assert scripts() == [3, 1]
    assert scripts(source_ids=["other"]) == [1]
    assert scripts(source_ids=[]) == []
    assert scripts(environment="production") == [2, 1]
    assert scripts(until=at + timedelta(minutes=1)) == [3]
    assert scripts(since=at + timedelta(hours=1)) == [1]


def test_sessions_are_listed_page_by_page_the_latest_first(shared_db: Database, org: Organization) -> None:
    at = now() - timedelta(days=1)
    events = [
        make_event(
            org.id,
            session_id=f"{org.id} {number}",
            at=at + timedelta(minutes=number // 2),
            flags=("unknown_outcome_write",) if number == 3 else (),
        )
        for number in range(7)
    ]
    record_all(shared_db, events)
    seen, after = list[str](), None
    with shared_db.read() as tx:
        while True:
            page = session_store.list_sessions(tx, org.id, since=at, after=after, limit=2)
            seen += [session.id for session in page.rows]
            after = page.next_after
            if after is None:
                break
        flagged = session_store.list_sessions(tx, org.id, since=at, flagged=True).rows
        later = session_store.list_sessions(tx, org.id, since=at + timedelta(minutes=3)).rows
        foreign = session_store.list_sessions(tx, "another", since=at).rows
    assert seen == [f"{org.id} {number}" for number in (6, 5, 4, 3, 2, 1, 0)]
    assert [session.id for session in flagged] == [f"{org.id} 3"]
    assert (flagged[0].flags, flagged[0].flagged) == (("unknown_outcome_write",), True)
    assert [session.id for session in later] == [f"{org.id} 6"]
    assert foreign == []


def test_a_person_flags_a_session_and_takes_the_flag_back(shared_db: Database, org: Organization) -> None:
    event = make_event(org.id)
    record_all(shared_db, [event])
    for flagged in (True, False):
        with shared_db.write() as tx:
            assert session_store.flag_session(tx, org.id, event.session_id, flagged=flagged)
            assert not session_store.flag_session(tx, "another", event.session_id, flagged=flagged)
        with shared_db.read() as tx:
            session = session_store.find_session(tx, org.id, event.session_id)
            assert session_store.find_session(tx, "another", event.session_id) is None
        assert session is not None
        assert session.flagged is flagged


def test_events_of_a_session_are_read_page_by_page(shared_db: Database, org: Organization) -> None:
    events = [make_event(org.id, query=str(number)) for number in range(5)]
    record_all(shared_db, events)
    with shared_db.read() as tx:
        first = store.list_events(tx, org.id, events[0].session_id, limit=3)
        rest = store.list_events(tx, org.id, events[0].session_id, after=first[-1].event.id)
        foreign = store.list_events(tx, "another", events[0].session_id)
    assert [each.event.id for each in [*first, *rest]] == [event.id for event in events]
    assert foreign == []


def test_the_table_has_a_column_for_each_duration() -> None:
    assert DURATIONS == DURATION_COLUMNS
    assert [duration_column(ms) for ms in (0, 5, 6, 60_000, 60_001)] == [
        "ms_5",
        "ms_5",
        "ms_10",
        "ms_60000",
        "ms_more",
    ]


@pytest.mark.parametrize(
    ("durations", "median"),
    [([], None), ([7], 7.5), ([1, 1, 1000, 1000, 1000], 583), ([90_000], 60_000), ([1] * 10, 2.5)],
)
def test_a_median_is_estimated_within_its_bucket(durations: list[int], median: float | None) -> None:
    counts = Counter(duration_column(ms) for ms in durations)
    found = median_ms([counts[name] for name in DURATIONS])
    assert found == (None if median is None else pytest.approx(median, abs=1))


def test_a_bucket_begins_at_the_full_hour_and_at_midnight() -> None:
    at = datetime(2026, 2, 28, 23, 59, 59, 999_000, tzinfo=UTC)
    assert bucket_start(at, "hour") == datetime(2026, 2, 28, 23, tzinfo=UTC)
    assert bucket_start(at, "day") == datetime(2026, 2, 28, tzinfo=UTC)
