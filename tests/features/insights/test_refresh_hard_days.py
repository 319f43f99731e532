"""Refreshes that meet bad data, wrong clocks, other refreshes and their own death, on both databases."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text

from ammeter.base.clock import now
from ammeter.engines.blobs.local import LocalBlobs
from ammeter.engines.db.database import Tx
from ammeter.features.insights import cluster_store, topic_store
from ammeter.features.insights.refresh import refresh
from ammeter.features.insights.refresh_store import Superseded
from tests.features.insights.stories import DAY, Teller, bookshop, script, search, serve
from tests.features.insights.test_refresh import REFUNDS, STOCK
from tests.features.telemetry.parts import make_event

SINCE = now() - 30 * DAY
LANGUAGES = (
    "cancel my order",
    "cancela mi pedido",
    "annule ma commande",
    "storniere meine Bestellung",
    "注文をキャンセルする",
    "取消我的订单",
    "주문을 취소해 주세요",
    "отмени мой заказ",
    "ألغِ طلبي",
    "मेरा ऑर्डर रद्द करें",
    "ยกเลิกคำสั่งซื้อ",
)


def picture(told: Teller) -> Any:
    """All that a reader could see, ids included."""
    with told.db.read() as tx:
        return (
            topic_store.list_topics(tx, told.org_id, since=SINCE, until=now() + 400 * DAY, archived=True),
            cluster_store.list_clusters(tx, told.org_id, since=SINCE, until=now() + 400 * DAY),
        )


def test_no_data_gives_an_empty_picture(told: Teller, blobs: LocalBlobs) -> None:
    assert refresh(told.db, blobs, told.org_id).sessions == 0
    assert picture(told) == ([], [])
    with told.db.read() as tx:
        coverage = topic_store.topic_coverage(tx, told.org_id, since=SINCE)
    assert (coverage.intents, coverage.share) == (0, None)
    assert coverage.refreshed_at is not None


def test_one_session_is_long_tail(told: Teller, blobs: LocalBlobs) -> None:
    told.session(*(script(intent) for intent in REFUNDS))
    refresh(told.db, blobs, told.org_id)
    assert picture(told) == ([], [])


def test_very_many_equal_intents_are_one_topic_and_one_form(told: Teller, blobs: LocalBlobs) -> None:
    told.session(*[script("sync all orders")] * 1_500)
    told.wants(*["Sync all orders"] * 150)
    refresh(told.db, blobs, told.org_id)
    (topic,), _ = picture(told)
    assert (topic.sessions, topic.scripts, topic.label) == (151, 1_650, "Sync all orders")
    with told.db.read() as tx:
        forms = text("SELECT count(*) FROM insight_forms WHERE org_id = :org")
        assert tx.scalar(forms, {"org": told.org_id}) == 1


def test_bad_texts_in_any_language_harm_nothing(told: Teller, blobs: LocalBlobs) -> None:
    told.source_id = serve(told.db, blobs, told.org_id, bookshop())
    hostile = [
        "",
        " ",
        "12345",
        "'; DROP TABLE insight_topics; --",
        "<script>x</script>",
        "🤷" * 300,
        "a" * 2_000,
    ]
    for words in (*hostile, *LANGUAGES):
        for _ in range(4):
            told.session(search(words), script(words, invented=[words]))
    refresh(told.db, blobs, told.org_id)
    topics, clusters = picture(told)
    examples = {example for topic in topics for example in topic.example_intents}
    assert set(LANGUAGES) <= examples
    assert all(topic.label and len(topic.label) <= 80 for topic in topics)
    assert all(cluster.label and cluster.gap_kind for cluster in clusters)


def test_a_wrong_clock_and_late_events_are_not_missed(told: Teller, blobs: LocalBlobs) -> None:
    ahead, behind = now() + 300 * DAY, now() - 20 * DAY
    for number, intent in enumerate(REFUNDS):
        told.session(script(intent), at=ahead if number % 2 else behind)
    refresh(told.db, blobs, told.org_id)
    late = told.session(script(REFUNDS[0]), at=behind - DAY)
    refresh(told.db, blobs, told.org_id)
    (topic,), _ = picture(told)
    assert topic.sessions == 6
    with told.db.read() as tx:
        assert topic_store.topics_of_session(tx, told.org_id, late) == [(topic.id, topic.label)]


def test_a_session_that_goes_on_is_read_anew_and_counted_once(told: Teller, blobs: LocalBlobs) -> None:
    told.wants(*REFUNDS[1:])
    session = told.session(search("refund"), script(REFUNDS[0]))
    refresh(told.db, blobs, told.org_id)
    first = make_event(
        told.org_id,
        source_id=told.source_id,
        session_id=session,
        at=told.at - timedelta(minutes=1),
        kind="search",
        query="reimburse",
        outcome="miss",
    )
    told.store([first])
    told.add(session, script(REFUNDS[0], frustration=7), at=told.at + timedelta(minutes=1))
    assert refresh(told.db, blobs, told.org_id).sessions == 1
    (topic,), clusters = picture(told)
    assert (topic.sessions, topic.scripts) == (5, 6)
    assert sum(cluster.searches for cluster in clusters) == 2
    assert refresh(told.db, blobs, told.org_id).sessions == 0


def test_a_search_is_given_up_only_when_its_session_is_over(told: Teller, blobs: LocalBlobs) -> None:
    told.session(search("refund", "getBook"), at=now())
    refresh(told.db, blobs, told.org_id)
    assert picture(told) == ([], [])
    refresh(told.db, blobs, told.org_id, at=now() + timedelta(hours=1))
    assert [one.example_queries for one in picture(told)[1]] == [("refund",)]


class Killed(Exception):
    pass


def killed_after(writes: int) -> Any:
    left = [writes]

    def check(tx: Tx) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Killed

    return check


def test_a_refresh_killed_anywhere_leaves_a_whole_picture_and_is_taken_up(
    told: Teller, blobs: LocalBlobs
) -> None:
    told.wants(*REFUNDS)
    refresh(told.db, blobs, told.org_id)
    old = picture(told)
    told.wants(*STOCK, *REFUNDS)
    told.session(search("gift card"))
    for writes in range(20):
        try:
            refresh(told.db, blobs, told.org_id, check=killed_after(writes))
        except Killed:
            topics, _ = picture(told)
            assert topics[0].id == old[0][0].id
            assert topics[0].label == old[0][0].label
            assert [one.sessions for one in topics] in ([5], [10], [10, 4])
        else:
            break
    else:
        pytest.fail("the refresh never came to its end")
    topics, clusters = picture(told)
    assert [(one.sessions, one.scripts) for one in topics] == [(10, 10), (4, 4)]
    assert [one.searches for one in clusters] == [1]


def test_of_two_refreshes_at_once_the_later_one_writes(told: Teller, blobs: LocalBlobs) -> None:
    told.wants(*REFUNDS, *STOCK)
    inner: list[int] = []

    def other(share: float, message: str) -> None:
        if not inner:
            inner.append(refresh(told.db, blobs, told.org_id).new_topics)

    with pytest.raises(Superseded):
        refresh(told.db, blobs, told.org_id, progress=other)
    assert inner == [2]
    assert [one.sessions for one in picture(told)[0]] == [5, 4]
    assert refresh(told.db, blobs, told.org_id).sessions == 0
    assert [one.sessions for one in picture(told)[0]] == [5, 4]


def test_what_is_past_its_time_goes_and_topics_stay(told: Teller, blobs: LocalBlobs) -> None:
    told.wants(*REFUNDS)
    told.session(search("gift card"))
    refresh(told.db, blobs, told.org_id)
    ((topic,), clusters) = picture(told)
    assert len(clusters) == 1
    later = now() + 100 * DAY
    assert refresh(told.db, blobs, told.org_id, at=later, keep_days=0).pruned == 0
    assert refresh(told.db, blobs, told.org_id, at=later, keep_days=90).pruned > 0
    assert picture(told) == ([], [])
    told.at = later
    told.wants(*REFUNDS[:2])
    refresh(told.db, blobs, told.org_id, at=later + DAY)
    (again,), _ = picture(told)
    assert (again.id, again.label, again.sessions) == (topic.id, topic.label, 2)


def test_organizations_do_not_learn_from_each_other(told: Teller, blobs: LocalBlobs) -> None:
    told.wants(*REFUNDS)
    refresh(told.db, blobs, told.org_id)
    with told.db.read() as tx:
        assert topic_store.list_topics(tx, "another organization", since=SINCE) == []
        assert cluster_store.list_clusters(tx, "another organization", since=SINCE) == []
