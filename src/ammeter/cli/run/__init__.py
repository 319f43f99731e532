"""`ammeter run …`: runs of a running server."""

from __future__ import annotations

import typer

from ammeter.cli.run import read


def run_commands() -> typer.Typer:
    run = typer.Typer(no_args_is_help=True, help="Runs of workflows: search, show, watch, cancel.")
    run.command("list")(read.list_all)
    run.command("show")(read.show_one)
    run.command("watch")(read.watch)
    run.command("cancel")(read.cancel)
    return run
