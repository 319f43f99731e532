"""What a command says when its data cannot be had: one clear line, exit code 1, no traceback, no secret."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, Place

PASSWORD = "hunter2hunter2"
NOBODY = 65534


@contextmanager
def as_nobody() -> Iterator[None]:
    """Without root's right to write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can reach; pytest's own are the user's alone."""
    folder = Path(tempfile.mkdtemp(prefix="ammeter-test-"))
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def sqlite_at(at: Place, folder: Path) -> Cli:
    return at(f"sqlite:///{folder}/ammeter.db", folder)


def test_a_locked_database_file_is_told_after_the_wait_and_reads_go_on(at: Place, tmp_path: Path) -> None:
    cli = sqlite_at(at, tmp_path)
    cli("admin", "org", "create", "acme")
    with closing(sqlite3.connect(tmp_path / "ammeter.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert cli.json("admin", "org", "list")["total"] == 1
        (said,) = cli.refused("admin", "org", "create", "other")
        assert "the database file is locked by another process" in said
    assert cli("admin", "org", "create", "other").code == 0


def test_a_database_path_that_is_a_folder_is_told(at: Place, tmp_path: Path) -> None:
    cli = at(f"sqlite:///{tmp_path}", tmp_path)
    for command in (("admin", "org", "list"), ("init",), ("migrate",)):
        (said,) = cli.refused(*command)
        assert "the database file cannot be opened" in said


def test_a_file_that_is_no_database_is_told_and_left_as_it_is(at: Place, tmp_path: Path) -> None:
    file = tmp_path / "ammeter.db"
    file.write_text("Dear diary, today I was given the name of a database.\n" * 100)
    before = file.read_bytes()
    for command in (("admin", "org", "list"), ("init",), ("migrate",)):
        (said,) = sqlite_at(at, tmp_path).refused(*command)
        assert "the database file is not a SQLite database" in said
    assert file.read_bytes() == before


def test_a_data_folder_that_cannot_be_made_is_told_by_its_path(
    at: Place, tmp_path: Path, postgres_url: str
) -> None:
    occupied = tmp_path / "occupied"
    occupied.write_text("")
    for folder in (occupied, occupied / "below", Path("/proc/ammeter")):
        for cli in (sqlite_at(at, folder), at(postgres_url, folder)):
            (said,) = cli.refused("init")
            assert str(folder) in said
    assert occupied.read_text() == ""


def test_a_data_folder_that_must_not_be_written_is_told(at: Place, open_folder: Path, tmp_path: Path) -> None:
    sqlite_at(at, tmp_path)("init")
    open_folder.chmod(0o555)
    cli = sqlite_at(at, open_folder)
    with as_nobody():
        (said,) = cli.refused("init")
    assert "the database file cannot be opened" in said
    assert list(open_folder.iterdir()) == []


def test_a_database_file_that_must_not_be_written_is_told(at: Place, open_folder: Path) -> None:
    cli = sqlite_at(at, open_folder)
    cli("init")
    for path in open_folder.iterdir():
        path.chmod(0o444 if path.is_file() else 0o555)
    open_folder.chmod(0o555)
    with as_nobody():
        (said,) = cli.refused("admin", "org", "create", "other")
    assert "the database file" in said or "sealing.key" in said


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (f"postgresql://me:{PASSWORD}@127.0.0.1:1/ammeter", "the database cannot be reached"),
        (f"mysql://me:{PASSWORD}@db/x", "AMMETER_DATABASE_URL: 'mysql' is not supported"),
        (PASSWORD, "AMMETER_DATABASE_URL is not a database URL"),
        ("sqlite://", "AMMETER_DATABASE_URL must name a SQLite file"),
        ("sqlite:///:memory:", "AMMETER_DATABASE_URL must name a SQLite file"),
    ],
)
def test_a_database_that_is_not_there_is_told_without_its_password(
    at: Place, tmp_path: Path, url: str, said: str
) -> None:
    (line,) = at(url, tmp_path).refused("admin", "org", "list")
    assert said in line
    assert PASSWORD not in line


def test_a_wrong_setting_stops_every_command_in_one_line(
    at: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = sqlite_at(at, tmp_path)
    monkeypatch.setenv("AMMETER_SEALING_KEYS", PASSWORD)
    (said,) = cli.refused("init")
    assert said.startswith("AMMETER_SEALING_KEYS: each sealing key is 32 bytes in base64")
    monkeypatch.setenv("AMMETER_SEALNG_KEYS", PASSWORD)
    for command in (("init",), ("migrate",), ("admin", "org", "list"), ("serve",)):
        assert cli.refused(*command) == [
            "AMMETER_SEALNG_KEYS is not a setting. Did you mean AMMETER_SEALING_KEYS?"
        ]
