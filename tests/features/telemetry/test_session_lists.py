"""The list of sessions: each order and filter, page by page, and what is left out where there are many."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.engines.db.database import Database
from ammeter.features.orgs.model import Organization
from ammeter.features.telemetry import session_store
from ammeter.features.telemetry.model import SessionPage, SessionSort
from tests.features.insights.stories import Teller, script, search, teller

LONG_AGO = now() - timedelta(days=1)


@pytest.fixture
def told(shared_db: Database, org: Organization) -> Teller:
    return teller(shared_db, org.id)


def listed(told: Teller, **asked: Any) -> SessionPage:
    with told.db.read() as tx:
        return session_store.list_sessions(tx, told.org_id, since=LONG_AGO, over_before=now(), **asked)


def ids(told: Teller, **asked: Any) -> list[str]:
    return [session.id for session in listed(told, **asked).rows]


@pytest.mark.parametrize("sort", ["frustration", "failed", "events", "scripts"])
def test_the_most_come_first_and_every_session_comes_once(told: Teller, sort: SessionSort) -> None:
    failed = {"outcome": "error", "error_class": "HttpError"}
    facts: list[list[dict[str, Any]]] = [
        [script("a", frustration=3)],
        [script("b", frustration=9, **failed), script("b")],
        [search("nothing"), search("nothing at all"), script("c", **failed)],
        [search("orders", "getOrder")],
        [script("d", frustration=3), script("d"), script("d"), search("books", "getBook")],
    ]
    made = [told.session(*events) for events in facts]
    value = {
        "frustration": [3, 9, -1, -1, 3],
        "failed": [0, 1, 3, 0, 0],
        "events": [1, 2, 3, 1, 4],
        "scripts": [1, 2, 1, 0, 3],
    }[sort]
    # Of the same value, the latest first.
    expected = sorted(range(5), key=lambda number: (-value[number], -number))
    seen, after = list[str](), None
    while True:
        page = listed(told, sort=sort, after=after, limit=2)
        seen += [session.id for session in page.rows]
        if (after := page.next_after) is None:
            break
    assert seen == [made[number] for number in expected]


def test_filters_choose_and_add_up(told: Teller) -> None:
    other = new_id()
    first = told.session(script("a", client_name="Claude Code"), search("zilch"))
    second = told.session(script("b", client_name="cursor_", environment="staging"))
    elsewhere = teller(told.db, told.org_id, other)
    third = elsewhere.session(script("c", client_name="codex"), at=told.at + timedelta(minutes=1))
    assert ids(told) == [third, second, first]
    assert ids(told, source_id=other) == [third]
    assert ids(told, source_id=other, source_ids=[told.source_id]) == []
    assert ids(told, environment="staging") == [second]
    assert ids(told, client="CO") == [third, first]
    assert ids(told, client="r_") == [second]
    assert ids(told, client="c_") == []
    assert ids(told, any_failed_search=True) == [first]
    assert ids(told, any_failed_search=True, client="codex") == []
    assert ids(told, client="co", sort="events") == [first, third]
    with told.db.read() as tx:
        assert session_store.list_environments(tx, told.org_id) == ["production", "staging"]
        assert session_store.list_environments(tx, other) == []


def test_a_search_that_nothing_followed_has_failed_once_the_session_is_over(told: Teller) -> None:
    session = told.session(search("orders", "getOrder"))
    assert ids(told, any_failed_search=True) == [session]
    with told.db.read() as tx:
        open_still = session_store.list_sessions(tx, told.org_id, since=LONG_AGO, any_failed_search=True)
    assert open_still.rows == []


def test_of_very_many_the_newest_are_looked_through_and_that_is_told(
    told: Teller, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [told.session(script("a", client_name="one")) for _ in range(4)]
    monkeypatch.setattr(session_store, "LOOKED_THROUGH", 2)
    # The one that stands at the edge is still in.
    page = listed(told, client="one")
    assert [session.id for session in page.rows] == made[:0:-1]
    assert page.cut_at == page.rows[-1].last_event_at
    whole = listed(told)
    assert (len(whole.rows), whole.cut_at) == (4, None)
    monkeypatch.setattr(session_store, "LOOKED_THROUGH", 4)
    assert listed(told, client="one").cut_at is None
