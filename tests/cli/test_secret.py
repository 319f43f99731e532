"""`ammeter admin secret`: values come by standard input alone and never go out."""

from __future__ import annotations

import base64

import pytest
from sqlalchemy import select

from ammeter.base.ids import new_id
from ammeter.engines.db.tables import org_secrets
from ammeter.features.orgs import service
from tests.cli.conftest import Cli

VALUE = "sk_live_51Habcdefghijklmnop"


def revealed(cli: Cli, org: str, name: str) -> str:
    with cli.house() as house, house.db.read() as tx:
        value: str = house.secrets.reveal(tx, service.get_org(tx, org).id, name)
    return value


def test_a_secret_is_set_by_standard_input_listed_and_deleted_and_never_shown(cli: Cli, org: str) -> None:
    said = []
    first = cli("admin", "secret", "set", "--org", org, "STRIPE_KEY", stdin=f"{VALUE}\n")
    assert first.out.startswith("Set the secret, new\n")
    assert revealed(cli, org, "STRIPE_KEY") == VALUE
    again = cli.json("admin", "secret", "set", "--org", org, "STRIPE_KEY", stdin=f"{VALUE}2")
    assert revealed(cli, org, "STRIPE_KEY") == f"{VALUE}2"
    table = cli("admin", "secret", "list", "--org", org)
    assert table.table == [
        ["name", "created_at", "updated_at"],
        ["STRIPE_KEY", again["created_at"], again["updated_at"]],
    ]
    listed = cli.json("admin", "secret", "list", "--org", org)
    assert listed["rows"] == [again]
    log = cli("admin", "audit", "--org", org, "--json")
    said += [first.out, first.err, str(again), table.out, str(listed), log.out]
    assert VALUE not in "".join(said)
    assert cli.json("admin", "secret", "delete", "--org", org, "STRIPE_KEY") == {"deleted": "STRIPE_KEY"}
    assert cli.refused("admin", "secret", "delete", "--org", org, "STRIPE_KEY") == ["No such secret."]
    assert cli.json("admin", "secret", "list", "--org", org)["total"] == 0


def test_a_value_of_several_lines_loses_only_its_last_line_break(cli: Cli, org: str) -> None:
    for typed, kept in (
        ("-----BEGIN-----\nabc\n-----END-----\n", "-----BEGIN-----\nabc\n-----END-----"),
        ("from windows\r\n", "from windows"),
        (" blanks stay ", " blanks stay "),
    ):
        cli("admin", "secret", "set", "--org", org, "PEM", stdin=typed)
        assert revealed(cli, org, "PEM") == kept


def test_a_value_on_the_command_line_is_not_taken(cli: Cli, org: str) -> None:
    done = cli("admin", "secret", "set", "--org", org, "STRIPE_KEY", VALUE, stdin="x")
    assert done.code == 2
    assert "unexpected extra argument" in done.unboxed.lower()
    assert cli.json("admin", "secret", "list", "--org", org)["total"] == 0


@pytest.mark.parametrize(
    ("name", "stdin", "said"),
    [
        ("STRIPE_KEY", "", "value: a secret's value has 1 to 16,384 characters"),
        ("STRIPE_KEY", "\n", "value: a secret's value has 1 to 16,384 characters"),
        ("STRIPE_KEY", "v" * 16_385, "value: a secret's value has 1 to 16,384 characters"),
        ("STRIPE_KEY", b"\xff\xfe binary", "value: a secret's value is text in UTF-8"),
        ("stripe-key", VALUE, "secretName: a secret's name is at most 64 upper-case letters"),
    ],
)
def test_a_wrong_name_or_value_is_refused_without_showing_the_value(
    cli: Cli, org: str, name: str, stdin: str | bytes, said: str
) -> None:
    refusal = cli.refused("admin", "secret", "set", "--org", org, name, stdin=stdin)
    assert refusal[0] == "1 field is not valid; see details."
    assert refusal[1].startswith(said)
    assert VALUE not in str(refusal)


def test_rotating_the_key_file_seals_everything_anew(fresh_cli: Cli) -> None:
    cli, org = fresh_cli, "acme"
    cli("admin", "org", "create", org)
    for name in ("A", "B"):
        cli("admin", "secret", "set", "--org", org, name, stdin=name.lower())
    before = (cli.folder / "sealing.key").read_text()
    assert cli.json("admin", "secret", "rotate-key") == {"resealed": 2}
    assert (cli.folder / "sealing.key").read_text().splitlines()[1:] == before.splitlines()
    done = cli("admin", "secret", "rotate-key")
    assert done.out.startswith("Rotated the sealing key\n")
    assert done.lines == {"resealed": "2"}
    assert [revealed(cli, org, name) for name in ("A", "B")] == ["a", "b"]
    assert before.strip() not in (cli.folder / "sealing.key").read_text()


def test_rotating_by_the_setting_lets_the_old_key_go(fresh_cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    cli, org = fresh_cli, "acme"
    old, new = (base64.b64encode(letter * 32).decode() for letter in (b"o", b"n"))
    monkeypatch.setenv("AMMETER_SEALING_KEYS", old)
    cli("admin", "org", "create", org)
    cli("admin", "secret", "set", "--org", org, "A", stdin="alpha")
    monkeypatch.setenv("AMMETER_SEALING_KEYS", f"{new},{old}")
    assert cli.json("admin", "secret", "rotate-key") == {"resealed": 1}
    monkeypatch.setenv("AMMETER_SEALING_KEYS", new)
    assert cli.json("admin", "secret", "list", "--org", org)["total"] == 1
    assert not (cli.folder / "sealing.key").exists()
    monkeypatch.setenv("AMMETER_SEALING_KEYS", old)
    (said,) = cli.refused("admin", "secret", "list", "--org", org)
    assert said.startswith("Secrets in the database are sealed under the key ")
    assert old not in said


def test_a_sealing_key_file_that_others_can_read_stops_every_command(fresh_cli: Cli) -> None:
    fresh_cli("admin", "org", "create", f"org-{new_id()}")
    file = fresh_cli.folder / "sealing.key"
    file.chmod(0o644)
    assert fresh_cli.refused("admin", "org", "list") == [
        f"{file} can be read by others; run: chmod 600 {file}"
    ]
    file.chmod(0o600)
    file.write_text("damaged")
    (said,) = fresh_cli.refused("admin", "org", "list")
    assert said.startswith(f"{file}: each sealing key is 32 bytes in base64")


def test_what_is_kept_of_a_secret_is_sealed(cli: Cli, org: str) -> None:
    cli("admin", "secret", "set", "--org", org, "STRIPE_KEY", stdin=VALUE)
    with cli.house() as house, house.db.read() as tx:
        kept = tx.scalars(select(org_secrets.c.sealed)).all()
    assert all(VALUE.encode() not in sealed for sealed in kept)
