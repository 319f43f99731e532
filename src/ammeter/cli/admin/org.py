"""`ammeter admin org`: make and list organizations, set their included runs."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import typer

from ammeter.base.pages import DEFAULT_PAGE_SIZE, PageRequest
from ammeter.cli.house import AsJson, PageNumber, PageSize, opened, operator
from ammeter.cli.shown import show, show_page
from ammeter.features.orgs import service

commands = typer.Typer(no_args_is_help=True)

_RUNS = re.compile(r"[0-9]{1,15}")
_COLUMNS = ("slug", "name", "region", "mcp_analytics", "code_mode", "included_runs", "created_at", "id")


@commands.command()
def create(
    slug: str,
    name: Annotated[str, typer.Option(help="Display name; the slug if absent.")] = "",
    region: Annotated[Literal["us", "eu"] | None, typer.Option(help="Default: AMMETER_REGION.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make an organization."""
    with opened() as house, house.db.write() as tx:
        made = service.create_org(
            tx, operator(), slug=slug, name=name or slug, region=region or house.settings.region
        )
    show(made, as_json=as_json, title="Made the organization")


@commands.command("list")
def list_all(page: PageNumber = 1, page_size: PageSize = DEFAULT_PAGE_SIZE, as_json: AsJson = False) -> None:
    """List organizations."""
    with opened() as house, house.db.read() as tx:
        show_page(
            service.list_orgs(tx, PageRequest(page=page, page_size=page_size)), _COLUMNS, as_json=as_json
        )


@commands.command("show")
def show_one(slug: str, as_json: AsJson = False) -> None:
    """Show an organization by slug or id."""
    with opened() as house, house.db.read() as tx:
        show(service.get_org(tx, slug), as_json=as_json)


@commands.command("included-runs")
def included_runs(
    slug: str,
    runs: Annotated[str, typer.Argument(help="Runs a month, or 'unlimited'.")],
    as_json: AsJson = False,
) -> None:
    """Set how many runs a month are included."""
    if runs != "unlimited" and not _RUNS.fullmatch(runs):
        raise typer.BadParameter(f"{runs!r} is neither a number nor 'unlimited'", param_hint="RUNS")
    with opened() as house, house.db.write() as tx:
        number = None if runs == "unlimited" else int(runs)
        changed = service.set_included_runs(tx, operator(), service.get_org(tx, slug), number)
    show(changed, as_json=as_json, title="Set the included runs")
