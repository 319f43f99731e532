"""`ammeter run list`, `show`, `watch` and `cancel`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ammeter.cli.bundle.options import Key, Url, connect
from ammeter.cli.bundle.shown import show_lines, table_lines
from ammeter.cli.house import AsJson
from ammeter.cli.remote import Refused, Remote, path_of
from ammeter.cli.run.shown import (
    API,
    RUN_HEADING,
    evaluation_lines,
    exit_with,
    run_lines,
    run_row,
    watch_run,
)
from ammeter.cli.shown import show

RunId = Annotated[str, typer.Argument(metavar="RUN", help="Id of the run.")]


def list_all(
    within: Annotated[Literal["24h", "7d", "30d"], typer.Option("--range", help="How far back.")] = "24h",
    workflow: Annotated[str | None, typer.Option(help="Of this workflow only.", show_default="all")] = None,
    status: Annotated[
        str | None, typer.Option(help="pass, fail, partial or running.", show_default="all")
    ] = None,
    search: Annotated[str | None, typer.Option(help="Words that must occur.", show_default=False)] = None,
    sort: Annotated[str, typer.Option(help="Such as -startedAt, score or -durationMs.")] = "-startedAt",
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    url: Url = None,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Search runs, newest first."""
    query = {"range": within, "workflowId": workflow, "status": status, "search": search, "sort": sort}
    found = connect(url, key).pages(f"{API}/runs", limit=limit, **query)
    if as_json:
        show(found, as_json=True)
        return
    show_lines(table_lines(RUN_HEADING, [run_row(run) for run in found["rows"]]))
    if found["hasMore"]:
        typer.echo(f"… {len(found['rows'])} of {found['total']}")


def show_one(run: RunId, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Show a run and its evaluation."""
    _show(connect(url, key), run, as_json=as_json)


def watch(run: RunId, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Wait for the end of a run; exits with 4 unless it passed."""
    remote = connect(url, key)
    ended = watch_run(remote, run, quiet=as_json)
    _show(remote, run, as_json=as_json)
    exit_with([ended])


def cancel(run: RunId, url: Url = None, key: Key = None, as_json: AsJson = False) -> None:
    """Cancel a run."""
    answer = connect(url, key).post(f"{API}/runs{path_of(run)}/cancel")
    if as_json:
        show(answer, as_json=True)
        return
    show_lines(run_lines(answer))


def _show(remote: Remote, run_id: str, *, as_json: bool) -> None:
    path = f"{API}/runs{path_of(run_id)}"
    run = remote.get(path)
    try:
        evaluation = remote.get(f"{path}/evaluation")
    except Refused as refused:
        if refused.status != 404:
            raise
        evaluation = None
    if as_json:
        show({"run": run, "evaluation": evaluation}, as_json=True)
        return
    show_lines(run_lines(run))
    if evaluation is not None:
        show_lines(evaluation_lines(evaluation))
