"""`ammeter insights` and `ammeter demo seed`: drafts of workflows, telemetry for other tools, a demo."""

from __future__ import annotations

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import text

from ammeter.base.clock import now, rfc3339, to_millis
from ammeter.cli.demo_seed.load import demo_shop, seed, seed_beside
from ammeter.cli.demo_seed.wishes import WISHES
from ammeter.cli.first import demo_owner
from ammeter.engines.db.database import Database
from ammeter.engines.search.index import SearchIndex
from ammeter.features.insights.cluster_store import list_clusters
from ammeter.features.insights.topic_model import Cluster
from ammeter.features.insights.topic_store import list_topics
from ammeter.features.orgs import service
from ammeter.features.telemetry import store
from ammeter.features.telemetry.model import Event
from ammeter.wiring import House
from tests import telling
from tests.cli.conftest import Cli, Place
from tests.features.insights.stories import bookshop, serve
from tests.household import make_settings, opened_house
from tests.server import running
from tests.telling import tell

LONG_AGO = now() - timedelta(days=4000)


def everything(db: Database, org_id: str) -> list[Any]:
    with db.read() as tx:
        return store.list_org_events(
            tx, org_id, since=LONG_AGO, until=now() + timedelta(days=1), limit=100_000
        )


def test_the_demo_is_seeded_once_and_later_only_what_is_missing_is_added(
    fresh_cli: Cli, database_url: str
) -> None:
    with fresh_cli.house() as house:
        assert demo_owner(house) is not None
    small = fresh_cli.json("demo", "seed", "--days", "4", "--sessions", "3")
    assert small["events"] > small["sessions"] > 4
    assert fresh_cli.json("demo", "seed", "--days", "4", "--sessions", "3")["events"] == 0
    with fresh_cli.house() as house:
        org_id = demo_shop(house.db).org_id
        first = {event.id for event in everything(house.db, org_id)}
        assert len(first) == small["events"]
    larger = fresh_cli.json("demo", "seed", "--days", "6", "--sessions", "5")
    with fresh_cli.house() as house:
        events = everything(house.db, org_id)
        with house.db.read() as tx:
            days = store.sums(tx, org_id, "day", since=LONG_AGO, until=now() + timedelta(days=1))
            org = service.get_org(tx, "demo")
            read = tx.scalar(text("SELECT count(*) FROM insight_sessions"))
    assert org.mcp_analytics
    assert read == small["sessions"] + larger["sessions"]
    assert first < {event.id for event in events}
    assert len(events) == small["events"] + larger["events"]
    assert sum(day["scripts"] for day in days) == sum(event.kind == "script" for event in events)
    assert max(event.at for event in events) < now()
    assert {event.outcome for event in events} >= {"ok", "miss"}


def test_a_seed_is_the_same_on_every_machine(tmp_path: Path) -> None:
    at = datetime.fromisoformat("2026-11-15T12:00:00+00:00")
    told = []
    for name in ("one", "two"):
        with opened_house(make_settings(f"sqlite:///{tmp_path}/{name}.db", tmp_path / name)) as house:
            demo_owner(house)
            seed(house.db, days=5, a_day=4, at=at)
            events = everything(house.db, demo_shop(house.db).org_id)
            told.append([(e.id, e.session_id, e.at, e.intent, e.query, e.outcome, e.code) for e in events])
    assert told[0] == told[1]
    assert len(told[0]) > 40


