"""`ammeter gate` in its parts: what each end is worth, how long it is patient, and that its reports are read
by the programs they are for, whatever the cases are called."""

from __future__ import annotations

import io
import re
from typing import Any

import pytest
from junitparser import Error, Failure, JUnitXml, Skipped
from markdown_it import MarkdownIt

from ammeter.base.errors import AmmeterError, SettingsError
from ammeter.cli.gate.annotations import annotation_lines
from ammeter.cli.gate.command import guarded
from ammeter.cli.gate.end import Infrastructure, exit_code_of, exit_code_of_fault
from ammeter.cli.gate.junit import junit_xml
from ammeter.cli.gate.markdown import markdown
from ammeter.cli.gate.patience import Patience
from ammeter.cli.gate.progress import Progress
from ammeter.cli.gate.report import Report, doubtful_runs, make_report
from ammeter.cli.remote import Refused, Unreachable

NASTY = 'a|b `c` <script>alert(1)</script> [x](y)\n::error::z \x00\x1b ]]> & "q" é 🙂'


def case(name: str, outcome: str, **more: Any) -> dict[str, Any]:
    run = {
        "id": f"run-{outcome}",
        "status": "fail",
        "outcome": {"passed": "Passed", "failed": "Failed"}.get(outcome, "Errored"),
        "score": None,
        "classification": "none",
        "durationMs": 1500,
        "error": None if outcome in ("passed", "failed") else "Gone.",
    }
    return {
        "caseId": name,
        "name": name,
        "modelId": "m/x",
        "outcome": outcome,
        "why": "" if outcome == "passed" else f"{name!r} did not pass: because",
        "score": 0.5,
        "held": int(outcome == "passed"),
        "judged": 1,
        "runs": [run],
    } | more


def suite_run(*cases: dict[str, Any], status: str = "fail", **more: Any) -> dict[str, Any]:
    return {
        "id": "sr-1",
        "name": "release",
        "status": status,
        "readyToShip": status == "pass",
        "reasons": [each["why"] for each in cases if each["why"]],
        "progress": {
            "cases": len(cases),
            "casesEnded": len(cases),
            "runs": len(cases),
            "runsEnded": len(cases),
        },
        "cost": {"usd": 0.25, "isComplete": True, "maxUsd": None},
        "cases": list(cases),
        "createdAt": "2026-11-15T09:00:00.000Z",
        "comparison": None,
    } | more


def report(*cases: dict[str, Any], exit_code: int = 1, found: dict[str, Any] | None = None) -> Report:
    """`found`: evaluations by the ids of runs."""
    return make_report(suite_run(*cases), found or {}, exit_code=exit_code, url="http://127.0.0.1:8321")


def evaluation(text: str) -> dict[str, Any]:
    mark = {
        "criterionText": text,
        "isRequired": True,
        "mark": "fail",
        "reasoning": text,
        "problem": None,
        "evidence": [{"spanId": "s1", "excerpt": text}],
    }
    return {"criteria": [mark, mark | {"mark": "pass", "criterionText": "fine"}]}


ALL = [case(NASTY, "passed"), case(NASTY, "failed"), case("down", "errored"), case("stopped", "cancelled")]


@pytest.mark.parametrize(
    ("status", "code"), [("pass", 0), ("fail", 1), ("undecided", 3), ("cancelled", 3), ("running", 3)]
)
def test_only_what_did_not_pass_exits_with_one(status: str, code: int) -> None:
    assert exit_code_of({"status": status}) == code


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        *((Refused("", status=status, code="x"), 2) for status in (400, 401, 403, 404, 409, 422)),
        *((Refused("", status=status, code="x"), 3) for status in (402, 429, 500, 503)),
        (Unreachable("gone"), 3),
        (Infrastructure("late"), 3),
        (SettingsError("wrong"), 2),
    ],
)
def test_faults_are_wrong_use_or_infrastructure(fault: AmmeterError, code: int) -> None:
    assert exit_code_of_fault(fault) == code


def test_a_fault_of_our_own_is_no_failed_case(capsys: pytest.CaptureFixture[str]) -> None:
    def broken() -> int:
        raise RuntimeError("a bug")

    assert guarded(broken, Progress(io.StringIO())) == 3
    assert "the gate itself failed: RuntimeError: a bug" in capsys.readouterr().err


