"""From stored events to topics and clusters, and what people say of them, on both databases."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest

from ammeter.base.clock import now
from ammeter.base.errors import NotFound
from ammeter.engines.blobs.local import LocalBlobs
from ammeter.engines.search.index import SearchIndex
from ammeter.features.insights import cluster_store, refresh_store, topic_store
from ammeter.features.insights.refresh import refresh
from ammeter.features.insights.replay import count_hits
from ammeter.features.insights.topic_model import Topic
from tests.features.insights.stories import DAY, Teller, bookshop, script, search, serve

REFUNDS = (
    "Refund order 4411",
    "refund order 52 for the customer",
    "Give the customer a refund for order 7",
    "issue a refund for an order",
    "Refund a customer order",
)
STOCK = (
    "Check the stock of a book",
    "check stock of book 12",
    "how many copies of the book are in stock",
    "look up stock for a book",
)
SINCE = now() - 7 * DAY


def topics(told: Teller, **how: object) -> list[Topic]:
    with told.db.read() as tx:
        return topic_store.list_topics(tx, told.org_id, since=SINCE, **how)  # type: ignore[arg-type]


def test_intents_become_topics_with_their_figures(told: Teller, blobs: LocalBlobs) -> None:
    for intent in REFUNDS:
        told.session(script(intent, "getOrder", "cancelOrder", frustration=6))
    told.wants(*STOCK)
    told.wants("translate a poem")
    done = refresh(told.db, blobs, told.org_id)
    assert (done.sessions, done.new_topics) == (10, 2)

    refunds, stock = topics(told)
    assert "refund" in refunds.label.lower()
    assert (refunds.sessions, refunds.scripts, refunds.avg_frustration) == (5, 5, 6.0)
    assert (refunds.is_unmet_demand, refunds.archived, refunds.kind) == (False, False, "demand")
    assert set(refunds.example_intents) == set(REFUNDS)
    assert {one.operation_id: one.scripts for one in refunds.top_operations} == {
        "getOrder": 5,
        "cancelOrder": 5,
    }
    assert refunds.trend == 5.0
    assert refunds.first_seen < refunds.last_seen
    assert (stock.sessions, stock.avg_frustration) == (4, None)
    with told.db.read() as tx:
        coverage = topic_store.topic_coverage(tx, told.org_id, since=SINCE)
        assert (coverage.intents, coverage.in_topics, coverage.long_tail, coverage.topics) == (10, 9, 1, 2)
        assert len(topic_store.list_topic_sessions(tx, told.org_id, refunds.id, since=SINCE)) == 5
        demand = topic_store.operation_demand(tx, told.org_id, since=SINCE)
    assert [(one.operation_id, one.sessions, one.topics) for one in demand] == [
        ("cancelOrder", 5, ((refunds.id, 5),)),
        ("getOrder", 5, ((refunds.id, 5),)),
    ]


def test_topics_are_sorted_and_limited(told: Teller, blobs: LocalBlobs) -> None:
    told.wants(*REFUNDS, frustration=1)
    told.wants(*STOCK, frustration=9)
    refresh(told.db, blobs, told.org_id)
    by_volume, by_frustration = topics(told), topics(told, sort="frustration")
    assert [one.sessions for one in by_volume] == [5, 4]
    assert by_frustration == by_volume[::-1]
    assert topics(told, sort="trend") == by_volume
    assert topics(told, limit=1) == by_volume[:1]


def test_the_range_before_is_what_the_trend_is_told_against(told: Teller, blobs: LocalBlobs) -> None:
    told.at = now() - 9 * DAY
    told.wants(*REFUNDS[:4])
    told.at = now() - DAY
    told.wants(*REFUNDS[:2])
    refresh(told.db, blobs, told.org_id)
    assert [(one.sessions, one.trend) for one in topics(told)] == [(2, -0.5)]


def test_a_persons_word_stands_through_ten_refreshes_with_new_data(told: Teller, blobs: LocalBlobs) -> None:
    told.wants(*REFUNDS, *STOCK)
    refresh(told.db, blobs, told.org_id)
    first = {one.id: one for one in topics(told)}
    refunds, stock = topics(told)
    with told.db.write() as tx:
        assert topic_store.patch_topic(tx, told.org_id, refunds.id, label="Refunds", is_unmet_demand=True)
        assert topic_store.patch_topic(tx, told.org_id, stock.id, archived=True)
        assert topic_store.patch_topic(tx, told.org_id, stock.id)
        assert not topic_store.patch_topic(tx, told.org_id, "no such topic", archived=True)
        assert not topic_store.patch_topic(tx, "another organization", stock.id, archived=False)
    for number in range(10):
        told.wants(*(f"{intent} again" for intent in REFUNDS[: 1 + number % 3]), "check the stock of book x")
        told.wants(*[f"export report {number} of sales as csv"] * (number % 4))
        refresh(told.db, blobs, told.org_id)
    later = {one.id: one for one in topics(told, archived=True)}
    assert set(first) < set(later)
    assert (later[refunds.id].label, later[refunds.id].is_unmet_demand) == ("Refunds", True)
    assert (later[stock.id].label, later[stock.id].archived) == (stock.label, True)
    assert later[refunds.id].sessions > first[refunds.id].sessions
    assert stock.id not in {one.id for one in topics(told)}


def test_what_has_waited_a_week_joins_the_topic_of_its_neighbours(told: Teller, blobs: LocalBlobs) -> None:
    told.at = now() - 3 * DAY
    told.wants(*REFUNDS, "Reverse the charge of an order", "translate a poem")
    refresh(told.db, blobs, told.org_id)
    [refunds] = topics(told)
    assert refunds.sessions == 5
    before = centres(told)

    told.wants("Refund order 12")
    refresh(told.db, blobs, told.org_id, at=now() + 3 * DAY)
    assert [(one.id, one.sessions) for one in topics(told)] == [(refunds.id, 6)], "too early"

    told.wants("Refund order 13")
    refresh(told.db, blobs, told.org_id, at=now() + 5 * DAY)
    [later] = topics(told)
    assert (later.id, later.sessions, later.label) == (refunds.id, 8, refunds.label)
    assert "Reverse the charge of an order" in later.example_intents
    assert centres(told) == before, "it joins without moving the centre"
    with told.db.read() as tx:
        assert topic_store.topic_coverage(tx, told.org_id, since=SINCE).long_tail == 1


def centres(told: Teller) -> list[tuple[str, bytes, float]]:
    with told.db.read() as tx:
        rows = refresh_store.open_topics(tx, told.org_id)
    return [(row["id"], bytes(row["centre"]), row["radius"]) for row in rows]


def test_demand_that_nothing_answers_is_proposed_as_unmet(told: Teller, blobs: LocalBlobs) -> None:
    for intent in REFUNDS:
        told.session(search("refund"), script(intent, outcome="error", frustration=9))
    told.wants(*STOCK)
    for query in ("gift cards", "gift card", "buy a gift card", "gift card for a customer"):
        told.session(search(query))
    refresh(told.db, blobs, told.org_id)
    unmet = {one.label.lower(): one.is_unmet_demand for one in topics(told)}
    assert len(unmet) == 3
    assert {label: flag for label, flag in unmet.items() if "refund" in label or "gift" in label} == {
        label: True for label in unmet if "stock" not in label
    }
    gift = next(one for one in topics(told) if "gift" in one.label.lower())
    assert (gift.scripts, gift.sessions) == (0, 4)


def test_what_a_program_asks_by_the_clock_is_kept_apart(told: Teller, blobs: LocalBlobs) -> None:
    told.wants(*STOCK)
    refresh(told.db, blobs, told.org_id)
    (people,) = topics(told)
    for hour in range(10):
        told.session(
            script("check the stock of book 99 now"), key="cron", at=now() - timedelta(hours=20 - hour)
        )
    refresh(told.db, blobs, told.org_id)
    by_kind = {one.kind: one for one in topics(told)}
    assert (by_kind["demand"].id, by_kind["demand"].sessions) == (people.id, 4)
    assert by_kind["recurring"].sessions == 10
    assert [(one.kind, one.other_id) for one in by_kind["recurring"].lineage] == [("split_from", people.id)]
    told.session(script("check the stock of book 100 now"), key="cron")
    refresh(told.db, blobs, told.org_id)
    assert {one.kind: one.sessions for one in topics(told)} == {"demand": 4, "recurring": 11}


def test_failed_searches_become_clusters_with_a_fix_that_works(told: Teller, blobs: LocalBlobs) -> None:
    told.source_id = serve(told.db, blobs, told.org_id, bookshop())
    queries = ["turnover", "turnover figures", "quarterly turnover"]
    for query in queries:
        told.session(search(query), search("sales", "getSalesReport"), script("x", "getSalesReport"))
    told.session(search("kubernetes pods"), search("kubernetes pods"))
    refresh(told.db, blobs, told.org_id)
    with told.db.read() as tx:
        turnover, pods = cluster_store.list_clusters(tx, told.org_id, since=SINCE)
    assert (turnover.searches, turnover.sessions, set(turnover.example_queries)) == (3, 3, set(queries))
    assert (pods.searches, pods.sessions, pods.gap_kind) == (2, 1, "out_of_scope")
    assert pods.suggestion.overlay is None
    assert turnover.gap_kind == "alias"
    assert turnover.suggestion.nearest_operations[0].operation_id == "getSalesReport"
    replay, overlay = turnover.suggestion.replay, turnover.suggestion.overlay
    assert replay is not None
    assert overlay is not None
    assert (replay.hits_before, replay.hits_after) == (0, 3)
    patched = SearchIndex.load(bookshop(json.dumps(overlay)).search)
    assert count_hits(patched, queries, "getSalesReport") == 3


def test_clusters_keep_their_ids_and_are_found_from_topics_and_texts(told: Teller, blobs: LocalBlobs) -> None:
    sessions = [told.session(search("gift card"), script(intent)) for intent in REFUNDS]
    refresh(told.db, blobs, told.org_id)
    with told.db.read() as tx:
        (before,) = cluster_store.list_clusters(tx, told.org_id, since=SINCE)
    told.session(search("gift cards"))
    refresh(told.db, blobs, told.org_id)
    (refunds,) = topics(told)
    with told.db.read() as tx:
        after = cluster_store.get_cluster(tx, told.org_id, before.id, since=SINCE)
        assert (after.label, after.searches) == (before.label, 6)
        related = cluster_store.clusters_of_topic(tx, told.org_id, refunds.id, since=SINCE)
        assert [one.id for one in related] == [before.id]
        found = cluster_store.list_miss_sessions(tx, told.org_id, "gift card", since=SINCE)
        assert set(found) == set(sessions)
        assert len(cluster_store.list_cluster_sessions(tx, told.org_id, before.id, since=SINCE)) == 6
        assert topic_store.topics_of_session(tx, told.org_id, sessions[0]) == [(refunds.id, refunds.label)]


def test_only_sources_that_may_be_seen_are_told_of(told: Teller, blobs: LocalBlobs) -> None:
    told.wants(*REFUNDS)
    told.session(search("gift card"), script("x", invented=["gifts.buy"]))
    refresh(told.db, blobs, told.org_id)
    (refunds,) = topics(told)
    assert topics(told, source_ids=["another"]) == []
    with told.db.read() as tx:
        (cluster,) = cluster_store.list_clusters(tx, told.org_id, since=SINCE)
        assert cluster_store.list_clusters(tx, told.org_id, since=SINCE, source_ids=["another"]) == []
        with pytest.raises(NotFound):
            cluster_store.get_cluster(tx, told.org_id, cluster.id, since=SINCE, source_ids=["another"])
        with pytest.raises(NotFound):
            topic_store.get_topic(tx, told.org_id, refunds.id, since=SINCE, source_ids=["another"])
        with pytest.raises(NotFound):
            topic_store.get_topic(tx, "another organization", refunds.id, since=SINCE)
        assert topic_store.get_topic(tx, told.org_id, refunds.id, since=SINCE) == refunds


def test_invented_names_and_unused_results_are_ranked(told: Teller, blobs: LocalBlobs) -> None:
    told.session(search("books", "listBooks", "getBook"), script("x", "getBook", invented=["books.all"]))
    told.session(script("y", invented=["books.all", "toys.list"]))
    told.session(search("books", "listBooks"), search("titles", "getBook"), script("z", "getBook"))
    refresh(told.db, blobs, told.org_id)
    with told.db.read() as tx:
        names = cluster_store.list_invented_names(tx, told.org_id, since=SINCE)
        unused = cluster_store.list_unused_results(tx, told.org_id, since=SINCE)
    assert [(one.name, one.uses, one.sessions) for one in names] == [("books.all", 2, 2), ("toys.list", 1, 1)]
    assert [(one.operation_id, one.shown, one.sessions, one.unused_sessions) for one in unused] == [
        ("listBooks", 2, 2, 2)
    ]


def test_of_very_many_results_and_intents_the_newest_are_looked_at(told: Teller, blobs: LocalBlobs) -> None:
    for days, operation in ((3, "getBook"), (2, "listBooks"), (1, "getOrder")):
        told.session(
            search("a book", "removeBook", operation), script("x", operation), at=now() - timedelta(days=days)
        )
    refresh(told.db, blobs, told.org_id)
    with told.db.read() as tx:
        demand = topic_store.operation_demand(tx, told.org_id, since=SINCE, newest=2)
        unused = cluster_store.list_unused_results(tx, told.org_id, since=SINCE, newest=4)
        all_unused = cluster_store.list_unused_results(tx, told.org_id, since=SINCE)
    assert sorted(one.operation_id for one in demand) == ["getOrder", "listBooks"]
    assert [(one.operation_id, one.unused_sessions) for one in unused] == [("removeBook", 2)]
    assert [(one.operation_id, one.unused_sessions) for one in all_unused] == [("removeBook", 3)]
