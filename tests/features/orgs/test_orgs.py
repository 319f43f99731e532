"""Organizations: slugs and names, features, included runs and usage."""

from __future__ import annotations

import pytest
from sqlalchemy import insert

from ammeter.base.clock import month_of, now
from ammeter.base.errors import Conflict, InsufficientRole, NotFound, ValidationFailed
from ammeter.base.ids import is_id, new_id
from ammeter.base.pages import PageRequest
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.db.tables import run_usage
from ammeter.features.orgs import service
from ammeter.features.orgs.model import Organization, Role
from tests.household import OPERATOR
from tests.shared import acting, at_once, new_org

MOST_RUNS = 2_000_000_000


def make(tx: Tx, slug: str, name: str = "Acme") -> Organization:
    return service.create_org(tx, OPERATOR, slug=slug, name=name, region="eu")


def test_an_organization_is_found_by_slug_and_by_id(shared_db: Database) -> None:
    slug = f"acme-{new_id()}"
    with shared_db.write() as tx:
        made = make(tx, slug, "Acme GmbH & Co. KG — Köln")
        assert service.get_org(tx, slug) == service.get_org(tx, made.id) == made
    assert is_id(made.id)
    assert (made.slug, made.region, made.mcp_analytics, made.code_mode) == (slug, "eu", False, False)
    assert made.included_runs is None


def test_an_unknown_organization_is_named_in_the_refusal(shared_db: Database) -> None:
    for name in ("nobody", new_id(), ""):
        with shared_db.read() as tx, pytest.raises(NotFound, match=f"No such organization '{name}'"):
            service.get_org(tx, name)


def test_a_slug_is_taken_once(shared_db: Database, org: Organization) -> None:
    with shared_db.write() as tx, pytest.raises(Conflict, match=f"slug '{org.slug}' exists already"):
        make(tx, org.slug)


def test_a_slug_asked_for_twice_at_once_is_taken_once(shared_db: Database) -> None:
    slug = f"acme-{new_id()}"
    with pytest.raises(Conflict):
        at_once(shared_db, lambda tx: make(tx, slug), lambda tx: make(tx, slug))


@pytest.mark.parametrize("slug", ["a", "0", "a--b", "a" * 63])
def test_a_slug_may_be_lower_case_letters_digits_and_inner_hyphens(shared_db: Database, slug: str) -> None:
    with shared_db.write() as tx:
        assert make(tx, slug).slug == slug


@pytest.mark.parametrize(
    "slug",
    [
        "",
        "-",
        "-a",
        "a-",
        "A",
        "a_b",
        "a b",
        "a/b",
        "a.b",
        "é",
        "a\n",
        "a\0",
        "a" * 64,
        "\ud800",
        "0197f0a0-0000-7000-8000-000000000000",
    ],
)
def test_any_other_slug_is_refused(shared_db: Database, slug: str) -> None:
    with shared_db.write() as tx, pytest.raises(ValidationFailed) as refusal:
        make(tx, slug)
    (detail,) = refusal.value.details
    assert (detail.path, detail.message[:9]) == ("$.slug", "a slug is")


@pytest.mark.parametrize("name", ["A", "a" * 200, "名前", "a\u00a0b", "<script>", "'; DROP TABLE people; --"])
def test_a_name_may_be_any_visible_text_on_one_line(shared_db: Database, name: str) -> None:
    with shared_db.write() as tx:
        made = make(tx, f"acme-{new_id()}", name)
        assert service.get_org(tx, made.id).name == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        " a",
        "a ",
        "a\nb",
        "a\tb",
        "a\0",
        "a" * 201,
        "\x1b[31mred",
        "a\x9bb",
        "a\u2028b",
        "a\x85b",
        "\ud800",
    ],
)
def test_any_other_name_is_refused(shared_db: Database, name: str) -> None:
    with shared_db.write() as tx, pytest.raises(ValidationFailed) as refusal:
        make(tx, f"acme-{new_id()}", name)
    assert [detail.path for detail in refusal.value.details] == ["$.name"]


def test_organizations_are_listed_in_the_order_they_were_made(db: Database) -> None:
    with db.write() as tx:
        made = [new_org(tx) for _ in range(3)]
    with db.read() as tx:
        first = service.list_orgs(tx, PageRequest(page_size=2))
        second = service.list_orgs(tx, PageRequest(page=2, page_size=2))
    assert [*first.rows, *second.rows] == made
    assert (first.has_more, second.has_more, first.total) == (True, False, 3)


def test_features_are_switched_one_by_one(shared_db: Database, org: Organization) -> None:
    def features(changed: Organization) -> tuple[bool, bool]:
        return changed.mcp_analytics, changed.code_mode

    with shared_db.write() as tx:
        assert features(service.set_features(tx, OPERATOR, org, code_mode=True)) == (False, True)
        assert features(service.set_features(tx, OPERATOR, org, mcp_analytics=True)) == (True, True)
        assert features(service.set_features(tx, OPERATOR, org, code_mode=False)) == (True, False)
        assert features(service.set_features(tx, OPERATOR, org)) == (True, False)
        assert features(service.get_org(tx, org.id)) == (True, False)


@pytest.mark.parametrize("runs", [0, 1, MOST_RUNS, None])
def test_included_runs_may_be_any_number_or_unlimited(
    shared_db: Database, org: Organization, runs: int | None
) -> None:
    with shared_db.write() as tx:
        assert service.set_included_runs(tx, OPERATOR, org, runs).included_runs == runs
        assert service.get_org(tx, org.id).included_runs == runs


@pytest.mark.parametrize("runs", [-1, MOST_RUNS + 1, 10**30])
def test_included_runs_out_of_range_are_refused(shared_db: Database, org: Organization, runs: int) -> None:
    with shared_db.write() as tx:
        with pytest.raises(ValidationFailed, match="1 field"):
            service.set_included_runs(tx, OPERATOR, org, runs)
        with pytest.raises(ValidationFailed) as refusal:
            service.create_org(tx, OPERATOR, slug="x", name="X", region="us", included_runs=runs)
    assert refusal.value.details[0].path == "$.includedRuns"


@pytest.mark.parametrize("role", [Role.viewer, Role.editor, Role.admin])
def test_features_and_included_runs_are_the_owners(
    shared_db: Database, org: Organization, role: Role
) -> None:
    with shared_db.write() as tx:
        with pytest.raises(InsufficientRole, match="owner"):
            service.set_features(tx, acting(role), org, code_mode=True)
        with pytest.raises(InsufficientRole, match="owner"):
            service.set_included_runs(tx, acting(role), org, 5)


def test_usage_is_this_months_runs_and_never_below_nothing(shared_db: Database, org: Organization) -> None:
    start, end = month_of(now())
    with shared_db.write() as tx:
        org = service.set_included_runs(tx, OPERATOR, org, 10)
        assert service.read_usage(tx, org).remaining == 10
        rows = [
            {"org_id": org.id, "period_start": start, "used_runs": 12},
            {"org_id": org.id, "period_start": month_of(end)[0], "used_runs": 3},
            {"org_id": new_org(tx).id, "period_start": start, "used_runs": 4},
        ]
        tx.execute(insert(run_usage), rows)
        usage = service.read_usage(tx, org)
        unlimited = service.read_usage(tx, service.set_included_runs(tx, OPERATOR, org, None))
    assert (usage.period_start, usage.period_end) == (start, end)
    assert (usage.included, usage.used, usage.remaining) == (10, 12, 0)
    assert (unlimited.included, unlimited.used, unlimited.remaining) == (None, 12, None)
