"""`/org/members`: add, list, change, remove; an organization always keeps an owner."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ammeter.base.ids import is_id, new_id
from ammeter.features.orgs.model import Role
from tests.doors.test_org import INSTANT
from tests.household import Household, refusal


def test_an_added_member_has_every_field(tenant: Household) -> None:
    address = new_address()
    answer = add(tenant, address.upper(), "viewer", name="Zoë  Ünal", by=Role.admin)
    assert answer.status_code == 201
    member = answer.json()
    assert is_id(member.pop("id"))
    assert INSTANT.fullmatch(member.pop("createdAt"))
    assert member == {"email": address, "name": "Zoë  Ünal", "role": "viewer"}


def test_members_are_listed_for_every_role_in_the_order_they_came(tenant: Household) -> None:
    added = [add(tenant, new_address(), role.name).json() for role in Role]
    page = tenant.call("GET", "/org/members", Role.viewer).json()
    assert page == {"rows": added, "page": 1, "pageSize": 50, "total": 4, "hasMore": False}


def test_a_member_is_added_once_whatever_the_case_of_the_address(tenant: Household) -> None:
    address = new_address()
    assert add(tenant, address, "viewer").status_code == 201
    for spelling in (address, address.upper()):
        answer = add(tenant, spelling, "owner")
        assert refusal(answer) == (409, "conflict")
        assert address in answer.json()["error"]["message"]


def test_a_person_belongs_to_two_organizations_under_one_name(
    tenant: Household, neighbour: Household
) -> None:
    address = new_address()
    first = add(tenant, address, "viewer", name="First").json()
    second = add(neighbour, address, "owner", name="Second").json()
    assert (second["name"], second["role"]) == ("First", "owner")
    assert first["id"] != second["id"]
    assert tenant.call("DELETE", f"/org/members/{first['id']}").status_code == 200
    assert neighbour.call("GET", "/org/members").json()["total"] == 1


def test_a_role_is_changed_and_nothing_else(tenant: Household) -> None:
    member = add(tenant, new_address(), "viewer").json()
    changed = tenant.call("PATCH", f"/org/members/{member['id']}", Role.admin, json={"role": "admin"})
    assert changed.status_code == 200
    assert changed.json() == member | {"role": "admin"}
    assert tenant.call("GET", "/org/members").json()["rows"] == [changed.json()]


def test_a_removed_member_is_gone(tenant: Household) -> None:
    member = add(tenant, new_address(), "viewer").json()
    path = f"/org/members/{member['id']}"
    removed = tenant.call("DELETE", path, Role.admin)
    assert (removed.status_code, removed.json()) == (200, member)
    assert refusal(tenant.call("DELETE", path)) == (404, "not_found")
    assert refusal(tenant.call("PATCH", path, json={"role": "viewer"})) == (404, "not_found")
    assert add(tenant, member["email"], "viewer").status_code == 201


def test_the_only_owner_stays(tenant: Household) -> None:
    owner = add(tenant, new_address(), "owner").json()
    path = f"/org/members/{owner['id']}"
    for answer in (tenant.call("DELETE", path), tenant.call("PATCH", path, json={"role": "admin"})):
        assert refusal(answer) == (409, "conflict")
        assert "make another owner first" in answer.json()["error"]["message"]
    add(tenant, new_address(), "owner")
    assert tenant.call("DELETE", path).status_code == 200


def test_of_owners_removed_at_once_one_stays(tenant: Household) -> None:
    owners = [add(tenant, new_address(), "owner").json()["id"] for _ in range(4)]
    with ThreadPoolExecutor(4) as threads:
        answers = threads.map(lambda id_: tenant.call("DELETE", f"/org/members/{id_}"), owners)
        assert Counter(answer.status_code for answer in answers) == {200: 3, 409: 1}
    assert tenant.call("GET", "/org/members").json()["total"] == 1


def test_of_the_same_member_added_at_once_one_is_added(tenant: Household) -> None:
    for _ in range(4):
        address = new_address()
        with ThreadPoolExecutor(8) as threads:
            answers = threads.map(lambda _, to=address: add(tenant, to, "viewer"), range(8))
            assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 7}


def new_address() -> str:
    return f"{new_id()}@example.com"


def add(household: Household, email: str, role: str, *, name: str = "N", by: Role = Role.owner) -> Any:
    body = {"email": email, "name": name, "role": role}
    return household.call("POST", "/org/members", by, json=body)
