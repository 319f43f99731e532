"""Sources from the command line on a running server: a package behind walls, its own endpoint, skills."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ammeter.cli.app import app
from ammeter.cli.remote import Refused
from tests.household import CACHE
from tests.mcp_servers.real import MEMORY, put_packages
from tests.server import Server, running, until

DONE = "the demo's bundle"


@dataclass(frozen=True, slots=True)
class Place:
    server: Server
    key: str

    def run(self, *args: str, stdin: str = "") -> Result:
        told = {"AMMETER_URL": self.server.url, "AMMETER_API_KEY": self.key}
        return CliRunner().invoke(app(), args, env=told, input=stdin)

    def json(self, *args: str, stdin: str = "") -> Any:
        done = self.run(*args, "--json", stdin=stdin)
        assert done.exit_code == 0, (done.output, done.exception)
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """The demo server; its port is known before, so that it knows its own address."""
    folder = tmp_path_factory.mktemp("demo")
    cache = CACHE / "sources"
    put_packages(cache / "hosting")
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    with running(folder, "--demo", port=str(port), cache_dir=str(cache)) as server:
        key = json.loads((folder / "demo.json").read_text())["token"]
        yield Place(server, key)


def test_a_package_is_created_listed_shown_changed_and_looked_at_anew(place: Place) -> None:
    made = place.json("source", "create", "--npm", f"{MEMORY.name}@{MEMORY.version}", "--name", "Memory")
    assert made["discovery"]["status"] == "succeeded"
    assert made["provisioning"]["status"] == "succeeded"
    assert "knowledge" in made["categories"]
    listed = place.json("source", "list", "--category", "knowledge")
    assert [row["id"] for row in listed["rows"]] == [made["id"]]
    shown = place.run("source", "show", made["id"]).stdout
    assert "create_entities" in shown
    assert "memory-server" in shown
    again = place.json("source", "discover", made["id"])
    assert again["discovery"]["finished_at"] > made["discovery"]["finished_at"]
    changed = place.json("source", "change", made["id"], "--categories", "ai", "--status", "archived")
    assert (changed["categories"], changed["status"]) == (["ai"], "archived")
    assert place.json("source", "list", "--category", "ai")["rows"] == []


def test_a_source_that_cannot_be_met_fails_with_its_reason(place: Place) -> None:
    done = place.run("source", "create", "--base-url", "http://127.0.0.1:9/mcp")
    assert done.exit_code == 1
    assert "Nothing listens at 127.0.0.1:9" in done.stdout


def test_a_credential_is_refused_with_its_path(place: Place) -> None:
    headers = {"X-Api-Key": "abc"}
    body = {"name": "x", "baseUrl": "https://example.com/mcp", "connectionConfig": {"headers": headers}}
    done = place.run("source", "create", "--file", "-", stdin=json.dumps(body))
    assert isinstance(done.exception, Refused)
    assert [detail.path for detail in done.exception.details] == ["$.connectionConfig.headers.X-Api-Key"]


def test_skills_are_added_listed_and_shown(place: Place) -> None:
    source = place.json("source", "list")["rows"][-1]["id"]
    added = place.json("skills", "add", "--source", source, "--name", "Tone", "--file", "-", stdin="Be kind.")
    assert added["number"] == 1
    listed = place.json("skills", "list", "--source", source)
    # The demo may have added a skill of its own by now.
    assert (added["id"], "Tone") in [(row["id"], row["name"]) for row in listed["rows"]]
    assert place.run("skills", "show", added["id"], "--source", source).stdout == "Be kind.\n"


def test_the_servers_own_endpoint_is_a_source_like_any_other(place: Place) -> None:
    until(lambda: "is served" in place.server.log.read_text(), DONE, 60)
    own = next(
        row for row in place.json("source", "list")["rows"] if "/product-mcp/" in (row["base_url"] or "")
    )
    found = place.json("source", "discover", own["id"])
    assert found["discovery"]["status"] == "succeeded", found["discovery"]["error"]
    assert {tool["name"] for tool in found["discovery"]["tools"]} == {"search_sdk", "execute_script"}
    assert found["code_mode"] is True
    assert "shop" in found["discovery"]["instructions"]
