"""403: which role an operation takes, said in the answer, before anything is looked up or changed."""

from __future__ import annotations

from typing import Any

import pytest

from ammeter.base.ids import new_id
from ammeter.features.orgs.model import Role
from tests.household import Household, refusal

ADMINS = [
    ("GET", "/org/audit", None),
    ("GET", "/org/keys", None),
    ("POST", "/org/keys", {"name": "k", "role": "viewer"}),
    ("DELETE", "/org/keys/01a1dd54-7c8c-7f66-8000-000000000000", None),
    ("POST", "/org/members", {"email": "new@example.com", "name": "n", "role": "viewer"}),
    ("PATCH", "/org/members/01a1dd54-7c8c-7f66-8000-000000000000", {"role": "editor"}),
    ("DELETE", "/org/members/01a1dd54-7c8c-7f66-8000-000000000000", None),
    ("GET", "/org/secrets", None),
    ("PUT", "/org/secrets/NAME", {"value": "v"}),
    ("DELETE", "/org/secrets/NONE", None),
]


@pytest.mark.parametrize(("method", "path", "body"), ADMINS, ids=lambda part: str(part)[:30])
@pytest.mark.parametrize("role", list(Role))
def test_managing_the_organization_takes_an_admin_or_owner(
    tenant: Household, role: Role, method: str, path: str, body: dict[str, Any] | None
) -> None:
    if body and "email" in body:
        body = body | {"email": f"{new_id()}@example.com"}
    answer = tenant.call(method, path, role, **({"json": body} if body else {}))
    if role >= Role.admin:
        assert answer.status_code in (200, 201, 404)
        return
    assert refusal(answer) == (403, "insufficient_role")
    message = answer.json()["error"]["message"]
    assert f"the role admin or above; yours is {role.name}." in message


@pytest.mark.parametrize("role", list(Role))
def test_every_role_reads_the_organization_and_its_members(tenant: Household, role: Role) -> None:
    assert tenant.call("GET", "/org", role).status_code == 200
    assert tenant.call("GET", "/org/members", role).status_code == 200


def test_a_refused_change_leaves_no_trace(tenant: Household) -> None:
    before = tenant.call("GET", "/org/audit").json()["total"]
    tenant.call("PUT", "/org/secrets/NAME", Role.editor, json={"value": "v"})
    tenant.call("POST", "/org/keys", Role.editor, json={"name": "k", "role": "viewer"})
    assert tenant.call("GET", "/org/secrets").json()["total"] == 0
    assert tenant.call("GET", "/org/audit").json()["total"] == before


def test_nobody_mints_a_key_above_their_own_role(tenant: Household) -> None:
    answer = tenant.call("POST", "/org/keys", Role.admin, json={"name": "k", "role": "owner"})
    assert refusal(answer) == (403, "insufficient_role")
    assert "yours, which is admin" in answer.json()["error"]["message"]
    assert tenant.call("POST", "/org/keys", json={"name": "k", "role": "owner"}).status_code == 201


def test_an_admin_does_not_revoke_an_owners_key(tenant: Household) -> None:
    rows = tenant.call("GET", "/org/keys").json()["rows"]
    (owners,) = [row["id"] for row in rows if row["role"] == "owner"]
    answer = tenant.call("DELETE", f"/org/keys/{owners}", Role.admin)
    assert refusal(answer) == (403, "insufficient_role")
    assert "owner" in answer.json()["error"]["message"]


def test_only_an_owner_makes_changes_and_removes_owners(tenant: Household) -> None:
    def add(role: str, by: Role) -> Any:
        body = {"email": f"{new_id()}@example.com", "name": "n", "role": role}
        return tenant.call("POST", "/org/members", by, json=body)

    assert refusal(add("owner", Role.admin)) == (403, "insufficient_role")
    owner, editor = add("owner", Role.owner).json()["id"], add("editor", Role.admin).json()["id"]
    for answer in (
        tenant.call("PATCH", f"/org/members/{editor}", Role.admin, json={"role": "owner"}),
        tenant.call("PATCH", f"/org/members/{owner}", Role.admin, json={"role": "viewer"}),
        tenant.call("DELETE", f"/org/members/{owner}", Role.admin),
    ):
        assert refusal(answer) == (403, "insufficient_role")
        assert "owner" in answer.json()["error"]["message"]
    assert tenant.call("PATCH", f"/org/members/{editor}", json={"role": "owner"}).status_code == 200