def test_a_demo_server_seeds_itself_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ammeter.demo_seed")
    with opened_house(make_settings(f"sqlite:///{tmp_path}/ammeter.db", tmp_path)) as house:
        demo_owner(house)
        shop = demo_shop(house.db)
        serve(house.db, house.blobs, shop.org_id, bookshop(), source_id=shop.source_id)
        asyncio.run(seed_beside(house))
        events = everything(house.db, shop.org_id)
        asyncio.run(seed_beside(house))
        assert len(everything(house.db, shop.org_id)) == len(events)
        since = now() - timedelta(days=90)
        with house.db.read() as tx:
            topics = list_topics(tx, shop.org_id, since=since, limit=200)
            clusters = list_clusters(tx, shop.org_id, since=since, limit=200)
    assert (events[-1].at - events[0].at).days >= 85
    assert [record.getMessage() for record in caplog.records] == [
        f"the demo has telemetry: {len(events)} events of three months"
    ]
    [program] = [topic for topic in topics if topic.kind == "recurring"]
    nights = [event for event in events if event.intent == "Nightly stock export" and event.at >= since]
    assert program.sessions == len({event.session_id for event in nights})
    assert (program.label, program.is_unmet_demand) == ("Nightly stock export", False)
    unmet = [topic for topic in topics if topic.is_unmet_demand]
    assert any("gift card" in intent.lower() for topic in unmet for intent in topic.example_intents)
    assert [topic.label for topic in topics].count("Order cancellations") == 1
    assert_every_gap_is_there(events, clusters, since)


def assert_every_gap_is_there(events: Sequence[Event], clusters: Sequence[Cluster], since: datetime) -> None:
    def about(word: str) -> list[Cluster]:
        found = [one for one in clusters if any(word in query for query in one.example_queries)]
        return sorted(found, key=lambda one: -one.searches)

    for word, kind, target in (
        ("turnover", "alias", "getSalesReport"),
        ("jacket", "alias", "getBookCover"),
        ("points", "documentation", "getCustomer"),
        ("gift card", "capability", None),
        ("ferry", "out_of_scope", None),
    ):
        largest = about(word)[0]
        assert largest.gap_kind == kind, word
        assert (largest.suggestion.overlay is None) == (target is None), word
        if target is not None:
            replay = largest.suggestion.replay
            assert largest.suggestion.nearest_operations[0].operation_id == target
            assert replay is not None
            assert (replay.hits_before, replay.hits_after > replay.searches / 2) == (0, True), word
    asked = [event for event in events if "turnover" in (event.query or "") and event.at >= since]
    assert sum(one.searches for one in about("turnover")) == len(asked) > 10


def test_what_the_demo_says_finds_nothing_finds_nothing_in_its_own_index() -> None:
    index = SearchIndex.load(bookshop().search)
    for wish in WISHES:
        assert [query for query in wish.missed if not index.search(query, 5).miss] == []


def test_without_a_demo_there_is_nothing_to_seed(cli: Cli) -> None:
    assert cli.refused("demo", "seed") == ["No such organization 'demo'."]


def test_telemetry_is_exported_as_it_is_stored(cli: Cli, shared_house: House, org: str) -> None:
    with shared_house.db.read() as tx:
        org_id = service.get_org(tx, org).id
    told = tell(shared_house.db, org_id, a_day=6)
    recent = sorted(
        (event for event in told.events if event.at >= now() - timedelta(days=30)),
        key=lambda event: (event.at, event.id),
    )
    done = cli("insights", "export", "--org", org, "--days", "30")
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert [row["id"] for row in rows] == [event.id for event in recent]
    assert len(rows) > 200, "more than a page"
    for row, event in zip(rows, recent, strict=True):
        assert (row["at"], row["kind"], row["query"], row["code"]) == (
            rfc3339(event.at),
            event.kind,
            event.query,
            event.code,
        )
        assert row["calls"] == [dict(call) for call in event.calls]
    audit = cli.json("admin", "audit", "--org", org)["rows"][0]
    assert (audit["action"], audit["details"]) == ("telemetry.export", {"format": "jsonl", "days": 30})


