"""A server that cannot start says why in one line, without a traceback or a password, and ends."""

from __future__ import annotations

import socket
from pathlib import Path

from tests.postgres import free_port
from tests.server import run_command

PASSWORD = "hunter2-hunter2"


def refused(folder: Path, *args: str, **settings: str) -> str:
    """The one line with which a start is refused."""
    done = run_command(folder, "serve", "--role", "web", *args, **({"port": "0"} | settings))
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("ammeter: ")
    assert PASSWORD not in lines[0]
    return lines[0]


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        line = refused(tmp_path, port=port)
        assert f"Cannot listen on 127.0.0.1:{port}: Address already in use" in line
        assert "--port" in line


def test_a_data_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    folder = str(tmp_path / "file" / "data")
    line = refused(tmp_path, data_dir=folder)
    assert folder in line
    assert "Not a directory" in line


def test_a_data_folder_that_takes_no_files_is_said_so(tmp_path: Path) -> None:
    # Nobody makes files in /proc, not even root, who is held up by no other read-only folder.
    line = refused(tmp_path, data_dir="/proc")
    assert "the database file cannot be opened" in line


def test_a_data_folder_that_takes_no_files_is_said_so_with_postgresql_too(
    tmp_path: Path, postgres_url: str
) -> None:
    assert "/proc" in refused(tmp_path, data_dir="/proc", database_url=postgres_url)


def test_a_file_that_is_no_database_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "ammeter.db").write_bytes(b"this is not a database\n" * 500)
    assert "the database file is not a SQLite database" in refused(tmp_path)


def test_a_database_server_that_does_not_answer_is_said_so(tmp_path: Path) -> None:
    url = f"postgresql://ammeter:{PASSWORD}@127.0.0.1:{free_port()}/ammeter"
    assert "the database cannot be reached" in refused(tmp_path, database_url=url)
