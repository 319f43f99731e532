"""`ammeter suite` against a real server: by names and ids, as people type them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ammeter.features.orgs.model import Role
from tests.cli.conftest import Place
from tests.evaluating import LOOPBACK, add_source
from tests.features.suites.suiting import case
from tests.household import make_client, make_household, make_settings, opened_house
from tests.notes_server import notes_server
from tests.server import running, until


def test_a_suite_from_its_making_to_its_archive(
    sqlite_url: str, tmp_path: Path, at: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = make_settings(sqlite_url, tmp_path, **LOOPBACK)
    with notes_server() as notes:
        notes.notes["milk"] = "kept"
        with opened_house(settings) as house, make_client(house) as client:
            household = make_household(house, client)
            source = add_source(house, household.org.id, notes.url)
            milk = case(household, source, "milk")
            case(household, source, "eggs")
            token = household.tokens[Role.editor]
        loopback = {"allow_private_networks": "127.0.0.0/8", "database_url": sqlite_url}
        with running(tmp_path, **loopback) as server:
            cli = at(sqlite_url, tmp_path)
            monkeypatch.setenv("AMMETER_URL", server.url)
            monkeypatch.setenv("AMMETER_API_KEY", token)

            def told(*args: str, exits: int = 0) -> Any:
                done = cli(*args)
                assert done.code == exits, done.out + done.err
                return json.loads(done.out) if "--json" in args else done.out + done.unboxed

            made = told("suite", "create", "release", "--case", "Read milk", "--case", "Read eggs", "--json")
            assert [one["name"] for one in made["cases"]] == ["Read milk", "Read eggs"]
            assert "did you mean" in told("suite", "create", "x", "--case", "Read mlik", exits=2).lower()
            assert "name at least one workflow" in told("suite", "create", "x", exits=2)
            assert "outcome Passed, every case" in told("suite", "list")
            changed = told(
                "suite", "change", "release", "--case", milk, "--repeats", "2", "--min-score", "0.5"
            )
            assert "gate: score >= 0.5, every case; 2 runs of each case" in changed
            assert "Read eggs" not in told("suite", "show", made["id"])
            started = told("suite", "run", "release", "--baseline", "last", "--json")
            assert (started["progress"]["runs"], started["baselineSuiteRunId"]) == (2, None)

            def ended() -> bool:
                found = told("suite", "result", started["id"], "--json")
                return bool(found["status"] != "running")

            until(ended, "the suite run has ended", 30)
            shown = told("suite", "result", started["id"])
            assert "Ready to ship" in shown
            assert "2/2" in shown
            again = told("suite", "run", "release", "--baseline", started["id"], "--json")
            told("suite", "cancel", again["id"])
            compared = told("suite", "result", again["id"], "--baseline", started["id"])
            assert f"Against {started['id']}" in compared
            assert started["id"] in told("suite", "runs", "release")
            assert len(told("suite", "runs", "--json")["rows"]) == 2
            told("suite", "archive", "release")
            assert "there is no suite called 'release'" in told("suite", "show", "release", exits=2)
            assert "archived" in told("suite", "run", made["id"], exits=1)
