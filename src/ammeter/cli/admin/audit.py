"""`ammeter admin audit`: who changed what, when and from where."""

from __future__ import annotations

from typing import Annotated

import typer

from ammeter.base.pages import DEFAULT_PAGE_SIZE, PageRequest
from ammeter.cli.house import AsJson, PageNumber, PageSize, opened, operator
from ammeter.cli.shown import show_page
from ammeter.features.orgs import audit, service


def show_audit(
    org: Annotated[str, typer.Option("--org", help="Slug or id; absent: the whole server.")] = "",
    page: PageNumber = 1,
    page_size: PageSize = DEFAULT_PAGE_SIZE,
    as_json: AsJson = False,
) -> None:
    with opened() as house, house.db.read() as tx:
        asked = PageRequest(page=page, page_size=page_size)
        found = (
            audit.list_events(tx, operator(), service.get_org(tx, org).id, asked)
            if org
            else audit.list_all_events(tx, asked)
        )
    show_page(found, ("at", "actor_kind", "actor", "origin", "action", "target"), as_json=as_json)
