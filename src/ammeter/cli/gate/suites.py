"""A suite or a category as a gate plays it: one start, then looks at it until it is over; cancelled where
nobody waits for it any more. What run_eval_suite takes comes in, the suite run at its end goes out."""

from __future__ import annotations

import time
from typing import Any

import typer

from ammeter.base.ids import new_id
from ammeter.cli.gate.end import Infrastructure
from ammeter.cli.gate.patience import Patience
from ammeter.cli.gate.progress import Progress
from ammeter.cli.remote import Remote, RemoteError
from ammeter.cli.tools import ask_tool

_POLL_S = 1.0


def play_suite(
    remote: Remote, order: dict[str, Any], patience: Patience, progress: Progress, *, timeout_s: float
) -> dict[str, Any]:
    # With a key, a start whose answer was lost on the way and that is tried again starts nothing twice.
    sent = {"idempotencyKey": new_id()} | order
    suite_run: dict[str, Any] = patience.ask(lambda: ask_tool(remote, "run_eval_suite", **sent))
    suite_run_id = suite_run["id"]
    progress.say(f"{suite_run['name']}: {suite_run['progress']['runs']} runs, suite run {suite_run_id}")
    until = time.monotonic() + timeout_s
    try:
        while suite_run["status"] == "running":
            if time.monotonic() > until:
                raise Infrastructure(f"The suite run {suite_run_id} did not end within {timeout_s:g} s.")
            time.sleep(_POLL_S)
            suite_run = patience.ask(lambda: ask_tool(remote, "get_suite_run", suiteRunId=suite_run_id))
            progress.see(suite_run)
    except (KeyboardInterrupt, Infrastructure):
        progress.clear()
        _cancel(remote, suite_run_id)
        raise
    progress.clear()
    return suite_run


def _cancel(remote: Remote, suite_run_id: str) -> None:
    try:
        ask_tool(remote, "cancel_suite_run", suiteRunId=suite_run_id)
    except RemoteError as error:
        typer.echo(f"ammeter: what was started goes on: {error.message}", err=True)
