"""A suite run as lines for a person; the server's JSON comes in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ammeter.cli.bundle.shown import table_lines

Json = Mapping[str, Any]

WORDS = {"passed": "pass", "failed": "FAIL", "errored": "ERROR", "cancelled": "cancelled", "running": "…"}


def suite_run_lines(found: Json) -> Iterator[str]:
    progress, cost = found["progress"], found["cost"]
    yield f"{found['name']}: {found['status']}  {found['id']}".rstrip()
    spent = f"{cost['usd']:.4f} USD" + ("" if cost["isComplete"] else " and what has no known price")
    yield f"  {progress['casesEnded']} of {progress['cases']} cases, {progress['runsEnded']} runs, {spent}"
    yield from table_lines(
        ("", "case", "model", "score", "held"), [case_row(c) for c in found["cases"]], "  "
    )
    yield "Ready to ship" if found["readyToShip"] else "Not ready to ship:"
    yield from (f"  {reason}" for reason in found["reasons"])
    if found["comparison"] is not None:
        yield from comparison_lines(found["comparison"])


def case_row(case: Json) -> tuple[str, ...]:
    score = "-" if case["score"] is None else f"{case['score']:.2f}"
    held = f"{case['held']}/{len(case['runs'])}"
    return WORDS[case["outcome"]], case["name"], case["modelId"], score, held


def comparison_lines(comparison: Json) -> Iterator[str]:
    counts = ", ".join(
        f"{comparison[word]} {word}" for word in ("regressed", "fixed", "changed", "new", "removed")
    )
    yield f"Against {comparison['baselineSuiteRunId']}: {counts}"
    yield from (f"  undecidable: {why}" for why in comparison["undecidable"])
    moved = [row for row in comparison["rows"] if row["change"] != "unchanged"]
    for row in moved:
        because = f" ({row['because']})" if row["because"] else ""
        yield f"  {row['change']:<11}  {row['name']} on {row['modelId']}{because}"
