"""promptfoo (npm) at the same tool calls: its MCP provider makes one call a test and has no runs, so a run of
five calls is five tests, each with one assertion. It connects once for all of them, where Ammeter connects
for every run, and it cannot go on where it was cut off.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.peers import ROOT, npm_package


def promptfoo(url: str, folder: Path, *, runs: int, steps: int, at_once: int) -> tuple[float, int]:
    """Seconds, the program's start included, and peak MiB."""
    node = subprocess.run([ROOT / "scripts" / "install-node"], capture_output=True, text=True, check=True)
    path = ":".join(filter(None, (node.stdout.strip(), os.environ["PATH"])))
    os.environ["PATH"] = path
    program = npm_package("promptfoo") / "dist" / "src" / "entrypoint.js"
    tests = [
        {"vars": {"text": str(i)}, "assert": [{"type": "contains", "value": str(i)}]}
        for _ in range(runs)
        for i in range(steps)
    ]
    config = folder / "promptfoo.json"
    config.write_text(
        json.dumps(
            {
                "prompts": ['{"tool": "echo", "args": {"text": "{{text}}"}}'],
                "providers": [
                    {"id": "mcp", "config": {"enabled": True, "server": {"url": url, "name": "n"}}}
                ],
                "tests": tests,
            }
        )
    )
    out = folder / "promptfoo-out.json"
    quiet = ("PROMPTFOO_DISABLE_TELEMETRY", "PROMPTFOO_DISABLE_UPDATE", "PROMPTFOO_DISABLE_REMOTE_GENERATION")
    env = os.environ | dict.fromkeys(quiet, "1") | {"PROMPTFOO_CONFIG_DIR": str(folder / "promptfoo")}
    options = ["-j", str(at_once), "--no-cache", "--no-table", "--no-progress-bar", "-o", str(out)]
    began = time.perf_counter()
    process = subprocess.Popen(
        ["node", str(program), "eval", "-c", str(config), *options],
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    peak = 0
    while process.poll() is None:
        peak = max(peak, peak_mib(process.pid))
        time.sleep(0.1)
    seconds = time.perf_counter() - began
    passed = json.loads(out.read_text())["results"]["stats"]["successes"]
    if passed != runs * steps:
        sys.exit(f"promptfoo passed {passed} of {runs * steps} tests")
    return seconds, peak


def peak_mib(pid: int) -> int:
    """The most memory that a process has had, of its own accord; 0 once it is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM")), 0)
