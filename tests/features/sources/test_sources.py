"""Sources so far: provisioned with a slug that no other source of the server has."""

from __future__ import annotations

import pytest

from ammeter.base.errors import Conflict, InsufficientRole, NotFound, ValidationFailed
from ammeter.base.ids import new_id
from ammeter.base.pages import PageRequest
from ammeter.engines.db.database import Database, Tx
from ammeter.features.orgs.model import Organization, Role
from ammeter.features.sources import service
from ammeter.features.sources.model import Source
from tests.household import OPERATOR
from tests.shared import acting, at_once, new_org

AN_ID = "0197f0a0-0000-7000-8000-000000000000"


def provision(tx: Tx, org: Organization, slug: str = "") -> Source:
    slug = slug or f"pay-{new_id()}"
    return service.provision_source(tx, OPERATOR, org.id, name="Payments", source_slug=slug)


def test_a_provisioned_source_is_found_by_slug_and_by_id(shared_db: Database, org: Organization) -> None:
    slug = f"pay-{new_id()}"
    with shared_db.write() as tx:
        made = provision(tx, org, slug)
        assert service.get_source(tx, org.id, slug) == service.get_source(tx, org.id, made.id) == made
    assert (made.name, made.source_slug, made.environment, made.status) == (
        "Payments",
        slug,
        "production",
        "active",
    )


def test_a_source_slug_is_taken_once_on_the_whole_server(shared_db: Database, org: Organization) -> None:
    slug = f"pay-{new_id()}"
    with shared_db.write() as tx:
        provision(tx, org, slug)
        other = new_org(tx)
    for asking in (org, other):
        with shared_db.write() as tx, pytest.raises(Conflict, match=f"source slug '{slug}' is taken"):
            provision(tx, asking, slug)


def test_a_source_slug_asked_for_twice_at_once_is_taken_once(shared_db: Database, org: Organization) -> None:
    slug = f"pay-{new_id()}"
    with pytest.raises(Conflict):
        at_once(shared_db, lambda tx: provision(tx, org, slug), lambda tx: provision(tx, org, slug))


@pytest.mark.parametrize(
    ("name", "slug", "path"),
    [("", "pay", "$.name"), ("a\nb", "pay", "$.name"), ("Pay", "Pay", "$.slug"), ("Pay", AN_ID, "$.slug")],
)
def test_a_wrong_name_or_slug_is_refused(
    shared_db: Database, org: Organization, name: str, slug: str, path: str
) -> None:
    with shared_db.write() as tx, pytest.raises(ValidationFailed) as refusal:
        service.provision_source(tx, OPERATOR, org.id, name=name, source_slug=slug)
    assert [detail.path for detail in refusal.value.details] == [path]


@pytest.mark.parametrize("role", [Role.viewer, Role.editor, Role.admin])
def test_only_an_owner_provisions_a_source(shared_db: Database, org: Organization, role: Role) -> None:
    with shared_db.write() as tx, pytest.raises(InsufficientRole, match="owner"):
        service.provision_source(tx, acting(role), org.id, name="Pay", source_slug="pay")


def test_an_unknown_or_foreign_source_is_not_found(shared_db: Database, org: Organization) -> None:
    with shared_db.write() as tx:
        theirs = provision(tx, new_org(tx))
        assert theirs.source_slug
        for name in (new_id(), "none", "", "a\0b", theirs.id, theirs.source_slug):
            with pytest.raises(NotFound):
                service.get_source(tx, org.id, name)


def test_sources_are_listed_in_the_order_they_were_made(shared_db: Database, org: Organization) -> None:
    with shared_db.write() as tx:
        made = [provision(tx, org) for _ in range(3)]
        provision(tx, new_org(tx))
        first = service.list_sources(tx, org.id, PageRequest(page_size=2))
        second = service.list_sources(tx, org.id, PageRequest(page=2, page_size=2))
    assert [*first.rows, *second.rows] == made
    assert (first.has_more, second.has_more, second.total) == (True, False, 3)


def test_ids_of_named_sources_come_in_order_and_each_missing_one_is_named(
    shared_db: Database, org: Organization
) -> None:
    with shared_db.write() as tx:
        one, two, theirs = provision(tx, org), provision(tx, org), provision(tx, new_org(tx))
        assert one.source_slug
        assert service.source_ids(tx, org.id, [two.id, one.source_slug]) == [two.id, one.id]
        assert service.source_ids(tx, org.id, []) == []
        with pytest.raises(ValidationFailed) as refusal:
            service.source_ids(tx, org.id, [one.id, "none", theirs.id, "a\0b"])
    assert {d.path: d.message for d in refusal.value.details} == {
        "$.sourceIds[1]": "no such source: 'none'",
        "$.sourceIds[2]": f"no such source: {theirs.id!r}",
        "$.sourceIds[3]": "no such source: 'a\\x00b'",
    }
