"""What pages show beside the figures: sessions day by day are what a recount of the sessions gives."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ammeter.base.clock import now
from ammeter.base.errors import NotFound
from ammeter.base.ids import new_id
from ammeter.engines.blobs.local import LocalBlobs
from ammeter.features.insights import cluster_store, page_store, topic_store
from ammeter.features.insights.refresh import refresh
from ammeter.features.telemetry.tally import bucket_start
from tests.features.insights.stories import DAY, Teller, script, search

REFUNDS = ("Refund order 4411", "refund order 52", "issue a refund for order 7", "Refund a customer order")


def test_days_count_sessions_also_those_that_are_spread(told: Teller, blobs: LocalBlobs) -> None:
    today = bucket_start(now(), "day")
    for ago in (5, 5, 3):
        told.session(search("gift card"), script(REFUNDS[ago % 4]), at=today - ago * DAY + timedelta(hours=9))
    # One sitting over midnight, with an intent and a failed search on either side of it.
    late = today - 3 * DAY - timedelta(minutes=1)
    spread = told.session(search("gift card"), script(REFUNDS[0]), at=late)
    told.add(spread, search("gift cards"), script(REFUNDS[2]), at=late + timedelta(minutes=5))
    refresh(told.db, blobs, told.org_id)
    scope = {"since": today - 6 * DAY, "until": now()}
    with told.db.read() as tx:
        [topic] = topic_store.list_topics(tx, told.org_id, **scope)  # type: ignore[arg-type]
        [cluster] = cluster_store.list_clusters(tx, told.org_id, **scope)  # type: ignore[arg-type]
        topics = page_store.topic_days(tx, told.org_id, [topic.id], **scope)  # type: ignore[arg-type]
        clusters = page_store.cluster_days(tx, told.org_id, [cluster.id], **scope)  # type: ignore[arg-type]
        others = page_store.topic_days(
            tx, told.org_id, [topic.id], source_ids=[new_id()], since=scope["since"], until=scope["until"]
        )
    assert topics.days == [today - number * DAY for number in range(6, -1, -1)]
    # Two, then the sitting before midnight, then it again with the last one.
    assert topics.sessions[topic.id] == [0, 2, 1, 2, 0, 0, 0]
    assert clusters.sessions[cluster.id] == [0, 2, 1, 2, 0, 0, 0]
    assert sum(others.sessions[topic.id]) == 0


def test_whose_word_a_topic_has_is_told(told: Teller, blobs: LocalBlobs) -> None:
    told.wants(*REFUNDS)
    refresh(told.db, blobs, told.org_id)
    with told.db.write() as tx:
        [topic] = topic_store.list_topics(tx, told.org_id, since=now() - DAY)
        before = page_store.topic_words(tx, told.org_id, topic.id)
        assert (before.label_proposed, before.label_by_person) == (topic.label, None)
        assert (before.unmet_proposed, before.unmet_by_person, before.merged_into) == (False, None, None)
        topic_store.patch_topic(tx, told.org_id, topic.id, label="Money back", is_unmet_demand=True)
        after = page_store.topic_words(tx, told.org_id, topic.id)
        assert (after.label_proposed, after.label_by_person) == (topic.label, "Money back")
        assert (after.unmet_proposed, after.unmet_by_person) == (False, True)
        assert page_store.topic_labels(tx, told.org_id, [topic.id, new_id()]) == {topic.id: "Money back"}
        with pytest.raises(NotFound):
            page_store.topic_words(tx, new_id(), topic.id)
