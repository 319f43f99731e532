"""A PostgreSQL server for one test session: from Debian's packages, on a socket and a free port,
in a folder of its own, gone afterwards. `AMMETER_TEST_POSTGRES_URL` names another server instead."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "AMMETER_TEST_POSTGRES_URL"


@contextmanager
def postgres_server() -> Iterator[str]:
    """The URL of a server on which databases may be created."""
    if url := os.environ.get(VARIABLE):
        yield url
        return
    programs = _programs()
    folder = Path(tempfile.mkdtemp(prefix="ammeter-pg-"))
    as_user = _unprivileged(folder)
    port = free_port()
    options = (
        f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c fsync=off -c max_connections=300"
        " -c shared_buffers=64MB -c log_min_messages=fatal"
    )
    data = folder / "data"

    def run(*command: str) -> None:
        done = subprocess.run(
            [*as_user, *command], capture_output=True, text=True, check=False, cwd=folder, timeout=60
        )
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed: {done.stdout}{done.stderr}")

    run(str(programs / "initdb"), "-D", str(data), "-U", "ammeter", "-A", "trust", "-E", "UTF8", "--no-sync")
    log = str(folder / "log")
    run(str(programs / "pg_ctl"), "-D", str(data), "-l", log, "-w", "-o", options, "start")
    try:
        yield f"postgresql://ammeter@127.0.0.1:{port}/postgres"
    finally:
        run(str(programs / "pg_ctl"), "-D", str(data), "-w", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _programs() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[-3]))
    if found:
        return found[-1].parent
    if on_path := shutil.which("initdb"):
        return Path(on_path).parent
    raise RuntimeError(f"PostgreSQL is missing: run scripts/install-postgres, or set {VARIABLE}.")


def _unprivileged(folder: Path) -> list[str]:
    """PostgreSQL refuses to run as root; Debian's package made it a user."""
    if os.geteuid() != 0:
        return []
    user = pwd.getpwnam("postgres")
    os.chown(folder, user.pw_uid, user.pw_gid)
    return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
