"""`ammeter import …`: cases of other tools as workflow files for `ammeter sync`."""

from __future__ import annotations

import typer

from ammeter.cli.importers import commands


def import_commands() -> typer.Typer:
    group = typer.Typer(
        no_args_is_help=True, help="Cases of other tools as workflow files for `ammeter sync`."
    )
    group.command("promptfoo")(commands.promptfoo)
    group.command("openai-evals")(commands.openai_evals)
    return group
