"""Which searches of a session failed, and what it wanted."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from ammeter.base.ids import new_id
from ammeter.features.insights.misses import SeenEvent, SessionFacts, read_session
from tests.features.insights.stories import script, search

START = datetime(2026, 5, 1, tzinfo=UTC)


def events(*told: dict[str, Any]) -> list[SeenEvent]:
    made = []
    for number, one in enumerate(told):
        facts: dict[str, Any] = {"id": new_id(), "at": START + timedelta(seconds=number), "outcome": "ok"}
        made.append(SeenEvent(**facts | one))
    return made


def failed(*told: dict[str, Any], ended: bool = True) -> list[tuple[str, str]]:
    return [(miss.query, miss.reason) for miss in read_session(events(*told), ended=ended).misses]


def test_a_search_without_a_hit_fails_whatever_follows() -> None:
    assert failed(search("refund"), script("x", "cancelOrder")) == [("refund", "no_hit")]
    assert failed(search("refund"), ended=False) == [("refund", "no_hit")]


def test_a_search_whose_hit_is_called_later_does_not_fail() -> None:
    assert (
        failed(
            search("orders", "listOrders"), search("more", "getOrder"), script("x", "listOrders", "getOrder")
        )
        == []
    )


def test_unused_hits_fail_when_the_agent_searches_again() -> None:
    told = (search("orders", "getBook"), search("purchases", "listOrders"), script("x", "listOrders"))
    assert failed(*told) == [("orders", "unused")]


def test_unused_hits_fail_when_the_agent_gives_up_and_not_before() -> None:
    assert failed(search("orders", "getBook")) == [("orders", "unused")]
    assert failed(search("orders", "getBook"), ended=False) == []
    assert failed(search("orders", "getBook"), script("x", "listOrders")) == []


def test_refused_searches_and_scripts_did_not_happen() -> None:
    assert failed(search("orders", outcome="refused"), search("x", "getBook", outcome="busy")) == []
    told = (search("orders", "getBook"), script("x", "getBook", outcome="refused"))
    assert failed(*told) == [("orders", "unused")]


def test_what_was_used_after_a_failed_search_is_its_answer_perhaps() -> None:
    facts = read_session(
        events(search("refund"), search("cancel", "cancelOrder"), script("x", "cancelOrder")), ended=True
    )
    assert [miss.later_used for miss in facts.misses] == [("cancelOrder",)]


def test_an_intent_counts_once_for_a_session_with_all_its_scripts() -> None:
    facts = read_session(
        events(
            search("refund"),
            script("Refund order 1", outcome="error", frustration=8),
            script("refund order 2", "cancelOrder", frustration=2),
            script("List books", "listBooks"),
        ),
        ended=True,
    )
    first, second = facts.wanted
    assert (first.scripts, first.errors, first.misses, first.answered) == (2, 1, 1, True)
    assert first.frustrations == [8, 2]
    assert first.operations == {"cancelOrder": 1}
    assert (second.form.text, second.misses) == ("list books", 0)


def test_a_session_without_an_intent_wanted_what_it_searched_for_in_vain() -> None:
    facts = read_session(events(search("gift vouchers")), ended=True)
    assert [(one.form.text, one.scripts, one.misses) for one in facts.wanted] == [("gift vouchers", 0, 1)]
    assert (
        read_session(events(search("books", "listBooks"), script(None, "listBooks")), ended=True).wanted == []
    )


def test_results_names_and_use_are_counted() -> None:
    facts = read_session(
        events(
            search("books", "listBooks", "getBook"),
            search("more books", "listBooks"),
            script("x", "getBook", invented=["books.findAll", "books.findAll", "toys.list"]),
        ),
        ended=True,
    )
    assert facts.shown == {"listBooks": 2, "getBook": 1}
    assert facts.used == {"getBook"}
    assert facts.invented == {"books.findAll": 2, "toys.list": 1}


def test_order_and_repetition_of_events_change_nothing() -> None:
    told = events(
        search("refund"),
        script("Refund 1", "getOrder", outcome="error"),
        search("orders", "getBook"),
        search("cancel", "cancelOrder"),
        script("Refund 2", "cancelOrder"),
    )
    expected = read_session(told, ended=True)
    draw = random.Random(5)
    for _ in range(10):
        mixed = [*told, *told[:3]]
        draw.shuffle(mixed)
        assert as_text(read_session(mixed, ended=True)) == as_text(expected)


def as_text(facts: SessionFacts) -> str:
    return repr((facts.wanted, facts.misses, sorted(facts.shown.items()), sorted(facts.used)))


def test_nothing_comes_of_nothing() -> None:
    facts = read_session([], ended=True)
    assert (facts.wanted, facts.misses, facts.shown, facts.invented) == ([], [], {}, {})