def test_a_busy_server_is_asked_again_when_it_says_so() -> None:
    pauses: list[float] = []
    told: list[str] = []
    answers: list[Any] = [
        Refused("Slow down.", status=429, code="rate_limited", retry_after_s=7),
        Refused("Stopping.", status=503, code="unavailable"),
        Unreachable("Nothing listens."),
        "here",
    ]

    def ask() -> str:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        found: str = answer
        return found

    patience = Patience(lasts_s=60, tell=told.append, sleep=pauses.append)
    assert patience.ask(ask) == "here"
    assert pauses == [7.0, 1.0, 2.0]
    assert told[0] == "The server asks to wait (429 rate_limited); 7 s."


def test_patience_ends_and_what_is_wrong_is_not_tried_again() -> None:
    tried: list[int] = []

    def busy() -> None:
        tried.append(1)
        raise Refused("Slow down.", status=429, code="rate_limited", retry_after_s=30)

    with pytest.raises(Infrastructure, match=r"Slow down\. It was tried for 5 s"):
        Patience(lasts_s=5, tell=lambda _: None, sleep=lambda _: None).ask(busy)
    assert len(tried) == 1

    def wrong() -> None:
        raise Refused("No.", status=422, code="validation_failed")

    with pytest.raises(Refused):
        Patience(lasts_s=60, tell=lambda _: None, sleep=lambda _: None).ask(wrong)


def test_junit_is_read_by_a_parser_whatever_the_cases_are_called() -> None:
    text = junit_xml(report(*ALL, found={"run-failed": evaluation(NASTY)}))
    [suite] = JUnitXml.fromstring(text.encode())
    assert (suite.tests, suite.failures, suite.errors, suite.skipped) == (4, 1, 1, 1)
    assert suite.time == 6.0
    kinds = [[type(result) for result in each.result] for each in suite]
    assert kinds == [[], [Failure], [Error], [Skipped]]
    names = [each.name for each in suite]
    assert names[0].startswith("a|b `c` <script>")
    failure = next(iter(suite)).result or list(suite)[1].result
    assert "failed (required)" in failure[0].text
    assert "fine" not in failure[0].text


def test_markdown_renders_as_one_table_with_nothing_let_through() -> None:
    text = markdown(report(*ALL, found={"run-failed": evaluation(NASTY + "\n```\n# no heading")}))
    renderer = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = renderer.parse(text)
    assert [token.type for token in tokens].count("table_open") == 1
    assert [token.type for token in tokens].count("tr_open") == 1 + len(ALL)
    assert [token.type for token in tokens].count("td_open") == 5 * len(ALL)
    headings = [
        tokens[place + 1].content for place, token in enumerate(tokens) if token.type == "heading_open"
    ]
    assert headings == ["❌ Not ready to ship: release", "Why"]
    html = renderer.render(text)
    assert "<script>" not in html
    assert "href" not in html
    assert "no heading" in html
    assert "<h1>" not in html


def test_annotations_stay_one_line_each() -> None:
    lines = list(annotation_lines(report(*ALL)))
    assert len(lines) == 3
    assert all(re.match(r"::(error|warning) title=[^:,]*::", line) for line in lines)
    assert all("\n" not in line for line in lines)
    ready = list(annotation_lines(report(case("x", "passed"), exit_code=0)))
    assert ready == ["::notice title=release::Ready to ship."]


def test_evaluations_are_read_of_runs_that_were_judged_and_did_not_hold() -> None:
    assert doubtful_runs(suite_run(*ALL)) == ["run-failed"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_one_line_that_lives_and_ci_one_line_a_case() -> None:
    ended, still = case("one", "passed"), case("two", "running", why="")
    terminal, log = Terminal(), io.StringIO()
    for out in (terminal, log):
        progress = Progress(out)
        progress.see(suite_run(still, status="running"))
        progress.see(suite_run(ended, still, status="running"))
        progress.see(suite_run(ended, still, status="running"))
        progress.clear()
    assert log.getvalue() == "pass      one  (m/x, score 0.50, 1/1 runs hold)\n"
    assert "\n" not in terminal.getvalue()
    assert "release: 2/2 runs, 1 pass, 0.2500 USD" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")
