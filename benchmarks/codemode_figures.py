"""What stands beside the speed of scripts: the cost of a large SDK, memory, and tokens that an agent reads
before its first call. Printed by `benchmarks/codemode.py`.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import aiohttp

from ammeter.engines.compiler.index import tokens
from ammeter.features.gateway.instructions import instructions
from ammeter.features.gateway.tools import TOOLS
from benchmarks.codemode_servers import Rival
from benchmarks.descriptions import MANIFEST, compiled, plain_load, subset
from benchmarks.peers import ROOT, fastmcp_python, github_description, npm_package

WAITING = 16
SIZES = (10, 100, 1_000)
_COUNT = """
import { countTokens } from "gpt-tokenizer/model/gpt-4o";
const texts = JSON.parse(await new Response(process.stdin).text());
console.log(JSON.stringify(texts.map(text => countTokens(text))));
"""


def report_sdk(ours: Rival, load: Any, operations: int) -> None:
    """A trivial script on the small SDK and on the large one, in turns; the best of each."""
    large = f"{ours.url}-large"
    rounds: dict[str, list[Any]] = {ours.url: [], large: []}
    for url in rounds:
        asyncio.run(load(ours, "return 1 + 1", 1, 0.5, url))
    for _ in range(3):
        for url, made in rounds.items():
            made.append(asyncio.run(load(ours, "return 1 + 1", 1, 1.0, url)))
    small, much = ((min(r.p50_ms for r in made), min(r.cpu_ms for r in made)) for made in rounds.values())
    print(
        f"\nan SDK of {operations:,} operations adds {much[0] - small[0]:.2f} ms to a script's p50"
        f" and {much[1] - small[1]:.2f} ms CPU"
    )


def report_memory(ours: Rival) -> None:
    """Of the server and its workers, idle and while scripts wait; shared pages by their share."""
    server, *others = ours.pids()
    workers = [pid for pid in others if _runs_scripts(pid)]
    at_rest = sum(map(_pss_mb, workers))
    beside = ", ".join(f"{_pss_mb(pid):.0f}" for pid in others if pid not in workers)
    told = f"memory: server {_pss_mb(server):.0f} MB, its {len(workers)} workers together {at_rest:.0f} MB"
    held = asyncio.run(_while_waiting(ours, lambda: sum(map(_pss_mb, workers))))
    print(
        f"{told}, processes that are none of them {beside or 'none'} MB;"
        f" a running script {(held - at_rest) / WAITING:.1f} MB"
    )


def _runs_scripts(pid: int) -> bool:
    try:
        return b"sandbox.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False


async def _while_waiting(ours: Rival, measure: Any) -> float:
    body = ours.body("await new Promise(done => setTimeout(done, 3000)); return 1")
    headers = ours.headers | {"content-type": "application/json", "accept": "application/json"}
    async with aiohttp.ClientSession(headers=headers) as session:

        async def ask() -> None:
            async with session.post(ours.url, data=body) as answer:
                await answer.read()

        asked = [asyncio.create_task(ask()) for _ in range(WAITING)]
        highest, until = 0.0, time.monotonic() + 2.5
        while time.monotonic() < until:
            await asyncio.sleep(0.25)
            highest = max(highest, measure())
        await asyncio.gather(*asked)
    return highest


def _pss_mb(pid: int) -> float:
    try:
        rollup = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")), 0) / 1024


def report_tokens() -> None:
    """`tools/list` and instructions of parts of GitHub's API, beside one tool for each operation."""
    github = plain_load(github_description().read_bytes())
    told = {size: _told(subset(github, size)) for size in SIZES}
    texts = [text for parts in told.values() for text in parts]
    estimated = [tokens(text) for text in texts]
    real = _counted(texts)
    print("\ntokens before the first call, GitHub's API: estimate (o200k_base)")
    print(f"{'operations':>10} {'two tools':>16} {'with the index':>16} {'a tool each':>20}")
    for row, size in enumerate(SIZES):
        cells = []
        for counts in (estimated, real):
            tools, how, index, each = counts[row * 4 : row * 4 + 4]
            cells.append((tools + how, tools + how + index, each))
        pairs = [f"{ours:,} ({theirs:,})" for ours, theirs in zip(*cells, strict=True)]
        print(f"{size:>10,} {pairs[0]:>16} {pairs[1]:>16} {pairs[2]:>20}")


def _told(document: dict[str, Any]) -> list[str]:
    """Tools, instructions without the index, the index, and FastMCP's tools for the same."""
    raw = json.dumps(document).encode()
    bundle = compiled(raw)
    how = instructions(MANIFEST, vendor=bundle.api.title, index="", timeout_s=30)
    return [json.dumps(TOOLS, separators=(",", ":")), how, bundle.index, _one_each(raw)]


def _one_each(raw: bytes) -> str:
    script = str(ROOT / "benchmarks" / "codemode_one_each.py")
    ended = subprocess.run([fastmcp_python(), "-P", script], input=raw, capture_output=True, check=True)
    return ended.stdout.decode()


def _counted(texts: Sequence[str]) -> list[int]:
    folder = npm_package("gpt-tokenizer").parents[1]
    program = folder / "count.mjs"
    program.write_text(_COUNT)
    ended = subprocess.run(
        ["node", str(program)], input=json.dumps(texts), text=True, capture_output=True, check=True
    )
    counted: list[int] = json.loads(ended.stdout)
    return counted
