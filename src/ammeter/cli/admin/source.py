"""`ammeter admin source`: provision a source with its slug, say who may run scripts, list sources."""

from __future__ import annotations

from typing import Annotated

import typer

from ammeter.base.pages import DEFAULT_PAGE_SIZE, PageRequest
from ammeter.cli.house import AsJson, OrgSlug, PageNumber, PageSize, opened, operator
from ammeter.cli.shown import show, show_page
from ammeter.features.orgs import service
from ammeter.features.sources import service as sources

commands = typer.Typer(no_args_is_help=True)


@commands.command()
def provision(
    org: OrgSlug,
    slug: Annotated[str, typer.Argument(help="What its hosted endpoint is reached by.")],
    name: Annotated[str, typer.Option(help="Display name; the slug if absent.")] = "",
    as_json: AsJson = False,
) -> None:
    """Make a source that can be served under a slug."""
    with opened() as house, house.db.write() as tx:
        org_id = service.get_org(tx, org).id
        made = sources.provision_source(tx, operator(), org_id, name=name or slug, source_slug=slug)
    show(made, as_json=as_json, title="Provisioned the source")


@commands.command()
def policy(
    org: OrgSlug,
    slug: Annotated[str, typer.Argument(help="Slug or id of the source.")],
    viewers_may_execute: Annotated[
        bool, typer.Option(help="Whether keys of viewers may run scripts, not only search.")
    ],
    as_json: AsJson = False,
) -> None:
    """Say who may run scripts at the source's hosted endpoint."""
    with opened() as house, house.db.write() as tx:
        org_id = service.get_org(tx, org).id
        made = sources.set_policy(tx, operator(), org_id, slug, viewers_may_execute=viewers_may_execute)
    show(made, as_json=as_json, title="Changed the source")


@commands.command("list")
def list_all(
    org: OrgSlug, page: PageNumber = 1, page_size: PageSize = DEFAULT_PAGE_SIZE, as_json: AsJson = False
) -> None:
    """List sources."""
    with opened() as house, house.db.read() as tx:
        org_id = service.get_org(tx, org).id
        found = sources.list_sources(tx, org_id, PageRequest(page=page, page_size=page_size))
    show_page(found, ("source_slug", "name", "environment", "status", "id"), as_json=as_json)
