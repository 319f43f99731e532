"""`/insights`: every answer is what a recount of the stored events gives."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from ammeter.base.clock import now, parse_rfc3339, rfc3339
from ammeter.base.ids import new_id
from ammeter.features.orgs import service
from ammeter.features.orgs.model import Role
from ammeter.features.telemetry import store
from ammeter.features.telemetry.model import Event
from tests import telling
from tests.household import OPERATOR, Household
from tests.telling import Told, tell

BOUNDS = (0, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 60_000)
RANGES = ("24h", "7d", "30d", "90d")


@pytest.fixture
def analyst(tenant: Household) -> Household:
    """An organization with MCP Analytics."""
    with tenant.house.db.write() as tx:
        org = service.set_features(tx, OPERATOR, tenant.org, mcp_analytics=True)
    return replace(tenant, org=org)


@pytest.fixture
def told(analyst: Household) -> Told:
    return tell(analyst.house.db, analyst.org.id)


def ask(household: Household, path: str, role: Role = Role.viewer, **query: Any) -> Any:
    answer = household.call("GET", path, role, params=query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def share(part: int, whole: int) -> Any:
    return pytest.approx(part / whole) if whole else None


@pytest.mark.parametrize("within", RANGES)
def test_the_overview_is_what_a_recount_gives(analyst: Household, told: Told, within: str) -> None:
    found = ask(analyst, "/insights/overview", range=within)
    until = parse_rfc3339(found["coverage"]["until"])
    since = telling.since_of(within, until)
    earlier = since - telling.SPANS[within]
    assert found["range"] == within
    assert found["coverage"]["since"] == rfc3339(since)
    assert found["coverage"]["previous_since"] == rfc3339(earlier)
    spans = [(since, until + timedelta(milliseconds=1)), (earlier, since)]
    for name, (start, end) in zip(("value", "previous"), spans, strict=True):
        events = [event for event in told.events if start <= event.at < end]
        begun = told.started(start, end)
        scripts, searches = telling.scripts(events), telling.searches(events)
        levels = [event.frustration for event in events if event.frustration is not None]
        firsts = [first for session in told.sessions if (first := _first_script(session)) and first in events]
        kpis = {kpi: figures[name] for kpi, figures in found["kpis"].items()}
        median = kpis.pop("median_script_ms")
        assert kpis == {
            "sessions": len(begun),
            "scripts": len(scripts),
            "searches": len(searches),
            "script_success_rate": share(sum(e.outcome == "ok" for e in scripts), len(scripts)),
            "search_miss_rate": share(sum(e.outcome == "miss" for e in searches), len(searches)),
            "first_script_success_rate": share(sum(e.outcome == "ok" for e in firsts), len(firsts)),
            "avg_frustration": share(sum(levels), len(levels)),
            "high_frustration_sessions": sum(telling.strained(session) for session in begun),
            "upstream_calls": sum(len(event.calls) for event in events),
        }
        _is_a_median(median, [event.duration_ms for event in scripts])
        if name == "value":
            sizes = {kpi: figures["n"] for kpi, figures in found["kpis"].items()}
            assert sizes["script_success_rate"] == sizes["median_script_ms"] == len(scripts)
            assert (sizes["avg_frustration"], sizes["first_script_success_rate"]) == (
                len(levels),
                len(firsts),
            )
            assert sizes["high_frustration_sessions"] == sizes["sessions"] == len(begun)
            coverage = found["coverage"]
            assert coverage["scripts_with_frustration"] == len(levels)
            assert coverage["sessions_with_intent"] == sum(any(e.intent for e in s) for s in begun)


@pytest.mark.parametrize("within", RANGES)
def test_trends_have_a_point_for_every_bucket(analyst: Household, told: Told, within: str) -> None:
    found = ask(analyst, "/insights/overview", range=within)
    until = parse_rfc3339(found["coverage"]["until"])
    width = timedelta(hours=1) if within in ("24h", "7d") else timedelta(days=1)
    assert found["trends"]["bucket"] == ("hour" if width < timedelta(days=1) else "day")
    at, points = telling.since_of(within, until), found["trends"]["points"]
    assert len(points) == telling.SPANS[within] / width + 1
    for point in points:
        events = [event for event in told.events if at <= event.at < at + width]
        levels = [event.frustration for event in events if event.frustration is not None]
        assert point == {
            "at": rfc3339(at),
            "sessions": len(told.started(at, at + width)),
            "scripts": len(telling.scripts(events)),
            "script_errors": sum(event.outcome == "error" for event in events),
            "searches": len(telling.searches(events)),
            "search_misses": sum(event.outcome == "miss" for event in events),
            "avg_frustration": share(sum(levels), len(levels)),
        }
        at += width
    assert sum(point["scripts"] for point in points) == found["kpis"]["scripts"]["value"]


@pytest.mark.parametrize("within", RANGES)
def test_views_hold_the_sessions_that_a_recount_finds(analyst: Household, told: Told, within: str) -> None:
    since = telling.since_of(within, now())
    heard_of, repeats = told.heard_of(since), telling.repeats(told)
    wanted = {
        "all": heard_of,
        "high_frustration": [events for events in heard_of if telling.strained(events)],
        "repeat": [events for events in heard_of if events[0].session_id in repeats],
        "flagged": [events for events in heard_of if any(event.flags for event in events)],
    }
    assert wanted["all"]
    for view, sessions in wanted.items():
        rows = ask(analyst, "/insights/sessions", range=within, view=view, limit=200)["rows"]
        assert [row["id"] for row in rows] == [events[0].session_id for events in sessions][:200], view


def test_a_session_is_told_as_it_was(analyst: Household, told: Told) -> None:
    rows = ask(analyst, "/insights/sessions", range="90d", limit=200)["rows"]
    by_id = {events[0].session_id: events for events in told.sessions}
    repeats = telling.repeats(told)
    assert len(rows) > 100
    for row in rows:
        events = by_id[row["id"]]
        levels = [event.frustration for event in events if event.frustration is not None]
        first = events[0]
        assert row == {
            "id": first.session_id,
            "session_source": first.session_source,
            "source_id": first.source_id,
            "environment": "production",
            "client": {"name": first.client_name, "version": first.client_version},
            "started_at": rfc3339(first.at),
            "last_event_at": rfc3339(events[-1].at),
            "intents": list(dict.fromkeys(event.intent for event in events if event.intent)),
            "scripts": len(telling.scripts(events)),
            "searches": len(telling.searches(events)),
            "search_misses": sum(event.outcome == "miss" for event in events),
            "errors": sum(event.outcome == "error" for event in events),
            "avg_frustration": share(sum(levels), len(levels)),
            "max_frustration": max(levels, default=None),
            "signals": [s for s in SIGNALS if s in telling.signals(events)],
            "flagged": any(event.flags for event in events),
            "flagged_by_person": False,
            "flags": sorted({flag for event in events for flag in event.flags}),
            "repeat": first.session_id in repeats,
        }


SIGNALS = ("searched_again", "repeated_failure", "gave_up")


def test_sessions_are_found_by_intent_and_by_failed_search(analyst: Household, told: Told) -> None:
    over = now() - timedelta(minutes=30)
    heard_of = told.heard_of(telling.since_of("90d", now()))
    intents = Counter(event.intent for events in heard_of for event in events if event.intent)
    for intent, _ in intents.most_common(3):
        rows = ask(analyst, "/insights/sessions", range="90d", limit=200, intent=f" {intent.upper()} ")[
            "rows"
        ]
        wanted = [events[0].session_id for events in heard_of if intent in {e.intent for e in events}]
        assert [row["id"] for row in rows] == wanted[:200]
    failed = {
        events[0].session_id: telling.failed_searches(events, over=events[-1].at < over)
        for events in heard_of
    }
    queries = Counter(query for some in failed.values() for query in some)
    unused = [query for query in queries if query in ("refund order", "list books", "tracking number")]
    for query in {*(query for query, _ in queries.most_common(4)), *unused}:
        rows = ask(analyst, "/insights/sessions", range="90d", limit=200, search_miss=query)["rows"]
        wanted = [events[0].session_id for events in heard_of if query in failed[events[0].session_id]]
        assert [row["id"] for row in rows] == wanted[:200], query
    assert unused
    other_case = queries.most_common(1)[0][0].upper()
    assert ask(analyst, "/insights/sessions", range="90d", intent="never stated")["rows"] == []
    assert ask(analyst, "/insights/sessions", range="90d", search_miss=other_case)["rows"] == []


def test_a_trace_tells_everything_in_order(analyst: Household, told: Told) -> None:
    busiest = max(told.heard_of(telling.since_of("90d", now())), key=len)
    found = ask(analyst, f"/insights/sessions/{busiest[0].session_id}/trace")
    assert [row["id"] for row in found["events"]] == [event.id for event in busiest]
    assert found["next_after"] is None
    tools = {"search": "search_sdk", "script": "execute_script"}
    acted = [event for event in busiest if event.kind != "initialize"]
    assert [(row["event_id"], row["tool_name"]) for row in found["tool_calls"]] == [
        (event.id, tools[event.kind]) for event in acted
    ]
    assert [[c["operation_id"] for c in row["upstream_calls"]] for row in found["tool_calls"]] == [
        [c["operationId"] for c in event.calls] for event in acted
    ]
    assert [row["query"] for row in found["searches"]] == [e.query for e in telling.searches(busiest)]
    failed = telling.failed_searches(busiest, over=True)
    assert {row["query"] for row in found["searches"] if row["failed"]} == failed
    assert [row["text"] for row in found["logs"]] == [line["text"] for e in busiest for line in e.logs]
    for row, event in zip(found["events"], busiest, strict=True):
        assert (row["code"], row["result"], row["intent"], row["frustration"], row["tags"]) == (
            event.code,
            event.result,
            event.intent,
            event.frustration,
            dict(event.tags),
        )
    classified = [row for row in found["classifications"] if row["kind"] == "signal"]
    assert {row["label"] for row in classified} == telling.signals(busiest)
    stated = [row["event_id"] for row in found["classifications"] if row["kind"] == "frustration"]
    assert stated == [event.id for event in busiest if event.frustration is not None]


def test_a_very_long_session_is_told_in_parts(analyst: Household) -> None:
    session_id, source_id = new_id(), new_id()
    events = [
        Event(
            id=new_id(),
            org_id=analyst.org.id,
            source_id=source_id,
            environment="production",
            key_id="k",
            kind="search",
            at=now(),
            session_id=session_id,
            session_source="header",
            outcome="ok",
            duration_ms=1,
            query=str(number),
        )
        for number in range(1_205)
    ]
    with analyst.house.db.write() as tx:
        store.insert_batch(tx, events)
    path, seen, after = f"/insights/sessions/{session_id}/trace", list[str](), None
    sizes = []
    while True:
        part = ask(analyst, path, **({"after": after} if after else {}))
        sizes.append(len(part["events"]))
        seen += [row["query"] for row in part["events"]]
        after = part["next_after"]
        if after is None:
            break
    assert sizes == [1_000, 205]
    assert seen == [str(number) for number in range(1_205)]


def test_a_person_flags_a_session_and_takes_the_flag_back(analyst: Household, told: Told) -> None:
    plain = next(s for s in reversed(told.sessions) if not any(event.flags for event in s))
    ruled = next(s for s in reversed(told.sessions) if any(event.flags for event in s))
    for events, by_rule in ((plain, False), (ruled, True)):
        path = f"/insights/sessions/{events[0].session_id}"
        for flagged in (True, False):
            answer = analyst.call("PATCH", path, Role.editor, json={"flagged": flagged})
            assert answer.status_code == 200
            row = answer.json()
            assert (row["flagged"], row["flagged_by_person"]) == (flagged or by_rule, flagged)
            rows = ask(analyst, "/insights/sessions", range="90d", view="flagged", limit=200)["rows"]
            assert (events[0].session_id in {each["id"] for each in rows}) is (flagged or by_rule)
    actions = [row["action"] for row in analyst.call("GET", "/org/audit").json()["rows"][:4]]
    assert actions == ["session.unflag", "session.flag"] * 2


def test_a_live_session_that_fails_and_recovers_is_told_as_it_goes(analyst: Household) -> None:
    session_id, source_id = new_id(), new_id()

    def record(**facts: Any) -> None:
        given: dict[str, Any] = {
            "id": new_id(),
            "org_id": analyst.org.id,
            "source_id": source_id,
            "environment": "production",
            "key_id": "k",
            "at": now(),
            "session_id": session_id,
            "session_source": "header",
            "duration_ms": 1,
        }
        with analyst.house.db.write() as tx:
            store.insert_batch(tx, [Event(**given | facts)])

    def told_signals() -> list[str]:
        [row] = ask(analyst, "/insights/sessions")["rows"]
        return list(row["signals"])

    def misses(query: str) -> int:
        return len(ask(analyst, "/insights/sessions", search_miss=query)["rows"])

    record(kind="search", outcome="miss", query="gift card")
    assert (told_signals(), misses("gift card")) == (["gave_up"], 1)
    record(kind="search", outcome="ok", query="orders", result_operations=["listOrders"])
    assert (told_signals(), misses("orders")) == (["gave_up"], 0)
    record(kind="script", outcome="error", error_class="E", error_message="no")
    assert told_signals() == []
    record(kind="search", outcome="ok", query="books", result_operations=["listBooks"])
    assert misses("orders") == 1
    call = {"operationId": "listOrders", "outcome": "ok", "status": 200}
    record(kind="script", outcome="ok", calls=[call])
    assert (misses("orders"), misses("gift card"), misses("books")) == (0, 1, 0)
    record(kind="script", outcome="error", error_class="E", error_message="no")
    assert told_signals() == ["repeated_failure"]


def _first_script(events: Any) -> Event | None:
    return next(iter(telling.scripts(events)), None)


def _is_a_median(value: float | None, durations: list[int]) -> None:
    """In the bucket in which the middle one lies."""
    if not durations:
        assert value is None
        return
    assert value is not None
    low = max(bound for bound in BOUNDS if bound <= value)
    above = [bound for bound in BOUNDS if bound >= value]
    assert 2 * sum(duration <= low for duration in durations) <= len(durations) or low == value
    if above:
        assert 2 * sum(duration <= min(above) for duration in durations) >= len(durations)


def test_windows_begin_on_the_hour_and_at_midnight() -> None:
    at = datetime.fromisoformat("2026-03-05T10:30:15.250+00:00")
    assert telling.since_of("24h", at).isoformat() == "2026-03-04T10:00:00+00:00"
    assert telling.since_of("7d", at).isoformat() == "2026-02-26T10:00:00+00:00"
    assert telling.since_of("30d", at).isoformat() == "2026-02-03T00:00:00+00:00"
    assert telling.since_of("90d", at).isoformat() == "2025-12-05T00:00:00+00:00"
