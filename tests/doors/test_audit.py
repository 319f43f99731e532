"""`/org/audit` and the paging that every growing list has."""

from __future__ import annotations

import pytest

from ammeter.base.ids import is_id
from ammeter.features.orgs.model import Role
from tests.doors.test_members import add, new_address
from tests.doors.test_org import INSTANT
from tests.household import Household


def test_a_change_is_written_down_with_every_field(tenant: Household) -> None:
    answer = tenant.call("PUT", "/org/secrets/API_KEY", Role.admin, json={"value": "hidden"})
    event = tenant.call("GET", "/org/audit", Role.admin).json()["rows"][0]
    assert is_id(event.pop("id"))
    assert INSTANT.fullmatch(event.pop("at"))
    assert event == {
        "actorKind": "key",
        "actor": tenant.tokens[Role.admin][4:16],
        "origin": "testclient",
        "requestId": answer.headers["x-request-id"],
        "action": "secret.put",
        "target": "API_KEY",
        "details": {"new": True},
    }


def test_every_kind_of_change_is_written_down_newest_first(tenant: Household) -> None:
    address = new_address()
    member = add(tenant, address, "viewer").json()["id"]
    tenant.call("PATCH", f"/org/members/{member}", json={"role": "editor"})
    tenant.call("DELETE", f"/org/members/{member}")
    minted = tenant.call("POST", "/org/keys", json={"name": "k", "role": "viewer"}).json()
    tenant.call("DELETE", f"/org/keys/{minted['key']['id']}")
    tenant.call("PUT", "/org/secrets/S", json={"value": "hidden"})
    tenant.call("PUT", "/org/secrets/S", json={"value": "hidden"})
    tenant.call("DELETE", "/org/secrets/S")
    listed = tenant.call("GET", "/org/audit")
    assert [(row["action"], row["target"]) for row in listed.json()["rows"][:8]] == [
        ("secret.delete", "S"),
        ("secret.put", "S"),
        ("secret.put", "S"),
        ("key.revoke", minted["key"]["keyId"]),
        ("key.mint", minted["key"]["keyId"]),
        ("member.remove", address),
        ("member.role", address),
        ("member.add", address),
    ]
    assert "hidden" not in listed.text
    assert minted["token"][17:] not in listed.text


def test_the_operators_changes_are_shown_as_theirs(tenant: Household) -> None:
    first = tenant.call("GET", "/org/audit").json()["rows"][-1]
    assert (first["actorKind"], first["action"], first["requestId"]) == ("operator", "org.create", None)


def test_another_organizations_changes_are_not_shown(tenant: Household, neighbour: Household) -> None:
    neighbour.call("PUT", "/org/secrets/THEIRS", json={"value": "x"})
    rows = tenant.call("GET", "/org/audit?pageSize=200").json()["rows"]
    assert all(row["target"] != "THEIRS" for row in rows)


@pytest.mark.parametrize("path", ["/org/audit", "/org/keys", "/org/members", "/org/secrets"])
def test_a_list_is_read_page_by_page_without_gap_or_repetition(tenant: Household, path: str) -> None:
    for number in range(7):
        add(tenant, new_address(), "viewer")
        tenant.call("PUT", f"/org/secrets/S{number}", json={"value": "x"})
    whole = tenant.call("GET", f"{path}?pageSize=200").json()
    total = whole["total"]
    assert total == len(whole["rows"])
    assert (whole["page"], whole["pageSize"], whole["hasMore"]) == (1, 200, False)
    rows: list[object] = []
    for number in range(1, -(-total // 3) + 1):
        page = tenant.call("GET", f"{path}?pageSize=3&page={number}").json()
        assert (page["page"], page["pageSize"], page["total"]) == (number, 3, total)
        assert page["hasMore"] == (number * 3 < total)
        rows += page["rows"]
    assert rows == whole["rows"]
    beyond = tenant.call("GET", f"{path}?page=1000000&pageSize=200").json()
    assert beyond == {"rows": [], "page": 1_000_000, "pageSize": 200, "total": total, "hasMore": False}


def test_a_page_has_fifty_rows_unless_told_otherwise(tenant: Household) -> None:
    for number in range(51):
        tenant.call("PUT", f"/org/secrets/S{number}", json={"value": "x"})
    page = tenant.call("GET", "/org/secrets").json()
    assert (len(page["rows"]), page["pageSize"], page["total"], page["hasMore"]) == (50, 50, 51, True)
