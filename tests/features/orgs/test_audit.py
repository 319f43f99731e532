"""The audit log: one event for each change, in the change's own transaction, without any secret value."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import func, select

from ammeter.base.clock import now
from ammeter.base.errors import AmmeterError, InsufficientRole
from ammeter.base.ids import new_id
from ammeter.base.pages import PageRequest
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.db.tables import audit_events
from ammeter.features.orgs import audit, keys, members, service
from ammeter.features.orgs.model import AuditEvent, Organization, Role
from ammeter.features.secrets.sealing import KeyRing
from ammeter.features.secrets.service import Secrets
from ammeter.features.sources import service as sources
from tests.household import OPERATOR
from tests.shared import acting, new_org

OWNER = acting(Role.owner)
VALUE = "sk_live_51Habcdefghijklmnop"
PASSWORD = "correct horse battery"
SECRETS = Secrets(KeyRing([b"k" * 32]))

Change = Callable[[Tx, Organization], object]
Expected = tuple[str, str, dict[str, Any]]


def events(db: Database, org: Organization) -> list[AuditEvent]:
    """All events of an organization, newest first."""
    with db.read() as tx:
        return list(audit.list_events(tx, OPERATOR, org.id, PageRequest(page_size=200)).rows)


def written_by(db: Database, org: Organization, change: Change) -> AuditEvent:
    """The one event that a change writes."""
    before = events(db, org)
    started = now()
    with db.write() as tx:
        change(tx, org)
    fresh, *rest = events(db, org)
    assert rest == before
    assert started <= fresh.at <= now()
    assert (fresh.actor_kind, fresh.actor) == ("key", "owners-key")
    assert (fresh.origin, fresh.request_id) == ("203.0.113.7", "request-1")
    return fresh


def add_ada(tx: Tx, org: Organization) -> object:
    return members.add_member(
        tx, OWNER, org.id, email=f"ada@{org.slug}.example", name="Ada", role=Role.owner, password=PASSWORD
    )


def add_bob(tx: Tx, org: Organization) -> object:
    return members.add_member(tx, OWNER, org.id, email=f"bob@{org.slug}.example", name="Bob", role=Role.owner)


CHANGES: list[tuple[str, Change, Callable[[Organization], Expected]]] = [
    (
        "features",
        lambda tx, org: service.set_features(tx, OWNER, org, code_mode=True),
        lambda org: ("org.features", org.slug, {"code_mode": True}),
    ),
    (
        "included runs",
        lambda tx, org: service.set_included_runs(tx, OWNER, org, 5),
        lambda org: ("org.included_runs", org.slug, {"now": 5, "was": None}),
    ),
    ("member", add_ada, lambda org: ("member.add", f"ada@{org.slug}.example", {"role": "owner"})),
    ("second member", add_bob, lambda org: ("member.add", f"bob@{org.slug}.example", {"role": "owner"})),
    (
        "role",
        lambda tx, org: members.set_role(tx, OWNER, org.id, f"bob@{org.slug}.example", Role.viewer),
        lambda org: ("member.role", f"bob@{org.slug}.example", {"role": "viewer", "was": "owner"}),
    ),
    (
        "password",
        lambda tx, org: members.set_password(tx, OWNER, org.id, f"ada@{org.slug}.example", PASSWORD),
        lambda org: ("member.password", f"ada@{org.slug}.example", {}),
    ),
    (
        "removal",
        lambda tx, org: members.remove_member(tx, OWNER, org.id, f"bob@{org.slug}.example"),
        lambda org: ("member.remove", f"bob@{org.slug}.example", {"was": "viewer"}),
    ),
    (
        "new secret",
        lambda tx, org: SECRETS.put(tx, OWNER, org.id, name="STRIPE_KEY", value=VALUE),
        lambda _: ("secret.put", "STRIPE_KEY", {"new": True}),
    ),
    (
        "secret anew",
        lambda tx, org: SECRETS.put(tx, OWNER, org.id, name="STRIPE_KEY", value=VALUE),
        lambda _: ("secret.put", "STRIPE_KEY", {"new": False}),
    ),
    (
        "secret's end",
        lambda tx, org: SECRETS.delete(tx, OWNER, org.id, "STRIPE_KEY"),
        lambda _: ("secret.delete", "STRIPE_KEY", {}),
    ),
    (
        "source",
        lambda tx, org: sources.provision_source(tx, OWNER, org.id, name="Pay", source_slug=f"s{org.id}"),
        lambda org: ("source.provision", f"s{org.id}", {"name": "Pay"}),
    ),
]


def test_every_change_writes_one_event_that_says_who_what_when_and_from_where(
    shared_db: Database, org: Organization
) -> None:
    for name, change, expected in CHANGES:
        event = written_by(shared_db, org, change)
        assert (event.action, event.target, event.details) == expected(org), name
    for text in (VALUE, PASSWORD, "argon2"):
        assert text not in everything(shared_db, org)


def test_a_new_organization_begins_its_own_log(shared_db: Database) -> None:
    with shared_db.write() as tx:
        made = service.create_org(tx, OWNER, slug=f"new-{new_id()}", name="New", region="eu")
    (event,) = events(shared_db, made)
    assert (event.action, event.target) == ("org.create", made.slug)
    assert event.details == {"name": "New", "region": "eu"}


def test_minting_and_revoking_write_the_public_part_of_the_key_only(
    shared_db: Database, org: Organization
) -> None:
    minted: list[str] = []

    def mint(tx: Tx, org: Organization) -> None:
        _, token = keys.mint_key(tx, OWNER, org.id, name="CI", role=Role.editor, source_ids=[org.id])
        minted.extend(token.split("_"))

    event = written_by(shared_db, org, mint)
    _, key_id, secret = minted
    assert (event.action, event.target) == ("key.mint", key_id)
    assert event.details == {"name": "CI", "role": "editor", "source_ids": [org.id]}
    event = written_by(shared_db, org, lambda tx, org: keys.revoke_key(tx, OWNER, org.id, key_id))
    assert (event.action, event.target, event.details) == ("key.revoke", key_id, {"name": "CI"})
    assert secret not in everything(shared_db, org)


def test_a_change_that_is_rolled_back_leaves_no_event(shared_db: Database, org: Organization) -> None:
    before = events(shared_db, org)
    for _, change, _ in CHANGES[:4]:
        with pytest.raises(ZeroDivisionError):
            change_and_fail(shared_db, org, change)
    assert events(shared_db, org) == before
    with shared_db.read() as tx:
        assert service.get_org(tx, org.id) == org
        assert members.list_members(tx, org.id, PageRequest()).total == 0


def test_a_refused_change_leaves_no_event(shared_db: Database, org: Organization) -> None:
    before = events(shared_db, org)
    viewer = acting(Role.viewer)
    refused: list[Callable[[Tx], object]] = [
        lambda tx: service.set_features(tx, viewer, org, code_mode=True),
        lambda tx: keys.mint_key(tx, viewer, org.id, name="CI", role=Role.viewer),
        lambda tx: keys.revoke_key(tx, OWNER, org.id, new_id()),
        lambda tx: SECRETS.delete(tx, OWNER, org.id, "NONE"),
        lambda tx: SECRETS.put(tx, OWNER, org.id, name="lower", value=VALUE),
        lambda tx: members.remove_member(tx, OWNER, org.id, new_id()),
        lambda tx: service.create_org(tx, OWNER, slug=org.slug, name="Again", region="us"),
    ]
    for change in refused:
        with pytest.raises(AmmeterError), shared_db.write() as tx:
            change(tx)
    assert events(shared_db, org) == before


def test_events_are_read_newest_first_a_page_at_a_time_and_only_ones_own(
    shared_db: Database, org: Organization
) -> None:
    with shared_db.write() as tx:
        for runs in range(4):
            service.set_included_runs(tx, OWNER, org, runs)
        service.set_included_runs(tx, OWNER, new_org(tx), 99)
    with shared_db.read() as tx:
        first = audit.list_events(tx, OPERATOR, org.id, PageRequest(page_size=3))
        second = audit.list_events(tx, OPERATOR, org.id, PageRequest(page=2, page_size=3))
    shown = [event.details.get("now", event.action) for event in (*first.rows, *second.rows)]
    assert shown == [3, 2, 1, 0, "org.create"]
    assert (first.has_more, second.has_more, second.total) == (True, False, 5)


@pytest.mark.parametrize("role", list(Role))
def test_admins_and_owners_read_the_log(shared_db: Database, org: Organization, role: Role) -> None:
    with shared_db.read() as tx:
        if role >= Role.admin:
            assert audit.list_events(tx, acting(role), org.id, PageRequest()).total == 1
        else:
            with pytest.raises(InsufficientRole, match="admin"):
                audit.list_events(tx, acting(role), org.id, PageRequest())


def change_and_fail(db: Database, org: Organization, change: Change) -> None:
    with db.write() as tx:
        change(tx, org)
        _ = 1 / 0


def everything(db: Database, org: Organization) -> str:
    """All that the log holds of an organization, as text."""
    with db.read() as tx:
        rows = tx.execute(select(audit_events).where(audit_events.c.org_id == org.id)).mappings().all()
        count = tx.scalar(select(func.count()).where(audit_events.c.org_id == org.id))
    assert len(rows) == count
    return json.dumps([dict(row) for row in rows], default=str, ensure_ascii=False)
