"""`ammeter mcp …` and `ammeter try …`: connect agents to a hosted endpoint, and use its tools by hand."""

from __future__ import annotations

import typer

from ammeter.cli.mcp import attempt, config


def mcp_commands() -> typer.Typer:
    mcp = typer.Typer(no_args_is_help=True, help="Connect agents to a hosted endpoint.")
    mcp.command("config")(config.config)
    # A group of one command would be that command.
    mcp.callback()(lambda: None)
    return mcp


def try_commands() -> typer.Typer:
    attempts = typer.Typer(no_args_is_help=True, help="Use the two tools of a hosted endpoint by hand.")
    attempts.command("search")(attempt.search)
    attempts.command("script")(attempt.script)
    return attempts
