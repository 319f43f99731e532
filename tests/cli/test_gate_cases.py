"""`ammeter gate` against a real server: cases are triggered over REST and tagged so, suites start by its MCP
tools; each end has its exit code, and a server that asks to wait is never a failed case."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from junitparser import JUnitXml

from ammeter.features.orgs.model import Role
from tests.cli.conftest import Cli, Done, Place
from tests.evaluating import LOOPBACK, add_source
from tests.features.suites.suiting import case, suite
from tests.household import make_client, make_household, make_settings, opened_house
from tests.notes_server import NotesServer, notes_server
from tests.server import Server, running, until


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A server with the cases `Read milk` and `Read eggs`, both holding, and a suite of them."""

    server: Server
    notes: NotesServer
    cli: Cli
    tokens: dict[Role, str]
    folder: Path

    def gate(self, *args: str, exits: int) -> Done:
        done = self.cli("gate", *args)
        assert done.code == exits, done.out + done.err
        return done

    def report(self, *args: str, exits: int) -> Any:
        return json.loads(self.gate(*args, "--json", exits=exits).out)

    def get(self, path: str) -> Any:
        headers = {"authorization": f"Bearer {self.tokens[Role.owner]}"}
        return httpx2.get(self.server.api + path, headers=headers).json()


@pytest.fixture
def open_stage(
    sqlite_url: str, tmp_path: Path, at: Place, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., AbstractContextManager[Stage]]:
    """A stage with these settings more."""

    @contextmanager
    def opened(**settings: str) -> Iterator[Stage]:
        with notes_server() as notes:
            notes.notes |= {"milk": "kept", "eggs": "kept"}
            made = make_settings(sqlite_url, tmp_path, **LOOPBACK)
            with opened_house(made) as house, make_client(house) as client:
                household = make_household(house, client)
                source = add_source(house, household.org.id, notes.url)
                suite(household, *(case(household, source, title) for title in ("milk", "eggs")))
            loopback = {"allow_private_networks": "127.0.0.0/8", "database_url": sqlite_url}
            with running(tmp_path, **loopback, **settings) as server:
                monkeypatch.setenv("AMMETER_URL", server.url)
                monkeypatch.setenv("AMMETER_API_KEY", household.tokens[Role.editor])
                cli = at(sqlite_url, tmp_path)
                yield Stage(server=server, notes=notes, cli=cli, tokens=household.tokens, folder=tmp_path)

    return opened


@pytest.fixture
def stage(open_stage: Callable[..., AbstractContextManager[Stage]]) -> Iterator[Stage]:
    with open_stage(rate_runs_burst="100") as opened:
        yield opened


def test_cases_are_triggered_over_rest_and_judged_here(stage: Stage) -> None:
    junit = stage.folder / "gate.xml"
    passed = stage.gate(
        *("--case", "Read milk", "--case", "Read eggs", "--strict", "--reason", "build 7"),
        *("--junit", str(junit)),
        exits=0,
    )
    assert "pass      Read eggs  (builtin/scripted, score 1.00, 1/1 runs hold)" in passed.err
    assert "Ready to ship" in passed.out
    assert JUnitXml.fromfile(str(junit)).tests == 2
    rows = stage.get("/runs?search=build")["rows"]
    assert [(row["trigger"], row["tags"], row["suiteRunId"]) for row in rows] == [("ci", ["ci"], None)] * 2
    del stage.notes.notes["eggs"]
    failed = stage.report("--case", "Read eggs", "--repeats", "2", "--min-pass-rate", "0.5", exits=1)
    [told] = failed["suiteRun"]["cases"]
    assert (told["outcome"], told["held"], len({run["id"] for run in told["runs"]})) == ("failed", 0, 2)
    assert "0 of 2 runs hold, 1 must" in told["why"]
    assert set(failed["evaluations"]) == {run["id"] for run in told["runs"]}
    scored = stage.report("--case", "Read eggs", "--min-score", "0", exits=0)
    assert scored["suiteRun"]["score"] == 0
    assert _runs_with_a_key(stage) == _runs_with_a_key(stage)
    stage.notes.refuse_with = 503
    down = stage.gate("--case", "Read milk", exits=3)
    assert "could not be carried out" in down.out


def _runs_with_a_key(stage: Stage) -> set[str]:
    asked = ("--case", "Read milk", "--repeats", "2", "--idempotency-key", "build 8")
    [told] = stage.report(*asked, exits=0)["suiteRun"]["cases"]
    found = {run["id"] for run in told["runs"]}
    assert len(found) == 2
    return found


def test_a_suite_starts_by_the_servers_tools(stage: Stage) -> None:
    first = stage.report("--suite", "Release", "--reason", "build 9", exits=0)["suiteRun"]
    assert (first["trigger"], first["reason"], first["readyToShip"]) == ("mcp", "build 9", True)
    again = stage.gate("--suite", "Release", "--baseline", "last", "--strict", exits=0)
    assert "0 regressed, 0 fixed" in again.out
    del stage.notes.notes["eggs"]
    failed = stage.gate("--suite", "Release", "--idempotency-key", "build 9", exits=1)
    assert "'Read eggs' on builtin/scripted did not pass" in failed.out
    rows = json.loads(stage.cli("suite", "runs", "Release", "--json").out)["rows"]
    assert [row["status"] for row in rows] == ["fail", "pass", "pass"]


def test_a_server_that_asks_to_wait_is_no_failed_case(
    open_stage: Callable[..., AbstractContextManager[Stage]],
) -> None:
    with open_stage(rate_runs_burst="1", rate_runs_per_second="0.001") as stage:
        both = ("--case", "Read milk", "--case", "Read eggs")
        late = stage.gate(*both, "--reason", "build 10", "--patience", "5", exits=3)
        assert "It was tried for 5 s." in late.err
        [started] = stage.get("/runs?search=build")["rows"]
        until(lambda: stage.get(f"/runs/{started['id']}")["status"] != "running", "it has ended", 30)
        refused = stage.gate("--suite", "Release", "--patience", "5", exits=3)
        for told in (late.err, refused.err):
            [wait] = re.findall(r"The server asks to wait \(429 rate_limited\); (\d+) s\.", told)
            assert 900 < int(wait) <= 1000


def test_what_is_wrong_is_no_failed_case(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    for options in (
        ("--case", "Read milk", "--bundle", "x"),
        ("--case", "Read milk", "--min-pass-rate", "0"),
        ("--case", "Read milk", "--model", "openai/none"),
        ("--case", "Read mlik"),
        ("--suite", "Release", "--model", "openai/none"),
        ("--suite", "Release", "--baseline", "none"),
        ("--suite", "Release", "--min-pass-rate", "0"),
        ("--category", "none"),
    ):
        stage.gate(*options, exits=2)
    monkeypatch.setenv("AMMETER_API_KEY", stage.tokens[Role.viewer])
    for options in (("--suite", "Release"), ("--case", "Read milk")):
        refused = stage.gate(*options, exits=2)
        assert "the role editor or above" in refused.err
        assert "the server said 403 insufficient_role" in refused.err
    missing = stage.cli("suite", "result", "x")
    assert (missing.code, "No such suite run." in missing.err) == (1, True)
    monkeypatch.setenv("AMMETER_API_KEY", "amt_abcdefghijkl_" + "x" * 40)
    unknown = stage.gate("--category", "none", exits=2)
    assert "the server said 401 unauthenticated" in unknown.err
