"""`ammeter source …` and `ammeter skills …`: MCP sources of a running server, and their instruction texts."""

from __future__ import annotations

import typer

from ammeter.cli.source import create, read, skills


def source_commands() -> typer.Typer:
    source = typer.Typer(no_args_is_help=True, help="MCP sources of a running server: create, list, look at.")
    source.command("create")(create.create)
    source.command("list")(read.list_all)
    source.command("show")(read.show_one)
    source.command("discover")(read.discover)
    source.command("change")(read.change)
    return source


def skills_commands() -> typer.Typer:
    group = typer.Typer(no_args_is_help=True, help="Skills: instruction texts of a source, in versions.")
    group.command("list")(skills.list_all)
    group.command("add")(skills.add)
    group.command("show")(skills.show_one)
    return group
