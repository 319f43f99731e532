"""Every description of a folder through the compiler: does it ever raise, and does it lose an operation
without saying so? Operations are counted by a plain parser; each must be a method of the SDK, or named by an
error among the findings.

    python benchmarks/corpus.py --data FOLDER [--seconds 60] [--only TEXT] [--codes CODE,…]

FOLDER holds descriptions as .json, .yaml or .yml, packed with gzip or not, in folders or not.
"""

from __future__ import annotations

import sys

if not __package__:
    # Started as a file: its folder would hide the standard library's `http` from everything below.
    sys.path[0] = __file__.rpartition("/")[0].rpartition("/")[0]

import argparse
import multiprocessing
import signal
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from ammeter.engines.compiler.bundle import Compilation
from ammeter.engines.compiler.compile import compile_description
from ammeter.engines.compiler.model import Finding
from benchmarks.descriptions import described, operations_in, plain_load, raw_bytes
from benchmarks.machine import machine

KINDS = (".json", ".yaml", ".yml", ".json.gz", ".yaml.gz", ".yml.gz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    name: str
    size: int
    seconds: float
    """Of CPU."""
    operations: int = 0
    methods: int = 0
    named: int = 0
    """Operations that are no method and that an error names, alone or with the whole description."""
    lost: tuple[str, ...] = ()
    """Operations that are neither."""
    findings: tuple[Finding, ...] = ()
    is_bundle: bool = False
    unreadable: str = ""
    """Why a plain parser cannot read it either."""
    raised: str = ""


def check(path: Path, name: str, limit_s: float) -> Outcome:
    signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    raw = raw_bytes(path)
    begun = time.process_time()
    try:
        done = compile_description(described(raw))
    except Exception:  # noqa: BLE001 - whatever it is, it is what this looks for
        return Outcome(name=name, size=len(raw), seconds=0.0, raised=traceback.format_exc(limit=-6))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return compared(name, raw, done, time.process_time() - begun)


def compared(name: str, raw: bytes, done: Compilation, seconds: float) -> Outcome:
    try:
        every = list(operations_in(plain_load(raw)))
        unreadable = ""
    except Exception as error:  # noqa: BLE001 - a plain parser may fail in any way
        every, unreadable = [], f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"
    operations = done.bundle.api.operations if done.bundle else ()
    places = {operation.pointer for operation in operations}
    told = {finding.pointer for finding in done.findings if finding.level == "error"}
    missing = [(path, key) for path, key in every if _pointer(path, key) not in places]
    # A description that gives no bundle is refused as a whole, and an error says why.
    is_refused = done.bundle is None and bool(told)
    lost = [
        f"{key} {path}"
        for path, key in missing
        if not is_refused and not told & {_pointer(path, key), _pointer(path)}
    ]
    names = {operation.sdk_name for operation in operations}
    if len(names) != len(operations) or (done.bundle and len(done.bundle.cards) != len(operations)):
        lost.append(f"{len(operations)} operations have {len(names)} names")
    return Outcome(
        name=name,
        size=len(raw),
        seconds=seconds,
        operations=len(every),
        methods=len(operations),
        named=len(missing) - len(lost),
        lost=tuple(lost),
        findings=done.findings,
        is_bundle=done.bundle is not None,
        unreadable=unreadable,
    )


def _pointer(*steps: str) -> str:
    return "/paths" + "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


def _too_long(number: int, frame: FrameType | None) -> None:
    raise TimeoutError


def files_of(data: Path, only: str) -> list[Path]:
    found = (path for path in data.rglob("*") if path.name.endswith(KINDS) and only in str(path))
    return sorted(found)


def run(data: Path, only: str, limit_s: float, codes: Sequence[str]) -> bool:
    files = files_of(data, only)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        names = [str(path.relative_to(data)) for path in files]
        outcomes = list(pool.map(check, files, names, [limit_s] * len(files)))
    report(outcomes)
    for outcome in outcomes:
        for finding in outcome.findings:
            if finding.code in codes:
                print(f"{outcome.name} {finding.level} {finding.code} {finding.pointer}: {finding.message}")
    return not any(outcome.raised or outcome.lost for outcome in outcomes)


def report(outcomes: Sequence[Outcome]) -> None:
    print(machine())
    for outcome in outcomes:
        if outcome.raised:
            print(f"\n{outcome.name} raised\n{outcome.raised}")
        if outcome.lost:
            print(f"{outcome.name} lost {len(outcome.lost)}: {', '.join(outcome.lost[:5])}")
        if not outcome.is_bundle and not outcome.raised:
            errors = [f"{f.code}: {f.message}" for f in outcome.findings if f.level == "error"]
            print(f"{outcome.name} gives no bundle: {errors[-1][:150] if errors else 'and says nothing'}")
        if outcome.unreadable:
            print(f"{outcome.name} is not for a plain parser: {outcome.unreadable}")
    read = [o for o in outcomes if not o.raised]
    print(f"\n{'files':34}{len(outcomes):9,}")
    for title, value in (
        ("exceptions or over time", len(outcomes) - len(read)),
        ("bundles", sum(o.is_bundle for o in read)),
        ("operations, by a plain parser", sum(o.operations for o in read)),
        ("methods of the SDKs", sum(o.methods for o in read)),
        ("named by an error instead", sum(o.named for o in read)),
        ("lost without a word", sum(len(o.lost) for o in read)),
    ):
        print(f"{title:34}{value:9,}")
    megabytes = sum(o.size for o in read) / 1e6
    seconds = sum(o.seconds for o in read)
    print(f"{'CPU':34}{seconds:9.1f} s for {megabytes:.1f} MB; slowest:")
    for outcome in sorted(read, key=lambda o: -o.seconds)[:3]:
        print(f"    {outcome.seconds:5.1f} s {outcome.name} ({outcome.size / 1e6:.1f} MB)")
    counted = Counter((f.level, f.code) for o in read for f in o.findings)
    within = Counter(pair for o in read for pair in {(f.level, f.code) for f in o.findings})
    print(f"\n{'findings':34}{'times':>9}{'files':>9}")
    order = ("error", "warning", "info")
    for (level, code), times in sorted(counted.items(), key=lambda row: (order.index(row[0][0]), -row[1])):
        print(f"{level:8} {code:25}{times:9,}{within[(level, code)]:9,}")


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--seconds", type=float, default=60.0, help="of time for one description")
    options.add_argument("--only", default="", help="text that a file's path must hold")
    options.add_argument("--codes", default="", help="findings to print, by code")
    chosen = options.parse_args()
    codes = [code for code in chosen.codes.split(",") if code]
    if not run(chosen.data, chosen.only, chosen.seconds, codes):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
