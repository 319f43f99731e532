"""`ammeter workflow`, `run` and `sync` as CI uses them: against a real server, with its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import text

from ammeter.features.orgs.model import Role
from tests.cli.conftest import Place
from tests.evaluating import LOOPBACK, add_source, plan, step
from tests.household import make_client, make_household, make_settings, opened_house
from tests.notes_server import notes_server
from tests.server import running


def test_workflows_from_files_are_created_changed_run_and_judged(
    sqlite_url: str, tmp_path: Path, at: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = make_settings(sqlite_url, tmp_path, **LOOPBACK)
    with opened_house(settings) as house, make_client(house) as client:
        household = make_household(house, client)
        source = add_source(house, household.org.id, "http://127.0.0.1:9/mcp")
        token = household.tokens[Role.editor]
    folder = tmp_path / "evals"
    folder.mkdir()
    criterion = {
        "criterionText": "Titles are listed",
        "assertion": {"kind": "tool_called", "tool": "list_notes"},
    }
    good = {
        "name": "Good",
        "mcpServerId": source.id,
        "testerModelId": "builtin/scripted",
        "testerPrompt": plan(step("list_notes")),
        "criteria": [criterion],
    }
    bad = good | {"name": "Bad", "testerPrompt": plan(step("get_note", title="none"))}
    (folder / "good.yaml").write_text(yaml.safe_dump(good))
    (folder / "bad.json").write_text(json.dumps(bad))
    with notes_server() as notes:
        loopback = {"allow_private_networks": "127.0.0.0/8", "database_url": sqlite_url}
        with opened_house(settings) as house, house.db.write() as tx:
            tx.execute(text("UPDATE sources SET base_url = :url"), {"url": notes.url})
        with running(tmp_path, **loopback) as server:
            cli = at(sqlite_url, tmp_path)
            monkeypatch.setenv("AMMETER_URL", server.url)
            monkeypatch.setenv("AMMETER_API_KEY", token)

            def told(*args: str, exits: int = 0) -> Any:
                done = cli(*args)
                assert done.code == exits, done.out + done.err
                return json.loads(done.out) if "--json" in args else done.out + done.unboxed

            assert "would be created" in told("sync", str(folder), "--dry-run")
            synced = told("sync", str(folder), "--json")["rows"]
            assert [(row["did"], row["name"]) for row in synced] == [("created", "Bad"), ("created", "Good")]
            again = told("sync", str(folder), "--json")["rows"]
            assert [(row["did"], row["id"]) for row in again] == [("changed", row["id"]) for row in synced]
            bad_id, good_id = (row["id"] for row in synced)
            assert "Good" in told("workflow", "list")
            shown = told("workflow", "run", good_id, "--wait", "--force")
            assert "1 of 1 criterion passed" in shown
            failed = told("workflow", "run", bad_id, "--wait", "--json", exits=4)
            assert failed["runs"][0]["outcome"] == "Failed"
            run_id = failed["runs"][0]["id"]
            assert "FAIL  required  Titles are listed" in told("run", "watch", run_id, exits=4)
            assert run_id in told("run", "list", "--status", "fail")
            assert told("run", "show", run_id, "--json")["evaluation"]["outcome"] == "Failed"
            assert "fail (Failed)" in told("run", "cancel", run_id)
            assert "Titles are listed" in told("workflow", "show", good_id)
            told("workflow", "archive", bad_id)
            assert "archived" in told("workflow", "run", bad_id, exits=1)
            assert "no such MCP source" in _refused(tmp_path, told, good | {"mcpServerId": "none"})
            (folder / "twin.yaml").write_text(yaml.safe_dump(good))
            assert "two files hold" in told("sync", str(folder), exits=2)


def _refused(folder: Path, told: Any, fields: dict[str, Any]) -> str:
    file = folder / "wrong.yaml"
    file.write_text(yaml.safe_dump(fields))
    return str(told("workflow", "create", str(file), exits=1))
