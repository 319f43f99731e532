"""`ammeter init`, `migrate` and `version`: the first minutes of a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ammeter import __version__
from ammeter.base.pages import PageRequest
from ammeter.cli.first import demo_owner
from ammeter.engines.db.migrate import known_migrations
from ammeter.features.orgs import keys, members, service
from ammeter.features.orgs.model import Role
from ammeter.features.sources.service import list_sources
from ammeter.wiring import House
from tests.cli.conftest import Cli, Place
from tests.household import OPERATOR, make_settings, opened_house
from tests.shared import new_org

ONCE = ["This server has an organization already; make more with: ammeter admin org create"]


def test_the_first_owner_signs_in_and_calls_with_what_init_prints(fresh_cli: Cli) -> None:
    made = fresh_cli.json("init", "--slug", "acme", "--name", "Acme GmbH", "--email", "Ada@Example.com")
    assert set(made) == {"org", "email", "password", "token"}
    with fresh_cli.house() as house, house.db.read() as tx:
        principal = keys.authenticate(tx, made["token"])
        assert members.password_is_right(tx, made["email"], made["password"])
        (owner,) = members.list_members(tx, principal.org.id, PageRequest()).rows
    assert (principal.org.slug, principal.org.name, principal.role) == ("acme", "Acme GmbH", Role.owner)
    assert (owner.email, owner.role) == ("ada@example.com", Role.owner)
    assert made["email"] == owner.email
    assert fresh_cli.refused("init") == ONCE
    assert fresh_cli.refused("init", "--slug", "other", "--json") == ONCE


def test_an_init_that_is_refused_makes_nothing_and_a_plain_one_shows_the_sign_in_once(
    fresh_cli: Cli,
) -> None:
    for words in (("--email", "nobody"), ("--slug", "No Slug"), ("--name", " ")):
        said, detail = fresh_cli.refused("init", *words)
        assert said == "1 field is not valid; see details."
        assert detail.startswith(words[0].removeprefix("--"))
    with fresh_cli.house() as house, house.db.read() as tx:
        assert service.list_orgs(tx, PageRequest()).total == 0
    done = fresh_cli("init")
    assert done.code == 0
    assert done.out.startswith("Made the first organization (password and token are shown this once)\n")
    assert (done.lines["org"], done.lines["email"]) == ("main", "owner@localhost")
    shown = fresh_cli("admin", "audit", "--org", "main", "--json").out
    assert done.lines["password"] not in shown
    assert done.lines["token"].rsplit("_", 1)[1] not in shown


def test_migrating_names_the_steps_and_then_has_nothing_to_do(fresh_cli: Cli) -> None:
    assert fresh_cli.json("migrate") == {"migrated": known_migrations()}
    assert fresh_cli.json("migrate") == {"migrated": []}
    assert fresh_cli("migrate").out.startswith("Nothing to do\n")
    fresh_cli("admin", "org", "create", "acme")
    assert fresh_cli.refused("init") == ONCE


def test_migrating_an_empty_database_shows_a_person_the_steps(at: Place, tmp_path: Path) -> None:
    assert at("", tmp_path)("migrate").lines == {"migrated": ", ".join(known_migrations())}


def test_the_version_is_one_word(at: Place, tmp_path: Path) -> None:
    cli = at("", tmp_path)
    assert cli("version").out == f"{__version__}\n"


def test_help_names_every_command_and_noun(at: Place, tmp_path: Path) -> None:
    cli = at("", tmp_path)
    top, admin = cli("--help"), cli("admin", "--help")
    assert (top.code, admin.code) == (0, 0)
    for word in ("serve", "init", "migrate", "version", "admin"):
        assert word in top.out
    for noun in ("org", "member", "key", "secret", "feature", "source", "audit"):
        assert noun in admin.out
    assert cli("admin", "unknown").code == 2


def test_json_keeps_letters_as_they_are(at: Place, tmp_path: Path) -> None:
    done = at("", tmp_path)("admin", "org", "create", "acme", "--name", "Schlüssel 🔑", "--json")
    assert "Schlüssel 🔑" in done.out
    assert json.loads(done.out)["name"] == "Schlüssel 🔑"


def test_the_demo_is_made_once_and_its_owner_remembered_for_the_next_start(house: House) -> None:
    owner = demo_owner(house)
    assert owner is not None
    assert demo_owner(house) == owner
    assert (house.settings.data_dir / "demo.json").stat().st_mode & 0o777 == 0o600
    with house.db.read() as tx:
        org = keys.authenticate(tx, owner.token).org
        assert members.password_is_right(tx, owner.email, owner.password)
        (source,) = list_sources(tx, org.id, PageRequest()).rows
    assert (org.slug, source.source_slug) == ("demo", "demo-api")
    assert (org.mcp_analytics, org.code_mode) == (True, True)


@pytest.mark.parametrize("kept", ["{}", "\xff", '{"org": "", "email": "", "password": "", "token": ""}'])
def test_a_demo_that_is_remembered_wrongly_is_made_anew(tmp_path: Path, kept: str) -> None:
    file = tmp_path / "demo.json"
    file.write_text(kept, encoding="latin-1")
    file.chmod(0o644)
    with opened_house(make_settings("", tmp_path)) as house:
        owner = demo_owner(house)
        assert owner is not None
        assert demo_owner(house) == owner
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_server_with_another_organization_gets_no_demo(house: House) -> None:
    with house.db.write() as tx:
        new_org(tx)
    assert demo_owner(house) is None
    assert not (house.settings.data_dir / "demo.json").exists()


def test_a_demo_key_that_was_revoked_is_not_shown_again(house: House) -> None:
    owner = demo_owner(house)
    assert owner is not None
    with house.db.write() as tx:
        org = service.get_org(tx, "demo")
        keys.revoke_key(tx, OPERATOR, org.id, owner.token.split("_")[1])
    assert demo_owner(house) is None
