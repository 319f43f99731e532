"""`ammeter insights …`: drafts of workflows from what agents did, and telemetry for other tools."""

from __future__ import annotations

import typer

from ammeter.cli.insights import draft, export


def insights_commands() -> typer.Typer:
    insights = typer.Typer(no_args_is_help=True, help="What agents tried to do: drafts of workflows, export.")
    insights.command("draft")(draft.draft)
    insights.command("export")(export.export)
    return insights
