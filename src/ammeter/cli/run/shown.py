"""What workflow and run commands print for a person: runs, evaluations, progress; the server's JSON in."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping
from typing import Any

import typer

from ammeter.cli.bundle.shown import table_lines
from ammeter.cli.remote import Remote, path_of

API = "/api/service/v1"
EXIT_NOT_PASSED = 4

_POLL_S = 0.5
_MARKS = {"pass": "pass", "fail": "FAIL", "not_applicable": "n/a", None: "?"}

Json = Mapping[str, Any]


def run_lines(run: Json) -> Iterator[str]:
    cost = run["cost"]["usd"]
    facts = {
        "run": run["id"],
        "workflow": f"{run['workflowName']} ({run['workflowId']})",
        "model": run["model"]["id"],
        "status": f"{run['status']} ({run['outcome'] or run['phase']})",
        "score": None if run["score"] is None else f"{run['score']:.2f}",
        "because": None if run["classification"] == "none" else run["classification"],
        "error": run["error"],
        "started": run["startedAt"],
        "took": None if run["durationMs"] is None else f"{run['durationMs'] / 1000:.1f} s",
        "did": f"{run['turns']} turns, {run['toolCalls']} tool calls",
        "cost": "unpriced" if cost is None else f"{cost:.4f} USD",
        "attempt": None if run["attempt"] == 1 else run["attempt"],
        "reason": run["reason"] or None,
    }
    told = {name: value for name, value in facts.items() if value is not None}
    width = max(map(len, told))
    yield from (f"  {name:<{width}}  {value}" for name, value in told.items())


def run_row(run: Json) -> tuple[str, ...]:
    score = "-" if run["score"] is None else f"{run['score']:.2f}"
    return (
        run["id"],
        run["workflowName"],
        run["model"]["id"],
        run["status"],
        run["outcome"] or run["phase"],
        score,
        run["classification"],
        run["startedAt"] or run["queuedAt"],
    )


RUN_HEADING = ("run", "workflow", "model", "status", "outcome", "score", "because", "started")


def evaluation_lines(evaluation: Json) -> Iterator[str]:
    """Each criterion in one line; under those that did not pass, why, and where it can be seen."""
    yield evaluation["verdict"]["text"]
    marks = evaluation["criteria"]
    rows = [
        (_MARKS[mark["mark"]], "required" if mark["isRequired"] else "optional", mark["criterionText"])
        for mark in marks
    ]
    lines = list(table_lines(("mark", "is", "criterion"), rows, "  ")) if rows else []
    yield from lines[:1]
    for line, mark in zip(lines[1:], marks, strict=True):
        yield line
        if mark["mark"] in ("pass", "not_applicable"):
            continue
        yield f"        {mark['reasoning'] or mark['problem']}"
        for evidence in mark["evidence"][:3]:
            yield f"        {evidence['spanId']}: {' '.join(evidence['excerpt'].split())[:120]}"
    yield from (f"  warning: {warning}" for warning in evaluation["warnings"])
    if (baseline := evaluation["baseline"]) is not None:
        delta, changed = baseline["scoreDelta"], len(baseline["changedMarks"])
        score = "?" if delta is None else f"{delta:+.2f}"
        yield f"  against {baseline['runId']}: score {score}, {changed} marks changed"


def watch_run(remote: Remote, run_id: str, *, quiet: bool) -> Any:
    """Ask until the run has ended, and tell on standard error how far it is."""
    told = ""
    while True:
        run = remote.get(f"{API}/runs{path_of(run_id)}")
        line = f"{run['phase']}: {run['turns']} turns, {run['toolCalls']} tool calls"
        if not quiet and line != told:
            typer.echo(f"{run_id[:13]} {line}", err=True)
            sys.stderr.flush()
            told = line
        if run["status"] != "running":
            return run
        time.sleep(_POLL_S)


def exit_with(runs: list[Any]) -> None:
    """For CI: 0 where every run passed."""
    if any(run["outcome"] != "Passed" for run in runs):
        raise typer.Exit(EXIT_NOT_PASSED)
