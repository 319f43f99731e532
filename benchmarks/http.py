"""Authenticated `GET /org` on SQLite beside a bare FastAPI route with one database read: requests a
second, latency and CPU time per request from one run; then start time and idle memory.

    make bench            (or: python benchmarks/http.py [--seconds 5] [--rounds 3])

One Ammeter process, one bare process, wrk with 64 connections, all on this machine; rounds alternate.
The last row of latencies is no server at all: one process counts, in pieces as long as our median, and
nothing else runs. What the machine does to it, it does to every row above.
"""

from __future__ import annotations

import sys

if not __package__:
    # Started as a file: its folder would hide the standard library's `http` from everything below.
    sys.path[0] = sys.path[0].rpartition("/")[0] or "."

import argparse
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

from benchmarks.machine import machine

CONNECTIONS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: float


@dataclass(slots=True)
class Process:
    popen: subprocess.Popen[bytes]
    url: str
    start_s: float = 0.0

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        status = Path(f"/proc/{self.popen.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        return int(found[1]) / 1024 if found else 0.0


@contextmanager
def started(command: list[str], url: str, probe: str, env: dict[str, str]) -> Iterator[Process]:
    begun = time.perf_counter()
    popen = subprocess.Popen(
        command,
        cwd=Path(__file__).parent.parent,
        env=os.environ | env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while not answers(url + probe):
            if popen.poll() is not None or time.perf_counter() - begun > 30:
                raise SystemExit(f"{' '.join(command)} does not answer")
            time.sleep(0.01)
        yield Process(popen, url, time.perf_counter() - begun)
    finally:
        popen.terminate()
        popen.wait(30)


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return int(answer.status) == 200
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


def load(process: Process, path: str, seconds: int, header: str = "") -> Round:
    cpu = process.cpu_s()
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", process.url + path]
    if header:
        command += ["-H", header]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if refused := re.search(r"Non-2xx or 3xx responses: (\d+)", out):
        raise SystemExit(f"{refused[1]} requests to {path} were refused")
    requests = int(_found(r"(\d+) requests in", out))
    return Round(
        per_second=float(_found(r"Requests/sec:\s+([\d.]+)", out)),
        p50_ms=_ms(_found(r"\n\s+50%\s+([\d.]+\w+)", out)),
        p99_ms=_ms(_found(r"\n\s+99%\s+([\d.]+\w+)", out)),
        cpu_us=(process.cpu_s() - cpu) / requests * 1e6,
    )


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    if not found:
        raise SystemExit(f"wrk printed something unexpected:\n{text}")
    return found[1]


def _ms(text: str) -> float:
    for unit, factor in (("us", 0.001), ("ms", 1.0), ("s", 1000.0)):
        if text.endswith(unit):
            return float(text.removesuffix(unit)) * factor
    return float(text)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def first_token(settings: dict[str, str]) -> str:
    """The key of an organization on a new database; no demo, whose compiling would run along."""
    command = [sys.executable, "-m", "ammeter", "init", "--json"]
    env = os.environ | settings
    out = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
    return _found(r"(amt_\w+)", out)


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--seconds", type=int, default=5)
    options.add_argument("--rounds", type=int, default=3)
    chosen = options.parse_args()
    if not shutil.which("wrk"):
        raise SystemExit("wrk is missing: scripts/install-wrk")
    with tempfile.TemporaryDirectory() as folder:
        run(folder, chosen.seconds, chosen.rounds)


def run(folder: str, seconds: int, rounds: int) -> None:
    port, bare_port = free_port(), free_port()
    settings = {"AMMETER_DATA_DIR": folder}
    serve = [sys.executable, "-m", "ammeter", "serve", "--port", str(port)]
    bare = [sys.executable, "-m", "benchmarks.bare", f"{folder}/ammeter.db", str(bare_port)]
    url = f"http://127.0.0.1:{port}"
    token = first_token(settings)
    with (
        started(serve, url, "/healthz", settings) as ammeter,
        started(bare, f"http://127.0.0.1:{bare_port}", "/on-loop", {}) as fastapi,
    ):
        idle_mb = ammeter.memory_mb()
        header = f"Authorization: Bearer {token}"
        rows = {
            "Ammeter GET /org": (ammeter, "/api/service/v1/org", header),
            "bare FastAPI, read in a thread": (fastapi, "/in-thread", ""),
            "bare FastAPI, read on the loop": (fastapi, "/on-loop", ""),
        }
        for process, path, given in rows.values():
            load(process, path, 1, given)
        measured = {name: [load(*row[:2], seconds, row[2])] for name, row in rows.items()}
        for _ in range(rounds - 1):
            for name, row in rows.items():
                measured[name].append(load(*row[:2], seconds, row[2]))
        report(measured, ammeter, idle_mb)


def counting(piece_ms: float, seconds: int) -> tuple[float, float]:
    """Median and 99th percentile of a piece of work that always is the same, told in milliseconds."""

    def count(steps: int) -> float:
        begun = time.perf_counter()
        for number in range(steps):
            _ = number * number % 7
        return (time.perf_counter() - begun) * 1000

    steps = int(100_000 * piece_ms / median(count(100_000) for _ in range(50)))
    until = time.perf_counter() + seconds
    pieces = []
    while time.perf_counter() < until:
        pieces.append(count(steps))
    return median(pieces), quantiles(pieces, n=100)[98]


def report(measured: dict[str, list[Round]], ammeter: Process, idle_mb: float) -> None:
    print(machine())
    print(f"wrk, {CONNECTIONS} connections, median of {len(next(iter(measured.values())))} rounds\n")
    print(f"{'':32} {'req/s':>8} {'p50 ms':>8} {'p99 ms':>8} {'CPU µs':>8} {'ratio':>7}")
    ours = median(r.per_second for r in measured["Ammeter GET /org"])
    for name, rounds in measured.items():
        per_second = median(r.per_second for r in rounds)
        figures = [median(getattr(r, field) for r in rounds) for field in ("p50_ms", "p99_ms", "cpu_us")]
        print(
            f"{name:32} {per_second:8.0f} {figures[0]:8.1f} {figures[1]:8.1f} {figures[2]:8.0f}"
            f" {ours / per_second:7.2f}"
        )
    piece = median(r.p50_ms for r in measured["Ammeter GET /org"])
    p50_ms, p99_ms = counting(piece, 5)
    print(f"{'counting, no server':32} {'':8} {p50_ms:8.1f} {p99_ms:8.1f}")
    print(f"\nstart to first answer, made database: {ammeter.start_s:.2f} s")
    print(f"memory: idle {idle_mb:.0f} MB, after the load {ammeter.memory_mb():.0f} MB")


if __name__ == "__main__":
    main()
