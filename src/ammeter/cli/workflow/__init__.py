"""`ammeter workflow …`: eval cases of a running server."""

from __future__ import annotations

import typer

from ammeter.cli.workflow import commands


def workflow_commands() -> typer.Typer:
    workflow = typer.Typer(no_args_is_help=True, help="Eval cases: list, show, create, archive, run.")
    workflow.command("list")(commands.list_all)
    workflow.command("show")(commands.show_one)
    workflow.command("create")(commands.create)
    workflow.command("archive")(commands.archive)
    workflow.command("run")(commands.run)
    return workflow
