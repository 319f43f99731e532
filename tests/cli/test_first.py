"""`ammeter init`, `migrate` and `version`: the first minutes of a server."""

from __future__ import annotations

import json
from pathlib import Path

from ammeter import __version__
from ammeter.base.pages import PageRequest
from ammeter.engines.db.migrate import known_migrations
from ammeter.features.orgs import keys, members, service
from ammeter.features.orgs.model import Role
from tests.cli.conftest import Cli, Place

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


def test_init_needs_no_words_and_says_that_it_shows_the_sign_in_once(fresh_cli: Cli) -> None:
    done = fresh_cli("init")
    assert done.code == 0
    assert done.out.startswith("Made the first organization (password and token are shown this once)\n")
    assert (done.lines["org"], done.lines["email"]) == ("main", "owner@localhost")
    assert fresh_cli.json("admin", "key", "list", "--org", "main")["total"] == 1
    shown = fresh_cli("admin", "audit", "--org", "main", "--json").out
    assert done.lines["password"] not in shown
    assert done.lines["token"].rsplit("_", 1)[1] not in shown


def test_an_init_that_is_refused_makes_nothing(fresh_cli: Cli) -> None:
    for words in (("--email", "nobody"), ("--slug", "No Slug"), ("--name", " ")):
        said, detail = fresh_cli.refused("init", *words)
        assert said == "1 field is not valid; see details."
        assert detail.startswith(words[0].removeprefix("--"))
    with fresh_cli.house() as house, house.db.read() as tx:
        assert service.list_orgs(tx, PageRequest()).total == 0
    assert fresh_cli("init").code == 0


def test_init_is_refused_where_an_organization_was_made_otherwise(fresh_cli: Cli) -> None:
    fresh_cli("admin", "org", "create", "acme")
    assert fresh_cli.refused("init") == ONCE


def test_migrating_names_the_steps_and_then_has_nothing_to_do(fresh_cli: Cli) -> None:
    assert fresh_cli.json("migrate") == {"migrated": known_migrations()}
    assert fresh_cli.json("migrate") == {"migrated": []}
    done = fresh_cli("migrate")
    assert done.out.startswith("Nothing to do\n")


def test_migrating_an_empty_database_shows_a_person_the_steps(fresh_cli: Cli) -> None:
    assert fresh_cli("migrate").lines == {"migrated": ", ".join(known_migrations())}


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
