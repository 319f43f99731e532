"""A report as Markdown, for a step summary or a comment: the answer, a table of cases, and what went wrong.
Text of others is escaped: it changes neither the table nor the page."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ammeter.cli.gate.report import CaseReport, Report

_WORDS = {
    "passed": "✅ passed",
    "failed": "❌ failed",
    "errored": "⚠️ not carried out",
    "cancelled": "⏹ cancelled",
}
_HEADS = {0: "✅ Ready to ship", 1: "❌ Not ready to ship", 3: "⚠️ Could not be decided"}
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~$@])")
_CHANGES = ("regressed", "fixed", "changed", "new", "removed")


def markdown(report: Report) -> str:
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    yield f"## {_HEADS.get(report.exit_code, '⚠️ Could not be decided')}: {_text(report.name)}"
    yield ""
    passed = report.count("passed")
    told = f" Suite run `{report.suite_run_id}`." if report.suite_run_id else ""
    yield (
        f"{passed} of {len(report.cases)} cases passed in {report.seconds:.1f} s,"
        f" {report.cost_usd:.4f} USD.{told}"
    )
    yield ""
    yield "| case | model | result | score | runs that hold |"
    yield "|---|---|---|---|---|"
    yield from (_row(case) for case in report.cases)
    yield ""
    if report.reasons:
        yield "### Why"
        yield ""
        yield from (f"- {_text(reason)}" for reason in report.reasons)
        yield ""
    yield from _comparison(report)
    for case in report.cases:
        if case.lines:
            yield from _details(case)


def _row(case: CaseReport) -> str:
    score = "–" if case.score is None else f"{case.score:.2f}"
    cells = [_text(case.name), _text(case.model), _WORDS.get(case.outcome, case.outcome), score]
    return f"| {' | '.join(cells)} | {case.held} of {case.runs} |"


def _comparison(report: Report) -> Iterator[str]:
    made = report.comparison
    if made is None:
        return
    yield "### Since the baseline"
    yield ""
    yield ", ".join(f"{made[word]} {word}" for word in _CHANGES) + "."
    yield ""
    moved = [row for row in made["rows"] if row["change"] != "unchanged"]
    yield from (f"- {row['change']}: {_text(row['name'])} {_text(row['because'])}".rstrip() for row in moved)
    yield from (f"- undecidable: {_text(why)}" for why in made["undecidable"])
    yield ""


def _details(case: CaseReport) -> Iterator[str]:
    text = "\n".join(case.lines)
    # A fence longer than any within.
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    yield f"<details><summary>{_html(case.name)} on {_html(case.model)}</summary>"
    yield ""
    yield f"{fence}text"
    yield text
    yield fence
    yield ""
    yield "</details>"
    yield ""


def _text(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def _html(text: str) -> str:
    plain = " ".join(text.split())
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
