"""A report as JUnit XML: a case is a test; one that did not pass a failure, one that could not be carried out
an error, one that was cancelled skipped."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from ammeter.cli.gate.report import CaseReport, Report

# What XML 1.0 has no way to write, whoever said it.
_UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(report: Report) -> str:
    failures, errors = report.count("failed"), report.count("errored", "running")
    totals = {
        "tests": str(len(report.cases)),
        "failures": str(failures),
        "errors": str(errors),
        "time": f"{report.seconds:.3f}",
    }
    root = ElementTree.Element("testsuites", {"name": "ammeter", **totals})
    suite = ElementTree.SubElement(
        root,
        "testsuite",
        {
            "name": _text(report.name),
            **totals,
            "skipped": str(report.count("cancelled")),
            "timestamp": report.started_at[:19],
            "hostname": _text(report.url),
        },
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in (("suiteRunId", report.suite_run_id), ("costUsd", f"{report.cost_usd:.6f}")):
        if value:
            ElementTree.SubElement(properties, "property", {"name": name, "value": value})
    for case in report.cases:
        _add_case(suite, report, case)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _add_case(suite: ElementTree.Element, report: Report, case: CaseReport) -> None:
    test = ElementTree.SubElement(
        suite,
        "testcase",
        {
            "name": _text(case.name),
            "classname": _text(f"{report.name}.{case.model}"),
            "time": f"{case.seconds:.3f}",
        },
    )
    if case.outcome == "passed":
        return
    word = {"failed": "failure", "cancelled": "skipped"}.get(case.outcome, "error")
    told = ElementTree.SubElement(test, word, {"message": _text(case.why or case.outcome)})
    if word != "skipped":
        told.set("type", case.outcome)
        told.text = _text("\n".join(case.lines or (case.why,)))


def _text(text: str) -> str:
    return _UNWRITABLE.sub("\ufffd", text)
