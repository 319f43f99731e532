"""`ammeter admin org`, `feature`, `source` and `audit`."""

from __future__ import annotations

from pathlib import Path

import pytest

from ammeter.base.clock import parse_rfc3339
from ammeter.base.ids import is_id, new_id
from ammeter.features.orgs import service
from tests.cli.conftest import Cli, Place


def test_an_organization_is_made_shown_and_listed(cli: Cli) -> None:
    slug = f"org-{new_id()}"
    made = cli.json("admin", "org", "create", slug, "--name", "Acme GmbH", "--region", "eu")
    assert is_id(made["id"])
    assert parse_rfc3339(made["created_at"])
    assert made | {"id": "", "created_at": ""} == {
        "id": "",
        "slug": slug,
        "name": "Acme GmbH",
        "region": "eu",
        "mcp_analytics": False,
        "code_mode": False,
        "included_runs": None,
        "created_at": "",
    }
    for name in (slug, made["id"]):
        assert cli.json("admin", "org", "show", name) == made
    assert made in cli.json("admin", "org", "list", "--page-size", "200")["rows"]
    with cli.house() as house, house.db.read() as tx:
        assert service.get_org(tx, slug).id == made["id"]


def test_an_organization_is_shown_to_a_person_as_lines_and_as_a_table(cli: Cli) -> None:
    slug = f"org-{new_id()}"
    made = cli("admin", "org", "create", slug)
    assert made.out.startswith("Made the organization\n")
    assert (made.lines["slug"], made.lines["name"], made.lines["included_runs"]) == (slug, slug, "-")
    assert cli("admin", "org", "show", slug).lines == made.lines
    heading, *rows = cli("admin", "org", "list", "--page-size", "200").table
    assert heading[:4] == ["slug", "name", "region", "mcp_analytics"]
    (row,) = [row for row in rows if row[0] == slug]
    assert row[:6] == [slug, slug, "us", "off", "off", "-"]


