"""The audit log as it is searched: by actor, action, target and time, from either end, a page at a time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ammeter.base.errors import InsufficientRole
from ammeter.base.ids import first_id_at, new_id
from ammeter.base.pages import PageRequest
from ammeter.engines.db.database import Database
from ammeter.features.orgs import audit, audit_store, store
from ammeter.features.orgs.model import AuditEvent, AuditQuery, Organization, Role
from tests.household import OPERATOR
from tests.shared import acting, new_org

DAY = datetime(2026, 3, 1, tzinfo=UTC)
TOLD = (
    ("ann@example.com", "key.mint", "k1"),
    ("ann@example.com", "key.revoke", "k1"),
    ("bob@example.com", "key.mint", "k2"),
    ("bob@example.com", "keyring.turn", "k2"),
    ("ann@example.com", "secret.put", "TOKEN"),
)


@pytest.fixture
def log(shared_db: Database, org: Organization) -> Organization:
    """One change a day, and the same again in another organization."""
    with shared_db.write() as tx:
        for owner in (org, new_org(tx)):
            for number, (actor, action, target) in enumerate(TOLD):
                _write(tx, owner, DAY + number * timedelta(days=1), actor, action, target)
    return org


def _write(tx: Any, org: Organization, at: datetime, actor: str, action: str, target: str) -> None:
    event = AuditEvent(
        id=first_id_at(at) + new_id()[13:],
        org_id=org.id,
        at=at,
        actor_kind="member",
        actor=actor,
        origin="",
        request_id=None,
        action=action,
        target=target,
        details={},
    )
    store.insert_audit(tx, event)


def asked(db: Database, org: Organization, **fields: Any) -> list[int]:
    """Which of the told fit, in the order they come."""
    with db.read() as tx:
        query = AuditQuery(**{"until": DAY + timedelta(days=99)} | fields)
        found = audit.list_events(tx, OPERATOR, org.id, PageRequest(), query)
    assert found.total == len(found.rows)
    return [TOLD.index((event.actor, event.action, event.target)) for event in found.rows]


def test_filters_choose_and_add_up(shared_db: Database, log: Organization) -> None:
    assert asked(shared_db, log) == [4, 3, 2, 1, 0]
    assert asked(shared_db, log, actor="ann@example.com") == [4, 1, 0]
    assert asked(shared_db, log, actor="ann") == []
    assert asked(shared_db, log, target="k2") == [3, 2]
    assert asked(shared_db, log, action="key.mint") == [2, 0]
    assert asked(shared_db, log, action="key.") == [2, 1, 0]
    assert asked(shared_db, log, action="key") == []
    assert asked(shared_db, log, action="nothing.") == []
    assert asked(shared_db, log, action="key.", actor="ann@example.com", target="k1") == [1, 0]
    assert asked(shared_db, log, action="key.", actor="bob@example.com", oldest_first=True) == [2]


def test_a_range_of_time_holds_its_first_instant_and_not_its_last(
    shared_db: Database, log: Organization
) -> None:
    since, until = DAY + timedelta(days=1), DAY + timedelta(days=3)
    assert asked(shared_db, log, since=since, until=until) == [2, 1]
    assert asked(shared_db, log, since=since, until=until, oldest_first=True) == [1, 2]
    assert asked(shared_db, log, since=since, actor="ann@example.com") == [4, 1]


def test_pages_of_a_filter_hold_each_change_once(shared_db: Database, log: Organization) -> None:
    query = AuditQuery(actor="ann@example.com", oldest_first=True)
    with shared_db.read() as tx:
        pages = [
            audit.list_events(tx, OPERATOR, log.id, PageRequest(page=number, page_size=2), query)
            for number in (1, 2)
        ]
    assert [event.action for page in pages for event in page.rows] == ["key.mint", "key.revoke", "secret.put"]
    assert [(page.total, page.has_more) for page in pages] == [(3, True), (3, False)]


def test_an_action_of_very_many_changes_is_found_in_order_too(
    shared_db: Database, log: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_store, "_SORTED_IN_MEMORY", 1)
    assert asked(shared_db, log, action="key.") == [2, 1, 0]
    assert asked(shared_db, log, action="key.", actor="ann@example.com") == [1, 0]


def test_the_actions_of_a_log_are_told_once_each(shared_db: Database, log: Organization) -> None:
    known = sorted({action for _, action, _ in TOLD} | {"org.create"})
    with shared_db.read() as tx:
        assert sorted(audit.list_actions(tx, OPERATOR, log.id)) == known
        assert audit.list_actions(tx, OPERATOR, new_id()) == []
        with pytest.raises(InsufficientRole):
            audit.list_actions(tx, acting(Role.editor), log.id)
