"""`ammeter admin audit`: who changed what, when and from where."""

from __future__ import annotations

from ammeter.base.pages import DEFAULT_PAGE_SIZE, PageRequest
from ammeter.cli.house import AsJson, OrgSlug, PageNumber, PageSize, opened, operator
from ammeter.cli.shown import show_page
from ammeter.features.orgs import audit, service


def show_audit(
    org: OrgSlug, page: PageNumber = 1, page_size: PageSize = DEFAULT_PAGE_SIZE, as_json: AsJson = False
) -> None:
    with opened() as house, house.db.read() as tx:
        org_id = service.get_org(tx, org).id
        found = audit.list_events(tx, operator(), org_id, PageRequest(page=page, page_size=page_size))
    show_page(found, ("at", "actor_kind", "actor", "origin", "action", "target"), as_json=as_json)
