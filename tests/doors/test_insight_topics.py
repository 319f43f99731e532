"""`/insights/topics` and `/insights/searches` over REST: lists, details, a person's word, who sees what."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.features.insights.refresh import refresh
from ammeter.features.orgs import keys, service
from ammeter.features.orgs.model import Role
from tests import telling
from tests.household import OPERATOR, Household, refusal
from tests.telling import Told, tell


@pytest.fixture
def analyst(tenant: Household) -> Household:
    with tenant.house.db.write() as tx:
        org = service.set_features(tx, OPERATOR, tenant.org, mcp_analytics=True)
    return replace(tenant, org=org)


@pytest.fixture
def told(analyst: Household) -> Told:
    """Sessions of two sources, with topics and clusters made of them."""
    made = tell(analyst.house.db, analyst.org.id, a_day=5, source_ids=(new_id(), new_id()))
    refresh(analyst.house.db, analyst.house.blobs, analyst.org.id)
    return made


def rows(household: Household, path: str, role: Role = Role.viewer, **query: Any) -> list[Any]:
    answer = household.call("GET", path, role, params={"range": "90d", "limit": 200, **query})
    assert answer.status_code == 200, answer.text
    return list(answer.json()["rows"])


def test_a_topic_counts_the_sessions_whose_traces_name_it(analyst: Household, told: Told) -> None:
    counts: Counter[str] = Counter()
    for events in told.heard_of(telling.since_of("90d", now())):
        path = f"/insights/sessions/{events[0].session_id}/trace"
        classified = analyst.call("GET", path).json()["classifications"]
        counts.update(row["label"] for row in classified if row["kind"] == "topic")
    topics = rows(analyst, "/insights/topics")
    assert len(topics) > 3
    assert {topic["id"]: topic["sessions"] for topic in topics} == dict(counts)
    assert [topic["sessions"] for topic in topics] == sorted(counts.values(), reverse=True)
    felt = [t["avg_frustration"] for t in rows(analyst, "/insights/topics", sort="frustration")]
    known = [level for level in felt if level is not None]
    assert known == sorted(known, reverse=True)
    top = analyst.call("GET", "/insights/overview", params={"range": "90d"}).json()["top_topics"]
    assert [topic["id"] for topic in top] == [topic["id"] for topic in topics[:5]]


def test_a_topic_is_told_with_sessions_and_failed_searches(analyst: Household, told: Told) -> None:
    by_id = {events[0].session_id: events for events in told.sessions}
    for row in rows(analyst, "/insights/topics"):
        topic = analyst.call("GET", f"/insights/topics/{row['id']}", params={"range": "90d"}).json()
        assert {name: topic[name] for name in row} == row
        assert 0 < len(topic["sample_sessions"]) <= 10
        for session in topic["sample_sessions"]:
            intents = {event.intent for event in by_id[session["id"]] if event.intent}
            assert set(session["intents"]) == intents
        assert isinstance(topic["lineage"], list)


def test_clusters_hold_the_searches_that_failed(analyst: Household, told: Told) -> None:
    failed: Counter[str] = Counter()
    for events in told.heard_of(telling.since_of("90d", now())):
        failed.update(telling.failed_searches(events, over=True))
    clusters = rows(analyst, "/insights/searches")
    assert sum(cluster["searches"] for cluster in clusters) >= sum(failed.values())
    for cluster in clusters:
        found = analyst.call("GET", f"/insights/searches/{cluster['id']}", params={"range": "90d"}).json()
        assert {name: found[name] for name in cluster} == cluster
        assert set(cluster["example_queries"]) <= set(failed)
        assert len(found["sample_sessions"]) == min(10, cluster["sessions"])


def test_a_persons_word_stays_after_the_next_refresh(analyst: Household, told: Told) -> None:
    topic, other, *_ = rows(analyst, "/insights/topics")
    path = f"/insights/topics/{topic['id']}"
    said = {"label": "Cheap books", "is_unmet_demand": not topic["is_unmet_demand"]}
    assert refusal(analyst.call("PATCH", path, Role.viewer, json=said)) == (403, "insufficient_role")
    answer = analyst.call("PATCH", path, Role.editor, json=said)
    assert answer.status_code == 200, answer.text
    assert {name: answer.json()[name] for name in said} == said
    archived = analyst.call("PATCH", f"/insights/topics/{other['id']}", Role.editor, json={"archived": True})
    assert archived.json()["archived"] is True
    refresh(analyst.house.db, analyst.house.blobs, analyst.org.id)
    listed = {row["id"]: row for row in rows(analyst, "/insights/topics")}
    assert {name: listed[topic["id"]][name] for name in said} == said
    assert other["id"] not in listed
    back = analyst.call("PATCH", f"/insights/topics/{other['id']}", Role.editor, json={"archived": False})
    assert back.json()["archived"] is False
    assert analyst.call("PATCH", path, Role.editor, json={}).json()["label"] == "Cheap books"
    audit = analyst.call("GET", "/org/audit").json()["rows"]
    assert [row["action"] for row in audit[:3]] == ["topic.change"] * 3


def test_topics_and_clusters_of_other_sources_are_not_shown(analyst: Household, told: Told) -> None:
    mine_alone = told.sessions[0][0].source_id
    with analyst.house.db.write() as tx:
        _, token = keys.mint_key(
            tx, OPERATOR, analyst.org.id, name="few", role=Role.editor, source_ids=[mine_alone]
        )
    few = replace(analyst, tokens={**analyst.tokens, Role.editor: token})
    mine = {e[0].session_id for e in told.sessions if e[0].source_id == mine_alone}
    everything = {row["id"]: row["sessions"] for row in rows(analyst, "/insights/topics")}
    some = {row["id"]: row["sessions"] for row in rows(few, "/insights/topics", Role.editor)}
    assert 0 < sum(some.values()) < sum(everything.values())
    for topic_id in some:
        topic = few.call("GET", f"/insights/topics/{topic_id}", Role.editor, params={"range": "90d"}).json()
        assert {session["id"] for session in topic["sample_sessions"]} <= mine
    for cluster in rows(analyst, "/insights/searches"):
        answer = few.call("GET", f"/insights/searches/{cluster['id']}", Role.editor)
        if cluster["source_id"] == mine_alone:
            assert answer.status_code == 200
        else:
            assert refusal(answer) == (404, "not_found")


def test_topics_of_another_organization_are_not_found(
    analyst: Household, told: Told, neighbour: Household
) -> None:
    with neighbour.house.db.write() as tx:
        service.set_features(tx, OPERATOR, neighbour.org, mcp_analytics=True)
    topic, cluster = rows(analyst, "/insights/topics")[0], rows(analyst, "/insights/searches")[0]
    path = f"/insights/topics/{topic['id']}"
    assert refusal(neighbour.call("GET", path)) == (404, "not_found")
    assert refusal(neighbour.call("PATCH", path, json={"label": "mine"})) == (404, "not_found")
    assert refusal(neighbour.call("GET", f"/insights/searches/{cluster['id']}")) == (404, "not_found")
    assert rows(neighbour, "/insights/topics") == rows(neighbour, "/insights/searches") == []
