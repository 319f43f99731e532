"""`ammeter gate`: start, wait, report, exit. See `end.py` for what an exit code means."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from ammeter.base.errors import AmmeterError
from ammeter.cli.bundle.options import Key, Url, connect
from ammeter.cli.bundle.shown import show_lines
from ammeter.cli.gate.annotations import annotation_lines
from ammeter.cli.gate.end import INFRASTRUCTURE, WRONG_USE, exit_code_of, exit_code_of_fault
from ammeter.cli.gate.junit import junit_xml
from ammeter.cli.gate.markdown import markdown
from ammeter.cli.gate.options import (
    Annotations,
    Baseline,
    Bundle,
    CaseOption,
    Category,
    IdempotencyKey,
    Junit,
    Markdown,
    Models,
    PatienceS,
    PrintJson,
    Reason,
    ReportFile,
    SuiteOption,
    Timeout,
)
from ammeter.cli.gate.patience import Patience
from ammeter.cli.gate.progress import Progress
from ammeter.cli.gate.report import Report, doubtful_runs, make_report
from ammeter.cli.gate.suites import play_suite
from ammeter.cli.remote import Refused, Remote, path_of
from ammeter.cli.run.shown import API
from ammeter.cli.suite.find import case_ids_of, suite_id_of
from ammeter.cli.suite.gates import MaxCost, MinPassRate, MinScore, Repeats, Strict, gate_of
from ammeter.cli.suite.shown import suite_run_lines
from ammeter.settings import GithubSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    junit: Path | None
    markdown: Path | None
    report: Path | None
    annotations: bool
    as_json: bool


def gate(
    suite: SuiteOption = None,
    case: CaseOption = None,
    category: Category = None,
    model: Models = None,
    repeats: Repeats = None,
    min_score: MinScore = None,
    strict: Strict = False,
    min_pass_rate: MinPassRate = None,
    max_cost_usd: MaxCost = None,
    baseline: Baseline = None,
    bundle: Bundle = None,
    reason: Reason = "",
    idempotency_key: IdempotencyKey = None,
    timeout: Timeout = 1800,
    patience: PatienceS = 120,
    junit: Junit = None,
    summary: Markdown = None,
    report: ReportFile = None,
    annotations: Annotations = "auto",
    url: Url = None,
    key: Key = None,
    as_json: PrintJson = False,
) -> None:
    """Run a suite or cases and exit: 0 passed, 1 not passed, 2 wrong use, 3 infrastructure."""
    if sum(each is not None for each in (suite, case or None, category)) != 1:
        raise typer.BadParameter("name one of them: --suite, --case or --category", param_hint="--suite")
    if case and (baseline or bundle):
        raise typer.BadParameter("--baseline and --bundle go with --suite or --category", param_hint="--case")
    order: dict[str, Any] = {
        "category": category,
        "modelIds": model or None,
        "repeats": repeats,
        "gate": gate_of(min_score, strict, min_pass_rate, max_cost_usd),
        "baselineSuiteRunId": baseline,
        "bundleId": bundle,
        "reason": reason,
        "idempotencyKey": idempotency_key,
    }
    given = {name: value for name, value in order.items() if value}
    progress = Progress(sys.stderr, quiet=as_json)

    def work() -> int:
        remote = connect(url, key)
        outputs = outputs_of(junit, summary, report, annotations, as_json=as_json)
        asked = Patience(lasts_s=patience, tell=progress.say)
        if suite is not None:
            given["suite"] = asked.ask(lambda: suite_id_of(remote, suite))
        play = play_suite
        if case:
            # Imported here: it judges as the server does, with the server's parts.
            from ammeter.cli.gate.cases import play_cases as play

            given["caseIds"] = asked.ask(lambda: case_ids_of(remote, case))
        played = play(remote, given, asked, progress, timeout_s=timeout)
        return report_on(remote, played, asked, outputs)

    raise typer.Exit(guarded(work, progress))


def outputs_of(
    junit: Path | None, summary: Path | None, report: Path | None, annotations: str, *, as_json: bool
) -> Outputs:
    """A report that cannot be written is told before anything is started."""
    github = GithubSettings()
    made = Outputs(
        junit=junit,
        markdown=summary or github.step_summary,
        report=report,
        annotations=annotations == "github" or (annotations == "auto" and github.actions),
        as_json=as_json,
    )
    for file in (made.junit, made.markdown, made.report):
        if file is not None and not file.parent.is_dir():
            raise typer.BadParameter(f"there is no folder {file.parent} to write {file.name} to")
    return made


def guarded(work: Callable[[], int], progress: Progress) -> int:
    """The exit code of the work; nothing that goes wrong within it is taken for a case that did not pass."""
    try:
        return work()
    except AmmeterError as error:
        progress.clear()
        typer.echo(f"ammeter: {error.message}", err=True)
        for detail in error.details:
            typer.echo(f"  {detail.path.removeprefix('$.')}: {detail.message}", err=True)
        if isinstance(error, Refused):
            typer.echo(f"  the server said {error.status} {error.refusal}", err=True)
        return exit_code_of_fault(error)
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except Exception as error:  # noqa: BLE001  Python would exit with 1, which means something here
        progress.clear()
        typer.echo(f"ammeter: the gate itself failed: {type(error).__name__}: {error}", err=True)
        return INFRASTRUCTURE


def report_on(remote: Remote, played: dict[str, Any], patience: Patience, outputs: Outputs) -> int:
    """Write the reports of a suite run that has ended; the exit code."""
    code = exit_code_of(played)

    def evaluation(run_id: str) -> Any:
        return patience.ask(lambda: remote.get(f"{API}/runs{path_of(run_id)}/evaluation"))

    evaluations = {run_id: evaluation(run_id) for run_id in doubtful_runs(played)}
    made = make_report(played, evaluations, exit_code=code, url=remote.url)
    write_reports(made, played, evaluations, outputs)
    return code


def write_reports(
    made: Report, suite_run: dict[str, Any], evaluations: dict[str, Any], outputs: Outputs
) -> None:
    whole = {"exitCode": made.exit_code, "suiteRun": suite_run, "evaluations": evaluations}
    try:
        if outputs.junit is not None:
            outputs.junit.write_text(junit_xml(made), "utf-8")
        if outputs.markdown is not None:
            with outputs.markdown.open("a", encoding="utf-8") as out:
                out.write(markdown(made))
        if outputs.report is not None:
            outputs.report.write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        typer.echo(f"ammeter: cannot write {error.filename}: {error.strerror}", err=True)
        raise typer.Exit(WRONG_USE) from None
    if outputs.as_json:
        typer.echo(json.dumps(whole, indent=2, ensure_ascii=False))
        return
    show_lines(suite_run_lines(suite_run))
    for case in made.cases:
        for line in case.lines:
            typer.echo(f"  {line}")
    if outputs.annotations:
        show_lines(annotation_lines(made))
