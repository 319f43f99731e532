"""`ammeter suite run`, `runs`, `result` and `cancel`: suite runs of a running server, by its MCP tools."""

from __future__ import annotations

from typing import Annotated

import typer

from ammeter.cli.bundle.options import Key, Url, connect
from ammeter.cli.bundle.shown import show_lines, table_lines
from ammeter.cli.house import AsJson
from ammeter.cli.remote import PAGE_SIZE, rows_of
from ammeter.cli.shown import show
from ammeter.cli.suite.commands import SuiteName
from ammeter.cli.suite.find import suite_id_of
from ammeter.cli.suite.gates import Repeats
from ammeter.cli.suite.shown import suite_run_lines
from ammeter.cli.tools import ask_tool

SuiteRunId = Annotated[str, typer.Argument(metavar="SUITE_RUN", help="Id of the suite run.")]
Baseline = Annotated[
    str | None, typer.Option(help="Suite run to compare with, or `last`.", show_default=False)
]


def run(
    suite: SuiteName,
    model: Annotated[
        list[str] | None,
        typer.Option(
            help="Model that every case has; may be given again.", show_default="each case's default"
        ),
    ] = None,
    repeats: Repeats = None,
    baseline: Baseline = None,
    reason: Annotated[str, typer.Option(help="Shown next to the runs.")] = "",
    bundle: Annotated[
        str | None, typer.Option(help="Bundle to run against before it is promoted.", show_default=False)
    ] = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Start a run of every case of a suite; `ammeter gate` waits for the end."""
    remote = connect(url, key)
    started = ask_tool(
        remote,
        "run_eval_suite",
        suite=suite_id_of(remote, suite),
        modelIds=model or None,
        repeats=repeats,
        baselineSuiteRunId=baseline,
        reason=reason,
        bundleId=bundle,
    )
    if as_json:
        show(started, as_json=True)
        return
    typer.echo(f"Started {started['progress']['runs']} runs")
    typer.echo(f"  See what becomes of them with:  ammeter suite result {started['id']}")


def list_runs(
    suite: Annotated[
        str | None, typer.Argument(metavar="SUITE", help="Name or id of a suite.", show_default="all")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 20,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """List suite runs, newest first."""
    remote = connect(url, key)
    chosen = None if suite is None else suite_id_of(remote, suite)
    size = min(limit, PAGE_SIZE)
    found = rows_of(
        lambda page: ask_tool(remote, "list_suite_runs", suite=chosen, page=page, pageSize=size), limit
    )
    if as_json:
        show(found, as_json=True)
        return
    rows = [
        (
            row["id"],
            row["name"],
            row["status"],
            f"{row['progress']['casesEnded']}/{row['progress']['cases']}",
            "-" if row["score"] is None else f"{row['score']:.2f}",
            f"{row['cost']['usd']:.4f}",
            row["createdAt"],
        )
        for row in found["rows"]
    ]
    heading = ("suite run", "suite", "status", "cases", "score", "usd", "started")
    show_lines(table_lines(heading, rows))


def result(
    suite_run: SuiteRunId,
    baseline: Annotated[
        str | None, typer.Option(help="Compare with this suite run.", show_default="its own baseline")
    ] = None,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show a suite run: each case, what changed since a baseline, whether it is ready to ship."""
    found = ask_tool(connect(url, key), "get_suite_run", suiteRunId=suite_run, baselineSuiteRunId=baseline)
    if as_json:
        show(found, as_json=True)
        return
    show_lines(suite_run_lines(found))


def cancel(suite_run: SuiteRunId, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Cancel what has not ended of a suite run."""
    answer = ask_tool(connect(url, key), "cancel_suite_run", suiteRunId=suite_run)
    if as_json:
        show(answer, as_json=True)
        return
    show_lines(suite_run_lines(answer))
