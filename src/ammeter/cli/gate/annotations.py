"""A report as annotations of GitHub Actions: workflow commands, one a line, on standard output."""

from __future__ import annotations

from collections.abc import Iterator

from ammeter.cli.gate.report import Report


def annotation_lines(report: Report) -> Iterator[str]:
    for case in report.cases:
        if case.outcome == "passed":
            continue
        level = "error" if case.outcome == "failed" else "warning"
        title = _property(f"{case.name} on {case.model}: {case.outcome}")
        yield f"::{level} title={title}::{_data(case.why or case.outcome)}"
    if report.exit_code == 0:
        yield f"::notice title={_property(report.name)}::{_data('Ready to ship.')}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