def test_telemetry_is_exported_as_otlp_logs(cli: Cli, shared_house: House, org: str) -> None:
    with shared_house.db.read() as tx:
        org_id = service.get_org(tx, org).id
    told = tell(shared_house.db, org_id, a_day=2)
    done = cli("insights", "export", "--org", org, "--format", "otlp", "--days", "365")
    records = []
    for line in done.out.splitlines():
        for resource in json.loads(line)["resourceLogs"]:
            names = {a["key"]: a["value"]["stringValue"] for a in resource["resource"]["attributes"]}
            assert (names["service.name"], names["ammeter.org.id"]) == ("ammeter", org_id)
            records += [record for scope in resource["scopeLogs"] for record in scope["logRecords"]]
    by_id = {event.id: event for event in told.events}
    assert len(records) == len(by_id)
    for record in records:
        facts = {each["key"]: each["value"] for each in record["attributes"]}
        event = by_id[facts["ammeter.event.id"]["stringValue"]]
        assert record["timeUnixNano"] == str(to_millis(event.at) * 10**6)
        assert record["severityNumber"] == (17 if event.outcome == "error" else 9)
        assert facts["ammeter.duration_ms"] == {"intValue": str(event.duration_ms)}
        if event.calls:
            called = [
                each["stringValue"] for each in facts["ammeter.upstream.operations"]["arrayValue"]["values"]
            ]
            assert called == [call["operationId"] for call in event.calls]
    kinds = Counter(record["eventName"] for record in records)
    assert kinds == Counter(f"ammeter.{event.kind}" for event in told.events)


@pytest.fixture
def demo(tmp_path: Path, at: Place, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server with the demo's telemetry, the command at its door, and what was stored."""
    url = f"sqlite:///{tmp_path}/ammeter.db"
    with opened_house(make_settings(url, tmp_path)) as house:
        owner = demo_owner(house)
        assert owner is not None
        org_id = demo_shop(house.db).org_id
        told = tell(house.db, org_id, a_day=8, source_ids=(demo_shop(house.db).source_id,))
    with running(tmp_path, "--role", "web", database_url=url) as server:
        monkeypatch.setenv("AMMETER_URL", server.url)
        monkeypatch.setenv("AMMETER_API_KEY", owner.token)
        yield at(url, tmp_path), told


def test_a_session_becomes_a_draft_that_the_server_takes(demo: Any, tmp_path: Path) -> None:
    cli, told = demo
    failed = next(
        events
        for events in told.sessions
        if "repeated_failure" in telling.signals(events) and any(event.intent for event in events)
    )
    session_id, file = failed[0].session_id, tmp_path / "draft.yaml"
    done = cli("insights", "draft", "--session", session_id, "--out", str(file))
    assert (done.code, f"ammeter workflow create {file}" in done.out) == (0, True)
    draft = yaml.safe_load(file.read_text())
    intent = next(event.intent for event in failed if event.intent)
    assert draft["testerPrompt"].startswith(intent)
    assert draft["mcpServerId"] == failed[0].source_id
    assert draft["metadata"] == {"draftedFrom": {"session": session_id}}
    texts = [criterion["criterionText"] for criterion in draft["criteria"]]
    message = next(event.error_message for event in failed if event.error_message)
    assert any(message in text for text in texts)
    made = cli("workflow", "create", str(file), "--json")
    assert made.code == 0, made.err
    assert json.loads(made.out)["workflow"]["name"] == draft["name"]
    again = cli("insights", "draft", "--session", session_id, "--out", str(file))
    assert again.code == 2
    assert "File exists" in again.unboxed


def test_a_draft_names_what_was_searched_in_vain(demo: Any) -> None:
    cli, told = demo
    given_up = next(events for events in told.sessions if telling.signals(events) == {"gave_up"})
    done = cli("insights", "draft", "--session", given_up[0].session_id)
    draft = yaml.safe_load(done.out)
    wanted = telling.failed_searches(given_up, over=True)
    told_of = " ".join(criterion["criterionText"] for criterion in draft["criteria"])
    assert wanted
    assert all(f"“{query}”" in told_of for query in wanted)


def test_a_draft_is_of_one_thing_that_is_there(demo: Any) -> None:
    cli, _ = demo
    for words in ((), ("--session", "x", "--topic", "y")):
        done = cli("insights", "draft", *words)
        assert (done.code, "give either --session or --topic" in done.unboxed) == (2, True)
    for option, unknown in (("--session", "nonsense"), ("--topic", "01a1dd54-7c8c-7f66-8000-000000000000")):
        assert cli.refused("insights", "draft", option, unknown)[0].startswith("No such ")
