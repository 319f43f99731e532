"""`/org/keys`: mint, list, revoke; exact fields, and a token that is seen once."""

from __future__ import annotations

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

from ammeter.base.clock import now, rfc3339
from ammeter.base.ids import is_id
from ammeter.features.orgs.model import Role
from ammeter.features.sources.service import provision_source
from tests.doors.test_org import INSTANT
from tests.household import API, OPERATOR, Household, refusal

TOKEN = re.compile(r"amt_([a-z2-7]{12})_[a-z2-7]{48}")


def test_a_minted_key_has_every_field_and_works_at_once(tenant: Household) -> None:
    answer = tenant.call("POST", "/org/keys", Role.admin, json={"name": "CI", "role": "editor"})
    assert answer.status_code == 201
    minted = answer.json()
    assert set(minted) == {"key", "token"}
    key, parts = minted["key"], TOKEN.fullmatch(minted["token"])
    assert parts
    assert is_id(key.pop("id"))
    assert INSTANT.fullmatch(key.pop("createdAt"))
    assert key == {
        "keyId": parts[1],
        "name": "CI",
        "role": "editor",
        "sourceIds": None,
        "createdBy": tenant.tokens[Role.admin][4:16],
        "expiresAt": None,
        "revokedAt": None,
        "lastUsedAt": None,
    }
    org = tenant.client.get(f"{API}/org", headers={"authorization": f"Bearer {minted['token']}"}).json()
    assert (org["id"], org["role"]) == (tenant.org.id, "editor")


def test_an_expiry_in_any_zone_is_kept_as_utc_milliseconds(tenant: Household) -> None:
    for given, kept in (
        ("2030-01-31T01:02:03Z", "2030-01-31T01:02:03.000Z"),
        ("2030-01-31t01:02:03.4567z", "2030-01-31T01:02:03.456Z"),
        ("2030-01-31T01:02:03.5+02:00", "2030-01-30T23:02:03.500Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ):
        answer = tenant.call("POST", "/org/keys", json={"name": "k", "role": "viewer", "expiresAt": given})
        assert answer.status_code == 201
        assert answer.json()["key"]["expiresAt"] == kept


def test_a_key_is_limited_to_sources_named_by_slug_or_id(tenant: Household) -> None:
    with tenant.house.db.write() as tx:
        made = [
            provision_source(
                tx, OPERATOR, tenant.org.id, name="S", source_slug=f"s-{tenant.org.id[-12:]}-{i}"
            )
            for i in range(2)
        ]
    wanted = [str(made[0].source_slug), made[1].id]
    answer = tenant.call("POST", "/org/keys", json={"name": "k", "role": "viewer", "sourceIds": wanted})
    assert answer.json()["key"]["sourceIds"] == [made[0].id, made[1].id]
    none = tenant.call("POST", "/org/keys", json={"name": "k", "role": "viewer", "sourceIds": []})
    assert none.json()["key"]["sourceIds"] == []


def test_keys_are_listed_newest_first_without_their_tokens(tenant: Household) -> None:
    minted = [
        tenant.call("POST", "/org/keys", json={"name": f"k{i}", "role": "viewer"}).json() for i in range(3)
    ]
    listed = tenant.call("GET", "/org/keys", Role.admin)
    rows = listed.json()["rows"]
    assert [row["name"] for row in rows[:3]] == ["k2", "k1", "k0"]
    assert {row["name"] for row in rows[3:]} == {role.name for role in Role}
    assert rows[0] == minted[2]["key"]
    for each in minted:
        assert each["token"][17:] not in listed.text


def test_a_revoked_key_stays_listed_and_is_revoked_once(tenant: Household) -> None:
    minted = tenant.call("POST", "/org/keys", json={"name": "k", "role": "viewer"}).json()["key"]
    revoked = tenant.call("DELETE", f"/org/keys/{minted['id']}", Role.admin)
    assert revoked.status_code == 200
    assert INSTANT.fullmatch(revoked.json()["revokedAt"])
    assert revoked.json() | {"revokedAt": None} == minted
    assert tenant.call("GET", "/org/keys").json()["rows"][0] == revoked.json()
    assert refusal(tenant.call("DELETE", f"/org/keys/{minted['id']}")) == (409, "conflict")


def test_a_key_may_revoke_itself(tenant: Household) -> None:
    rows = tenant.call("GET", "/org/keys").json()["rows"]
    (own,) = [row["id"] for row in rows if row["role"] == "owner"]
    assert tenant.call("DELETE", f"/org/keys/{own}").status_code == 200
    assert refusal(tenant.call("GET", "/org")) == (401, "unauthenticated")


def test_the_last_use_of_a_key_is_shown(tenant: Household) -> None:
    before = now() - timedelta(seconds=1)
    assert tenant.call("GET", "/org", Role.viewer).status_code == 200
    tenant.house.last_used.flush()
    rows = tenant.call("GET", "/org/keys").json()["rows"]
    (used,) = [row["lastUsedAt"] for row in rows if row["role"] == "viewer"]
    assert rfc3339(before) <= used <= rfc3339(now())


def test_keys_minted_at_the_same_moment_all_differ_and_all_work(tenant: Household) -> None:
    count = 24

    def mint(number: int) -> str:
        answer = tenant.call("POST", "/org/keys", json={"name": f"k{number}", "role": "viewer"})
        return str(answer.json()["token"])

    def use(token: str) -> int:
        headers = {"authorization": f"Bearer {token}"}
        return tenant.client.get(f"{API}/org", headers=headers).status_code

    with ThreadPoolExecutor(8) as threads:
        tokens = list(threads.map(mint, range(count)))
        assert len(set(tokens)) == count
        assert Counter(threads.map(use, tokens)) == {200: count}
