"""The commands of the process itself: `serve`, `init`, `migrate`, `version`."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from ammeter import __version__
from ammeter.base import logs
from ammeter.cli.first import DEMO_SLUG, FirstOwner, demo_owner, make_first_owner
from ammeter.cli.house import AsJson, opened
from ammeter.cli.shown import show
from ammeter.engines.db.database import Database
from ammeter.engines.db.migrate import migrate as run_migrations
from ammeter.settings import load_settings
from ammeter.wiring import open_house


def add_process_commands(commands: typer.Typer) -> None:
    commands.command()(serve)
    commands.command()(init)
    commands.command()(migrate)
    commands.command()(version)


def serve(
    role: Annotated[
        Literal["all", "web", "worker"], typer.Option(help="all: web and worker in one process.")
    ] = "all",
    host: Annotated[str | None, typer.Option(help="Address to listen on.")] = None,
    port: Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Make a demo organization and print its key.")] = False,
) -> None:
    """Start the server."""
    from ammeter.cli import process

    settings = load_settings(host=host, port=port, demo=demo or None)
    plain = settings.log_format == "plain"
    logs.configure(level=settings.log_level, json_lines=not plain)
    house = open_house(settings)
    owner = demo_owner(house) if settings.demo else None

    def on_ready(address: str) -> None:
        if owner is not None:
            typer.echo(_welcome(settings.base_url or address, owner))
        elif address:
            typer.echo(f"Ammeter {__version__} answers at {settings.base_url or address}")
        else:
            typer.echo(f"Ammeter {__version__} works on jobs")
        sys.stdout.flush()

    async def fill_demo(address: str) -> None:
        from ammeter.cli.demo import reachable, serve_demo
        from ammeter.cli.demo_release import make_demo_release
        from ammeter.cli.demo_seed.load import seed_beside
        from ammeter.cli.demo_suite import make_demo_suite
        from ammeter.cli.demo_surroundings import surround_demo

        if owner is not None:
            await serve_demo(owner, address)
            await seed_beside(house)
            # Last: its runs are telemetry, and a demo that has some is not seeded.
            await make_demo_suite(owner, reachable(address))
            await surround_demo(owner, reachable(address))
            await make_demo_release(owner, reachable(address))

    try:
        process.serve(house, role, on_ready, fill_demo if owner is not None else None)
    finally:
        house.close()


def init(
    slug: Annotated[str, typer.Option(help="Slug of the first organization.")] = "main",
    name: Annotated[str, typer.Option(help="Its display name; the slug if absent.")] = "",
    email: Annotated[str, typer.Option(help="Address of its owner.")] = "owner@localhost",
    as_json: AsJson = False,
) -> None:
    """Make the first organization and its owner; prints the sign-in and an API key once."""
    with opened() as house:
        owner = make_first_owner(house, slug=slug, name=name or slug, email=email, features=False)
    show(owner, as_json=as_json, title="Made the first organization (password and token are shown this once)")


def migrate(as_json: AsJson = False) -> None:
    """Bring the database to the newest schema."""
    db = Database(load_settings().database)
    try:
        done = run_migrations(db)
    finally:
        db.close()
    show({"migrated": list(done)}, as_json=as_json, title="" if done else "Nothing to do")


def version() -> None:
    """Print the version."""
    typer.echo(__version__)


def _welcome(address: str, owner: FirstOwner) -> str:
    return f"""
Ammeter {__version__} is running.
  Dashboard  {address}/
  Sign-in    {owner.email}   {owner.password}
  API key    {owner.token}
  MCP        {address}/product-mcp/{DEMO_SLUG}   Harbour Books, a demo API; its bundle is ready in a moment
  Try it     curl -H "Authorization: Bearer {owner.token}" {address}/api/service/v1/org
Stop it with Ctrl-C.
"""
