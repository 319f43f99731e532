"""`ammeter admin member` and `ammeter admin key`."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from ammeter.base.clock import now, parse_rfc3339
from ammeter.base.errors import Unauthenticated
from ammeter.base.ids import new_id
from ammeter.features.orgs import keys, members
from ammeter.features.orgs.model import Principal
from tests.cli.conftest import Cli, Place


def new_address() -> str:
    return f"p{new_id()}@example.com"


def signs_in(cli: Cli, email: str, password: str) -> bool:
    with cli.house() as house, house.db.read() as tx:
        return members.password_is_right(tx, email, password)


def whose(cli: Cli, token: str) -> Principal:
    with cli.house() as house, house.db.read() as tx:
        return keys.authenticate(tx, token)


def test_a_new_member_gets_a_password_that_is_shown_this_once(cli: Cli, org: str) -> None:
    email = new_address()
    added = cli.json("admin", "member", "add", "--org", org, email, "--role", "owner", "--name", "Ada")
    assert (added["email"], added["name"], added["role"]) == (email, "Ada", "owner")
    assert signs_in(cli, email, added["password"])
    listed = cli("admin", "member", "list", "--org", org)
    assert listed.table[0] == ["email", "name", "role", "created_at", "id"]
    assert listed.table[1] == [email, "Ada", "owner", added["created_at"], added["id"]]
    assert added["password"] not in listed.out + cli("admin", "audit", "--org", org).out


def test_a_known_person_joins_without_a_new_password(cli: Cli, org: str) -> None:
    email, other = new_address(), f"org-{new_id()}"
    first = cli("admin", "member", "add", "--org", org, email)
    assert first.out.startswith("Added the member (the password is shown this once)\n")
    assert (first.lines["name"], first.lines["role"]) == (email, "viewer")
    cli("admin", "org", "create", other)
    second = cli("admin", "member", "add", "--org", other, email.upper(), "--role", "admin")
    assert second.out.startswith("Added the member\n")
    assert "password" not in second.lines
    assert signs_in(cli, email, first.lines["password"])
    assert cli.refused("admin", "member", "add", "--org", other, email) == [f"{email} is a member already."]
    assert cli.refused("admin", "member", "add", "--org", other, "nobody")[1] == (
        "email: this is not an e-mail address"
    )


def test_a_role_changes_and_a_member_goes_but_the_last_owner_stays(cli: Cli, org: str) -> None:
    owner, other = new_address(), new_address()
    cli("admin", "member", "add", "--org", org, owner, "--role", "owner")
    cli("admin", "member", "add", "--org", org, other)
    assert cli.json("admin", "member", "role", "--org", org, other, "--role", "admin")["role"] == "admin"
    only = [f"{owner} is the only owner; make another owner first."]
    assert cli.refused("admin", "member", "role", "--org", org, owner, "--role", "viewer") == only
    assert cli.refused("admin", "member", "remove", "--org", org, owner) == only
    assert cli.json("admin", "member", "remove", "--org", org, other)["email"] == other
    assert [row["email"] for row in cli.json("admin", "member", "list", "--org", org)["rows"]] == [owner]
    assert cli.refused("admin", "member", "remove", "--org", org, other) == ["No such member."]
    assert cli("admin", "member", "role", "--org", org, owner, "--role", "king").code == 2


def test_a_forgotten_password_is_replaced(cli: Cli, org: str) -> None:
    email = new_address()
    old = cli.json("admin", "member", "add", "--org", org, email)["password"]
    fresh = cli.json("admin", "member", "password", "--org", org, email)
    assert fresh["email"] == email
    assert signs_in(cli, email, fresh["password"])
    assert not signs_in(cli, email, old)
    assert cli.refused("admin", "member", "password", "--org", org, "nobody@example.com") == [
        "No such member."
    ]


def test_a_minted_key_lets_in_and_its_token_is_shown_this_once(cli: Cli, org: str) -> None:
    minted = cli.json("admin", "key", "mint", "--org", org, "--name", "CI", "--role", "editor")
    token = minted.pop("token")
    principal = whose(cli, token)
    assert (principal.org.slug, principal.key.key_id, principal.role.name) == (
        org,
        minted["key_id"],
        "editor",
    )
    assert (minted["expires_at"], minted["source_ids"]) == (None, None)
    assert cli.json("admin", "key", "list", "--org", org)["rows"] == [minted]
    shown = cli("admin", "key", "list", "--org", org)
    assert shown.table[0][:4] == ["key_id", "name", "role", "source_ids"]
    assert shown.table[1][:4] == [minted["key_id"], "CI", "editor", "-"]
    assert token.rsplit("_", 1)[1] not in shown.out + cli("admin", "audit", "--org", org).out
    second = cli("admin", "key", "mint", "--org", org, "--name", "second")
    assert second.out.startswith("Minted the key (the token is shown this once)\n")
    assert whose(cli, second.lines["token"]).role.name == "viewer"
    names = [row["name"] for row in cli.json("admin", "key", "list", "--org", org)["rows"]]
    assert names == ["second", "CI"]


def test_a_key_is_limited_in_time_and_to_sources(cli: Cli, org: str) -> None:
    one, two = (cli.json("admin", "source", "provision", "--org", org, f"s{n}-{new_id()}") for n in (1, 2))
    mint = ("admin", "key", "mint", "--org", org, "--name", "CI")
    days = cli.json(*mint, "--expires", "30d", "--source", one["source_slug"], "--source", two["id"])
    assert abs(parse_rfc3339(days["expires_at"]) - now() - timedelta(days=30)) < timedelta(minutes=1)
    assert days["source_ids"] == [one["id"], two["id"]]
    instant = cli.json(*mint, "--expires", "2099-01-31T01:00:00+01:00")
    assert instant["expires_at"] == "2099-01-31T00:00:00.000Z"
    assert cli.refused(*mint, "--source", "nowhere")[1] == "sourceIds[0]: no such source: 'nowhere'"
    for past in ("2020-01-31T00:00:00Z", "0d"):
        assert cli.refused(*mint, "--expires", past)[1] == "expiresAt: a key must expire in the future"


def test_an_expiry_that_is_neither_days_nor_an_instant_is_refused(at: Place, tmp_path: Path) -> None:
    cli = at("", tmp_path)
    no_days = ("30", "d", "-1d", "1.5d", "²d", "99999999999d", "9" * 5000 + "d")
    for expires in (*no_days, "soon", "2099-01-31", "2099-02-30T00:00:00Z", "0001-01-01T00:00:00+01:00"):
        done = cli("admin", "key", "mint", "--org", "any", "--name", "CI", "--expires", expires)
        assert (done.code, done.out) == (2, ""), expires
        assert "is neither days (30d) nor an instant" in done.unboxed


def test_a_revoked_key_is_refused_and_revoked_only_once(cli: Cli, org: str) -> None:
    minted = cli.json("admin", "key", "mint", "--org", org, "--name", "CI")
    revoked = cli.json("admin", "key", "revoke", "--org", org, minted["key_id"])
    assert revoked["revoked_at"]
    with pytest.raises(Unauthenticated):
        whose(cli, minted["token"])
    assert cli.refused("admin", "key", "revoke", "--org", org, minted["id"]) == [
        f"The key {minted['key_id']} is revoked already."
    ]
    assert cli.refused("admin", "key", "revoke", "--org", org, "nothing") == ["No such API key."]
    other = f"org-{new_id()}"
    cli("admin", "org", "create", other)
    assert cli.refused("admin", "key", "revoke", "--org", other, minted["key_id"]) == ["No such API key."]


def test_a_key_without_a_good_name_is_not_minted(cli: Cli, org: str) -> None:
    assert cli.refused("admin", "key", "mint", "--org", org, "--name", "")[1].startswith("name: a name is")
    assert cli("admin", "key", "mint", "--org", org).code == 2
    assert cli.json("admin", "key", "list", "--org", org)["total"] == 0
