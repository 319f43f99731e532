"""`/org/secrets`: a value goes in and never comes out."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from ammeter.features.orgs.model import Role
from tests.doors.test_org import INSTANT
from tests.household import Household, refusal


def test_a_new_secret_is_created_and_a_known_one_replaced(tenant: Household) -> None:
    first = tenant.call("PUT", "/org/secrets/API_KEY", Role.admin, json={"value": "one"})
    assert first.status_code == 201
    record = first.json()
    assert set(record) == {"name", "createdAt", "updatedAt"}
    assert record["name"] == "API_KEY"
    assert INSTANT.fullmatch(record["createdAt"])
    assert record["createdAt"] == record["updatedAt"]
    second = tenant.call("PUT", "/org/secrets/API_KEY", json={"value": "two"})
    assert second.status_code == 200
    assert second.json()["createdAt"] == record["createdAt"]
    assert second.json()["updatedAt"] >= record["updatedAt"]
    with tenant.house.db.read() as tx:
        assert tenant.house.secrets.reveal(tx, tenant.org.id, "API_KEY") == "two"


def test_secrets_are_listed_by_name_without_their_values(tenant: Household) -> None:
    for name in ("ZULU", "A_1", "MIKE"):
        tenant.call("PUT", f"/org/secrets/{name}", json={"value": f"hidden-{name}"})
    listed = tenant.call("GET", "/org/secrets", Role.admin)
    assert [row["name"] for row in listed.json()["rows"]] == ["A_1", "MIKE", "ZULU"]
    assert all(set(row) == {"name", "createdAt", "updatedAt"} for row in listed.json()["rows"])
    assert "hidden" not in listed.text


def test_two_organizations_have_secrets_of_the_same_name(tenant: Household, neighbour: Household) -> None:
    assert tenant.call("PUT", "/org/secrets/SAME", json={"value": "ours"}).status_code == 201
    assert neighbour.call("PUT", "/org/secrets/SAME", json={"value": "theirs"}).status_code == 201
    with tenant.house.db.read() as tx:
        assert tenant.house.secrets.reveal(tx, tenant.org.id, "SAME") == "ours"


def test_a_deleted_secret_is_gone(tenant: Household) -> None:
    tenant.call("PUT", "/org/secrets/GONE", json={"value": "x"})
    deleted = tenant.call("DELETE", "/org/secrets/GONE", Role.admin)
    assert (deleted.status_code, deleted.json()) == (200, {"ok": True})
    assert refusal(tenant.call("DELETE", "/org/secrets/GONE")) == (404, "not_found")
    assert tenant.call("PUT", "/org/secrets/GONE", json={"value": "x"}).status_code == 201


def test_of_the_same_secret_put_at_once_one_is_new_and_the_last_one_counts(tenant: Household) -> None:
    for turn in range(4):
        with ThreadPoolExecutor(8) as threads:
            answers = threads.map(
                lambda number, name=f"AT_ONCE_{turn}": tenant.call(
                    "PUT", f"/org/secrets/{name}", json={"value": f"value {number}"}
                ),
                range(8),
            )
            assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 7}
        with tenant.house.db.read() as tx:
            value = tenant.house.secrets.reveal(tx, tenant.org.id, f"AT_ONCE_{turn}")
        assert value.startswith("value ")
