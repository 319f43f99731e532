"""`ammeter admin feature`: switch MCP Analytics and code mode."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ammeter.cli.house import AsJson, OrgSlug, opened, operator
from ammeter.cli.shown import show
from ammeter.features.orgs import service
from ammeter.features.orgs.model import Organization

commands = typer.Typer(no_args_is_help=True)

Feature = Annotated[Literal["mcp-analytics", "code-mode"], typer.Argument(help="Which feature.")]


@commands.command()
def enable(org: OrgSlug, feature: Feature, as_json: AsJson = False) -> None:
    """Switch a feature on."""
    _switch(org, feature, on=True, as_json=as_json)


@commands.command()
def disable(org: OrgSlug, feature: Feature, as_json: AsJson = False) -> None:
    """Switch a feature off."""
    _switch(org, feature, on=False, as_json=as_json)


@commands.command("list")
def list_all(org: OrgSlug, as_json: AsJson = False) -> None:
    """Show what is on."""
    with opened() as house, house.db.read() as tx:
        _show(service.get_org(tx, org), as_json=as_json)


def _switch(slug: str, feature: str, *, on: bool, as_json: bool) -> None:
    with opened() as house, house.db.write() as tx:
        org = service.get_org(tx, slug)
        if feature == "code-mode":
            changed = service.set_features(tx, operator(), org, code_mode=on)
        else:
            changed = service.set_features(tx, operator(), org, mcp_analytics=on)
    _show(changed, as_json=as_json)


def _show(org: Organization, *, as_json: bool) -> None:
    show({"org": org.slug, "mcp-analytics": org.mcp_analytics, "code-mode": org.code_mode}, as_json=as_json)
