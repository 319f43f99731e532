"""`ammeter`: the process commands, the operator's under `admin`, and those that speak to a running server.

Each group is imported when it is named: a client's command has no use for the server's parts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer

from ammeter.base.errors import AmmeterError
from ammeter.cli.remote import Refused, RemoteError


def app(only: str | None = None) -> typer.Typer:
    """All commands; where `only` names one of them, that one's group alone."""
    commands = typer.Typer(
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        help="Ammeter: host an API for agents, test MCP servers with agents, see what agents tried to do.",
    )
    for names, add in _GROUPS.items():
        if only not in _NAMES or only in names:
            add(commands)
    # With one command alone, typer would take its name away.
    commands.callback()(lambda: None)
    return commands


def _process(commands: typer.Typer) -> None:
    from ammeter.cli.process_commands import add_process_commands

    add_process_commands(commands)


def _bundle(commands: typer.Typer) -> None:
    from ammeter.cli.bundle import bundle_commands

    commands.add_typer(bundle_commands(), name="bundle")


def _mcp(commands: typer.Typer) -> None:
    from ammeter.cli.mcp import mcp_commands, try_commands

    commands.add_typer(mcp_commands(), name="mcp")
    commands.add_typer(try_commands(), name="try")


def _source(commands: typer.Typer) -> None:
    from ammeter.cli.source import skills_commands, source_commands

    commands.add_typer(source_commands(), name="source")
    commands.add_typer(skills_commands(), name="skills")


def _workflow(commands: typer.Typer) -> None:
    from ammeter.cli.workflow import workflow_commands
    from ammeter.cli.workflow.commands import sync

    commands.add_typer(workflow_commands(), name="workflow")
    commands.command()(sync)


def _suite(commands: typer.Typer) -> None:
    from ammeter.cli.suite import suite_commands

    commands.add_typer(suite_commands(), name="suite")


def _gate(commands: typer.Typer) -> None:
    from ammeter.cli.gate.command import gate

    commands.command()(gate)


def _import(commands: typer.Typer) -> None:
    from ammeter.cli.importers import import_commands

    commands.add_typer(import_commands(), name="import")


def _run(commands: typer.Typer) -> None:
    from ammeter.cli.run import run_commands

    commands.add_typer(run_commands(), name="run")


def _insights(commands: typer.Typer) -> None:
    from ammeter.cli.insights import insights_commands

    commands.add_typer(insights_commands(), name="insights")


def _demo(commands: typer.Typer) -> None:
    from ammeter.cli.demo_seed import demo_commands

    commands.add_typer(demo_commands(), name="demo")


def _admin(commands: typer.Typer) -> None:
    from ammeter.cli.admin import admin_commands

    commands.add_typer(admin_commands(), name="admin")


_GROUPS: dict[tuple[str, ...], Callable[[typer.Typer], None]] = {
    ("serve", "init", "migrate", "version"): _process,
    ("bundle",): _bundle,
    ("mcp", "try"): _mcp,
    ("source", "skills"): _source,
    ("workflow", "sync"): _workflow,
    ("suite",): _suite,
    ("gate",): _gate,
    ("import",): _import,
    ("run",): _run,
    ("insights",): _insights,
    ("demo",): _demo,
    ("admin",): _admin,
}
_NAMES = {name for names in _GROUPS for name in names}


def main() -> None:
    try:
        app(sys.argv[1] if sys.argv[1:] else None)(standalone_mode=True)
    except AmmeterError as error:
        typer.echo(f"ammeter: {error.message}", err=True)
        for detail in error.details:
            typer.echo(f"  {detail.path.removeprefix('$.')}: {detail.message}", err=True)
        if isinstance(error, Refused):
            typer.echo(
                f"  the server said {error.status} {error.refusal}, request {error.request_id}", err=True
            )
        raise SystemExit(error.exit_code if isinstance(error, RemoteError) else 1) from None
