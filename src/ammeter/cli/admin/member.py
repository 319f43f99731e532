"""`ammeter admin member`: who belongs to an organization, in which role."""

from __future__ import annotations

from typing import Annotated

import typer

from ammeter.base.pages import DEFAULT_PAGE_SIZE, PageRequest
from ammeter.cli.house import AsJson, OrgSlug, PageNumber, PageSize, RoleOption, opened, operator
from ammeter.cli.shown import plain, show, show_page
from ammeter.features.orgs import members, service
from ammeter.features.orgs.model import Role

commands = typer.Typer(no_args_is_help=True)

_COLUMNS = ("email", "name", "role", "created_at", "id")


@commands.command()
def add(
    org: OrgSlug,
    email: str,
    role: RoleOption = "viewer",
    name: Annotated[str, typer.Option(help="How the person is shown; the address if absent.")] = "",
    as_json: AsJson = False,
) -> None:
    """Add a person; a new one gets a password, printed once."""
    password = members.new_password()
    with opened() as house, house.db.write() as tx:
        known = members.is_known(tx, email)
        found = service.get_org(tx, org)
        added = members.add_member(
            tx, operator(), found.id, email=email, name=name or email, role=Role[role], password=password
        )
    shown = plain(added) | ({} if known else {"password": password})
    show(
        shown,
        as_json=as_json,
        title="Added the member" + ("" if known else " (the password is shown this once)"),
    )


@commands.command("list")
def list_all(
    org: OrgSlug, page: PageNumber = 1, page_size: PageSize = DEFAULT_PAGE_SIZE, as_json: AsJson = False
) -> None:
    """List the members of an organization."""
    with opened() as house, house.db.read() as tx:
        found = members.list_members(
            tx, service.get_org(tx, org).id, PageRequest(page=page, page_size=page_size)
        )
    show_page(found, _COLUMNS, as_json=as_json)


@commands.command("role")
def set_role(org: OrgSlug, email: str, role: RoleOption = "viewer", as_json: AsJson = False) -> None:
    """Change a member's role."""
    with opened() as house, house.db.write() as tx:
        changed = members.set_role(tx, operator(), service.get_org(tx, org).id, email, Role[role])
    show(changed, as_json=as_json, title="Changed the role")


@commands.command()
def remove(org: OrgSlug, email: str, as_json: AsJson = False) -> None:
    """Remove a member."""
    with opened() as house, house.db.write() as tx:
        removed = members.remove_member(tx, operator(), service.get_org(tx, org).id, email)
    show(removed, as_json=as_json, title="Removed the member")


@commands.command()
def password(org: OrgSlug, email: str, as_json: AsJson = False) -> None:
    """Give a member a new password, printed once."""
    fresh = members.new_password()
    with opened() as house, house.db.write() as tx:
        changed = members.set_password(tx, operator(), service.get_org(tx, org).id, email, fresh)
    show({"email": changed.email, "password": fresh}, as_json=as_json, title="New password (shown this once)")