def test_the_region_of_an_organization_is_the_servers_where_none_is_named(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMMETER_REGION", "eu")
    assert cli.json("admin", "org", "create", f"org-{new_id()}")["region"] == "eu"


def test_a_list_tells_where_the_next_page_is(cli: Cli, org: str) -> None:
    cli("admin", "org", "create", f"org-{new_id()}")
    page = cli.json("admin", "org", "list", "--page-size", "1")
    assert (len(page["rows"]), page["page"], page["page_size"], page["has_more"]) == (1, 1, 1, True)
    table = cli("admin", "org", "list", "--page-size", "1").out.splitlines()
    assert len(table) == 3
    assert table[-1].startswith(f"… page 1 of {page['total']} rows")
    assert table[-1].endswith("--page 2")
    beyond = cli.json("admin", "org", "list", "--page", "1000")
    assert (beyond["rows"], beyond["has_more"], beyond["total"]) == ([], False, page["total"])


def test_a_slug_that_is_taken_or_wrong_is_refused_in_a_line(cli: Cli, org: str) -> None:
    assert cli.refused("admin", "org", "create", org) == [
        f"An organization with the slug {org!r} exists already."
    ]
    said, detail = cli.refused("admin", "org", "create", "No Slug", "--name", "Acme")
    assert said == "1 field is not valid; see details."
    assert detail.startswith("slug: a slug is 1 to 63 lower-case letters")
    assert cli.refused("admin", "org", "create", "ok", "--name", "two\nlines")[1].startswith("name: ")


def test_included_runs_are_set_and_lifted(cli: Cli, org: str) -> None:
    assert cli.json("admin", "org", "included-runs", org, "100")["included_runs"] == 100
    assert cli.json("admin", "org", "show", org)["included_runs"] == 100
    done = cli("admin", "org", "included-runs", org, "unlimited")
    assert done.out.startswith("Set the included runs\n")
    assert cli.json("admin", "org", "show", org)["included_runs"] is None


def test_included_runs_that_are_no_number_are_refused(at: Place, tmp_path: Path) -> None:
    cli = at("", tmp_path)
    for runs in ("many", "1.5", "²", "٣", "9" * 5000, "", "-1"):
        done = cli("admin", "org", "included-runs", "any", "--", runs)
        assert (done.code, done.out) == (2, ""), runs
        assert "neither a number nor 'unlimited'" in done.unboxed


def test_included_runs_that_are_too_many_are_refused(cli: Cli, org: str) -> None:
    _, detail = cli.refused("admin", "org", "included-runs", org, "2000000001")
    assert detail.startswith("includedRuns: included runs are 0 to 2,000,000,000")


@pytest.mark.parametrize(
    "command",
    [
        ("org", "show", "nobody"),
        ("org", "included-runs", "nobody", "5"),
        ("member", "list", "--org", "nobody"),
        ("member", "add", "--org", "nobody", "a@example.com"),
        ("key", "mint", "--org", "nobody", "--name", "CI"),
        ("secret", "list", "--org", "nobody"),
        ("feature", "enable", "--org", "nobody", "code-mode"),
        ("source", "provision", "--org", "nobody", "pay"),
        ("audit", "--org", "nobody"),
    ],
)
def test_an_unknown_organization_is_named_in_one_line(cli: Cli, command: tuple[str, ...]) -> None:
    assert cli.refused("admin", *command) == ["No such organization 'nobody'."]


def test_features_are_switched_and_shown(cli: Cli, org: str) -> None:
    off = {"org": org, "mcp-analytics": False, "code-mode": False}
    assert cli.json("admin", "feature", "list", "--org", org) == off
    on = cli.json("admin", "feature", "enable", "--org", org, "code-mode")
    assert on == off | {"code-mode": True}
    assert cli("admin", "feature", "enable", "--org", org, "mcp-analytics").lines == {
        "org": org,
        "mcp-analytics": "on",
        "code-mode": "on",
    }
    cli("admin", "feature", "disable", "--org", org, "code-mode")
    assert cli.json("admin", "feature", "list", "--org", org) == off | {"mcp-analytics": True}
    assert cli("admin", "feature", "enable", "--org", org, "telepathy").code == 2


def test_a_source_is_provisioned_once_and_listed(cli: Cli, org: str) -> None:
    slug = f"pay-{new_id()}"
    made = cli.json("admin", "source", "provision", "--org", org, slug, "--name", "Payments")
    assert (made["source_slug"], made["name"], made["status"]) == (slug, "Payments", "active")
    assert cli.json("admin", "source", "list", "--org", org)["rows"] == [made]
    assert cli("admin", "source", "list", "--org", org).table == [
        ["source_slug", "name", "environment", "status", "id"],
        [slug, "Payments", "production", "active", made["id"]],
    ]
    assert cli.refused("admin", "source", "provision", "--org", org, slug) == [
        f"The source slug {slug!r} is taken."
    ]
    named_by_slug = cli("admin", "source", "provision", "--org", org, f"{slug}-2")
    assert named_by_slug.lines["name"] == f"{slug}-2"


def test_the_audit_log_shows_what_the_operator_did_newest_first(cli: Cli, org: str) -> None:
    cli("admin", "feature", "enable", "--org", org, "code-mode")
    events = cli.json("admin", "audit", "--org", org)
    newest, oldest = events["rows"]
    assert (newest["action"], newest["details"]) == ("org.features", {"code_mode": True})
    assert (oldest["action"], oldest["target"]) == ("org.create", org)
    assert newest["actor_kind"] == "operator"
    assert newest["actor"]
    assert newest["origin"].startswith("cli@")
    heading, first, _ = cli("admin", "audit", "--org", org).table
    assert heading == ["at", "actor_kind", "actor", "origin", "action", "target"]
    assert first == [newest[column] for column in heading]
    assert len(cli.json("admin", "audit", "--org", org, "--page-size", "1")["rows"]) == 1
