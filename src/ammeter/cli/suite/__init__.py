"""`ammeter suite …`: sets of eval cases with a gate, of a running server."""

from __future__ import annotations

import typer

from ammeter.cli.suite import commands, runs


def suite_commands() -> typer.Typer:
    suite = typer.Typer(no_args_is_help=True, help="Suites: sets of cases with a gate; start, show, cancel.")
    suite.command("list")(commands.list_all)
    suite.command("show")(commands.show_one)
    suite.command("create")(commands.create)
    suite.command("change")(commands.change)
    suite.command("archive")(commands.archive)
    suite.command("run")(runs.run)
    suite.command("runs")(runs.list_runs)
    suite.command("result")(runs.result)
    suite.command("cancel")(runs.cancel)
    return suite
