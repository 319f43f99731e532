"""A real Ammeter process on a free port, as a user starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

READY_S = 120.0


@dataclass(slots=True)
class Server:
    process: subprocess.Popen[bytes]
    url: str
    log: Path

    @property
    def api(self) -> str:
        return f"{self.url}/api/service/v1"

    def kill(self) -> None:
        """As a power cut would: kill -9."""
        self.process.kill()
        self.process.wait(10)

    def stop(self, timeout_s: float = 30) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout_s)


def environment(**settings: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("AMMETER_")}
    return kept | {f"AMMETER_{name.upper()}": value for name, value in settings.items()}


def command(*args: str) -> list[str]:
    return [sys.executable, "-m", "ammeter", *args]


@contextmanager
def running(folder: Path, *args: str, name: str = "server", **settings: str) -> Iterator[Server]:
    """`ammeter serve` with these arguments and settings, ready to answer; killed at the end."""
    folder.mkdir(parents=True, exist_ok=True)
    log, out = folder / f"{name}.log", folder / f"{name}.out"
    settings = {"data_dir": str(folder), "port": "0"} | settings
    with log.open("wb") as err, out.open("wb") as stdout:
        process = subprocess.Popen(
            command("serve", *args), env=environment(**settings), stdout=stdout, stderr=err, cwd=folder
        )
    server = Server(process, "", log)
    try:
        until(lambda: "\n" in out.read_text() or process.poll() is not None, "the server is ready", READY_S)
        assert process.poll() is None, log.read_text()
        server.url = next((w for w in out.read_text().split() if w.startswith("http://")), "").rstrip("/")
        if server.url:
            until(lambda: _answers(server.url), "the server answers", READY_S)
        yield server
    finally:
        if process.poll() is None:
            process.kill()
            process.wait(10)


def run_command(
    folder: Path, *args: str, stdin: str = "", **settings: str
) -> subprocess.CompletedProcess[str]:
    """An `ammeter` command that ends by itself."""
    settings = {"data_dir": str(folder)} | settings
    return subprocess.run(
        command(*args),
        env=environment(**settings),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=folder,
    )


def until(holds: Callable[[], bool], what: str, timeout_s: float = 60.0) -> None:
    """Wait, bounded, until something holds."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {timeout_s:g} s: {what}"
        time.sleep(0.02)


def _answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/healthz", timeout=2).status_code == 200
    except httpx2.TransportError:
        return False
