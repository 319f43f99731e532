"""One compile in a process of its own: `python -m benchmarks.compile_one compile|upload|facts FILE`.
Prints, as the last line, what it took or what came of it, as JSON. Run by `benchmarks/compile.py`.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import quantiles
from typing import Any

from ammeter.engines.compiler.bundle import Bundle, part_sizes
from ammeter.engines.compiler.model import Finding
from ammeter.engines.sandbox.lazy import LazySandbox
from ammeter.engines.search.index import SearchIndex
from ammeter.features.bundles.build import Builder, _finish
from benchmarks.descriptions import compiled, described
from benchmarks.peers import CACHE

Result = tuple[Bundle, bytes, tuple[Finding, ...]]


def compile_alone(raw: bytes) -> Result:
    """Read, compile, index and pack in this process."""
    bundle, artifact = _finish(compiled(raw))
    return bundle, artifact, ()


def upload(raw: bytes) -> Result:
    """As the server does it: a process that compiles, and every example run in the sandbox."""
    return asyncio.run(_upload(raw))


async def _upload(raw: bytes) -> Result:
    # Kept from run to run, as a server keeps it: the sandbox's own programs are compiled once per machine.
    sandbox = LazySandbox(CACHE / "sandbox")
    builder = Builder(sandbox.open)
    try:
        async with builder.bench() as bench:
            await bench.read(described(raw))
            built = await bench.build()
    finally:
        builder.close()
        await sandbox.stop()
    if built.bundle is None:
        raise SystemExit(f"no bundle: {built.findings[-1].message}")
    return built.bundle, built.artifact, built.findings


def search_times(bundle: Bundle) -> tuple[float, float]:
    """p50 and p99 in milliseconds, each operation's summary as a query."""
    index = SearchIndex.load(bundle.search)
    index.search("warm", 12)
    taken = []
    for card in bundle.cards:
        begun = time.perf_counter()
        index.search(card.summary or card.operation_id, 12)
        taken.append((time.perf_counter() - begun) * 1000)
    cuts = quantiles(taken, n=100)
    return cuts[49], cuts[98]


def facts(raw: bytes) -> dict[str, Any]:
    """Sizes, and how quick the search is."""
    bundle, artifact, _ = compile_alone(raw)
    p50, p99 = search_times(bundle)
    return {"bytes": len(artifact), "parts": part_sizes(artifact), "search_p50_ms": p50, "search_p99_ms": p99}


def main(kind: str, file: str) -> dict[str, Any]:
    raw = Path(file).read_bytes()
    if kind == "facts":
        return facts(raw)
    work: Callable[[bytes], Result] = {"compile": compile_alone, "upload": upload}[kind]
    begun, cpu = time.perf_counter(), time.process_time()
    bundle, _, findings = work(raw)
    taken = {"wall_s": time.perf_counter() - begun, "cpu_s": time.process_time() - cpu}
    examples = sum(card.example is not None for card in bundle.cards)
    failed = sum(finding.code == "example_failed" for finding in findings)
    return {**taken, "operations": len(bundle.cards), "examples": examples, "failed": failed}


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:3])))
