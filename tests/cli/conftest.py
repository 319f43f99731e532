"""`ammeter` called in this process: the same `main`, its settings from the environment, its output read."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ammeter.cli.app import main
from ammeter.wiring import House
from tests.household import make_settings, opened_house
from tests.shared import fresh_url, new_org


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def unboxed(self) -> str:
        """What a usage error says, without the box it is drawn in."""
        return " ".join(self.err.replace("│", " ").split())

    @property
    def lines(self) -> dict[str, str]:
        """The fields of one record, as its lines show them."""
        fields = [line.split(None, 1) for line in self.out.splitlines() if line.startswith("  ")]
        return dict(fields)

    @property
    def table(self) -> list[list[str]]:
        """The cells of a table, its heading first."""
        heading = self.out.splitlines()[0]
        starts = [i for i, c in enumerate(heading) if c != " " and (i == 0 or heading[i - 1] == " ")]
        ends = [*starts[1:], None]
        return [
            [line[start:end].strip() for start, end in zip(starts, ends, strict=True)]
            for line in self.out.splitlines()
        ]


@dataclass(frozen=True, slots=True)
class Cli:
    """The command on one database; `house` opens the same data as a server has it."""

    url: str
    folder: Path
    shared: House | None
    capsys: pytest.CaptureFixture[str]
    monkeypatch: pytest.MonkeyPatch

    def __call__(self, *args: str, stdin: str | bytes = "") -> Done:
        typed = stdin if isinstance(stdin, bytes) else stdin.encode()
        self.monkeypatch.setattr(sys, "argv", ["ammeter", *args])
        self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed), encoding="utf-8"))
        with pytest.raises(SystemExit) as end:
            main()
        printed = self.capsys.readouterr()
        assert "Traceback" not in printed.err
        return Done(int(end.value.code or 0), printed.out, printed.err)

    def json(self, *args: str, stdin: str | bytes = "") -> Any:
        """What a command that succeeds prints with --json."""
        done = self(*args, "--json", stdin=stdin)
        assert (done.code, done.err) == (0, "")
        return json.loads(done.out)

    def refused(self, *args: str, stdin: str | bytes = "") -> list[str]:
        """The lines of a refusal, on standard error alone."""
        done = self(*args, stdin=stdin)
        assert (done.code, done.out) == (1, "")
        first, *details = done.err.splitlines()
        assert first.startswith("ammeter: ")
        assert all(detail.startswith("  ") for detail in details)
        return [first.removeprefix("ammeter: "), *(detail.strip() for detail in details)]

    @contextmanager
    def house(self) -> Iterator[House]:
        if self.shared is not None:
            yield self.shared
            return
        with opened_house(make_settings(self.url, self.folder)) as house:
            yield house


Place = Callable[..., Cli]


@pytest.fixture
def at(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Place:
    """The command with the settings of a place: a database and a data folder."""

    def place(url: str, folder: Path, shared: House | None = None) -> Cli:
        monkeypatch.setenv("AMMETER_DATABASE_URL", url)
        monkeypatch.setenv("AMMETER_DATA_DIR", str(folder))
        return Cli(url, folder, shared, capsys, monkeypatch)

    return place


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def shared_house(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder = tmp_path_factory.mktemp("cli")
    with fresh_url(request.param, folder) as url, opened_house(make_settings(url, folder)) as house:
        yield house


@pytest.fixture
def cli(at: Place, shared_house: House) -> Cli:
    """The command on a database of each kind that other tests use too."""
    return at(shared_house.db.url, shared_house.settings.data_dir, shared_house)


@pytest.fixture
def fresh_cli(at: Place, empty_url: str, tmp_path: Path) -> Cli:
    """The command on an empty database of each kind."""
    return at(empty_url, tmp_path)


@pytest.fixture
def org(shared_house: House) -> str:
    """The slug of an organization of the test's own."""
    with shared_house.db.write() as tx:
        return new_org(tx).slug
