"""Topics as numbers: what joins, what forms, what is recurring, what a topic is called."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from ammeter.base.ids import new_id
from ammeter.features.insights.clusters import place_searches
from ammeter.features.insights.intents import form_of
from ammeter.features.insights.labels import label_of, word_counts
from ammeter.features.insights.lineage import grown_out_of, is_recurring, merges
from ammeter.features.insights.topics import ALIKE, Book, alike_groups, by_neighbours, centre_of
from ammeter.features.insights.vectors import from_bytes, to_bytes, vectors_of, width

REFUNDS = [
    "refund the order of a customer",
    "give the customer a refund for the order",
    "issue a refund for an order",
    "refund a customer order",
]
WEATHER = ["weather forecast for tomorrow", "what is the weather tomorrow", "tomorrow's weather forecast"]
START = datetime(2026, 5, 1, tzinfo=UTC)


def groups_by_hand(rows: np.ndarray[tuple[int, int], np.dtype[np.float32]], least: float) -> list[list[int]]:
    """Average linkage as it is defined: the two nearest groups, again and again."""
    likeness = rows @ rows.T
    groups = [[i] for i in range(len(rows))]
    while len(groups) > 1:
        pairs = [(i, j) for i in range(len(groups)) for j in range(i)]
        nearest = max(pairs, key=lambda pair: likeness[np.ix_(groups[pair[0]], groups[pair[1]])].mean())
        if likeness[np.ix_(groups[nearest[0]], groups[nearest[1]])].mean() < least:
            break
        groups[nearest[1]] += groups.pop(nearest[0])
    return sorted(sorted(group) for group in groups)


def test_groups_are_those_of_average_linkage() -> None:
    draw = np.random.default_rng(3)
    for _ in range(5):
        centres = draw.standard_normal((6, 20))
        rows = (centres[draw.integers(0, 6, 40)] + 0.5 * draw.standard_normal((40, 20))).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        assert alike_groups(rows, ALIKE) == groups_by_hand(rows, ALIKE)


def test_paraphrases_are_one_group_and_others_another() -> None:
    assert alike_groups(vectors_of([*REFUNDS, *WEATHER])) == [[0, 1, 2, 3], [4, 5, 6]]
    assert alike_groups(vectors_of([])) == []


def test_a_topic_takes_what_is_like_it_and_leaves_the_rest() -> None:
    book = Book([centre_of("refunds", vectors_of(REFUNDS))], width())
    assert book.place(vectors_of(["please refund this customer's order"])) == ["refunds"]
    assert book.place(vectors_of([*WEATHER, ""])) == [None] * 4
    assert book.moved == {"refunds"}


def test_neighbours_decide_by_a_majority_of_five() -> None:
    def around(*topics: str | None) -> str | None:
        """The topic of a row whose five neighbours, nearest first, are in these."""
        angles = np.array([0.0, *(0.1 * (1 + at) for at in range(len(topics))), 1.4])
        known = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        return by_neighbours(known[:1], [0], known, [None, *topics, "far"])[0]

    assert around("a", "a", "a", "b", "b") == "a"
    assert around("b", "b", "a", "a", "a") == "a"
    assert around("a", "a", "b", "b", None) is None
    assert around("a", "a", None, None, None) is None
    assert around("a", "a", "b", "b", "c", "a") is None, "the sixth has no vote"


def test_neighbours_that_are_not_alike_have_no_vote() -> None:
    known = vectors_of([*REFUNDS, "kubernetes pods restart"])
    topics = ["refunds"] * len(REFUNDS) + [None]
    assert by_neighbours(known[-1:], [len(REFUNDS)], known, topics) == [None]
    assert by_neighbours(known[:1], [0], known, [None, *topics[1:]]) == ["refunds"]
    assert by_neighbours(known[:0], [], known, topics) == []


def test_texts_that_the_embedding_does_not_know_are_alike_by_their_words() -> None:
    said = vectors_of(["取消 订单", "取消 我的 订单", "ยกเลิก คำสั่งซื้อ"])
    assert said.any(axis=1).all()
    assert said[0] @ said[1] > 0.5 > said[0] @ said[2]


def test_stored_centres_come_back_and_those_of_another_table_do_not() -> None:
    row = vectors_of(REFUNDS).sum(axis=0)
    again = from_bytes(to_bytes(row))
    assert again is not None
    assert np.array_equal(again, row)
    assert from_bytes(b"\0" * 8) is None


def test_searches_join_paraphrases_and_each_other_thing_begins_a_cluster() -> None:
    book = Book([], width())
    queries = ["gift cards", "gift card", "redeem a gift card", "export to csv", "csv export"]
    ids = [one for one, _ in place_searches(book, vectors_of(queries), new_id)]
    assert ids[0] == ids[1] == ids[2] != ids[3] == ids[4]


def test_a_label_is_a_verb_and_what_sets_the_topic_apart() -> None:
    forms = [form_of(text).text for text in REFUNDS]
    background = word_counts([*forms, *["list customer orders", "get customer order"] * 10])
    label = label_of(forms, background, len(forms) + 20)
    assert "refund" in label.lower()
    assert label == label_of(forms, background, len(forms) + 20)
    assert label_of(["cancel my subscription now"] * 3, {}, 0).startswith("Cancel ")
    assert label_of([""], {}, 0) == "Other"
    assert len(label_of(["x" * 600 + " " + "y" * 600], {}, 0)) <= 80


def test_topics_that_come_to_the_same_are_merged_into_the_older_unless_kept() -> None:
    older, younger = centre_of("1", vectors_of(REFUNDS)), centre_of("2", vectors_of(REFUNDS[:3]))
    other = centre_of("3", vectors_of(WEATHER))
    assert merges([younger, other, older], kept=()) == [("2", "1")]
    assert merges([younger, other, older], kept={"2"}) == []
    assert merges([], kept=()) == []


def test_a_topic_beside_another_has_grown_out_of_it() -> None:
    refunds, weather = centre_of("1", vectors_of(REFUNDS)), centre_of("3", vectors_of(WEATHER))
    near = centre_of(
        "2", vectors_of(["refund part of the order of a customer", "partial refund for an order"])
    )
    assert grown_out_of(near, [weather, refunds]) == "1"
    assert grown_out_of(weather, [refunds]) is None
    assert grown_out_of(weather, []) is None


def test_what_comes_by_the_clock_recurs() -> None:
    hourly = [START + timedelta(hours=n, seconds=n % 7) for n in range(10)]
    assert is_recurring(hourly)
    assert is_recurring(hourly[::-1])
    assert not is_recurring(hourly[:5])
    assert not is_recurring([START] * 50)
    assert not is_recurring([START + timedelta(minutes=n * n * 7) for n in range(20)])
