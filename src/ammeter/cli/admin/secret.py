"""`ammeter admin secret`: set, list, delete, and rotate the key that seals them all."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ammeter.base.errors import Detail, ValidationFailed
from ammeter.base.pages import DEFAULT_PAGE_SIZE, PageRequest
from ammeter.cli.house import AsJson, OrgSlug, PageNumber, PageSize, opened, operator
from ammeter.cli.shown import show, show_page
from ammeter.features.orgs import service

commands = typer.Typer(no_args_is_help=True)


@commands.command("set")
def put(
    org: OrgSlug,
    name: Annotated[str, typer.Argument(help="Upper-case letters, digits and underscores.")],
    as_json: AsJson = False,
) -> None:
    """Set a secret. The value is read from standard input, or asked for: never from the command line."""
    value = typer.prompt("Value", hide_input=True) if sys.stdin.isatty() else _piped()
    with opened() as house, house.db.write() as tx:
        org_id = service.get_org(tx, org).id
        secret, is_new = house.secrets.put(tx, operator(), org_id, name=name, value=value)
    show(secret, as_json=as_json, title="Set the secret, new" if is_new else "Set the secret anew")


@commands.command("list")
def list_all(
    org: OrgSlug, page: PageNumber = 1, page_size: PageSize = DEFAULT_PAGE_SIZE, as_json: AsJson = False
) -> None:
    """List the names of secrets."""
    with opened() as house, house.db.read() as tx:
        org_id = service.get_org(tx, org).id
        found = house.secrets.list(tx, operator(), org_id, PageRequest(page=page, page_size=page_size))
    show_page(found, ("name", "created_at", "updated_at"), as_json=as_json)


@commands.command()
def delete(org: OrgSlug, name: str, as_json: AsJson = False) -> None:
    """Delete a secret."""
    with opened() as house, house.db.write() as tx:
        house.secrets.delete(tx, operator(), service.get_org(tx, org).id, name)
    show({"deleted": name}, as_json=as_json)


@commands.command("rotate-key")
def rotate_key(as_json: AsJson = False) -> None:
    """Seal every secret under a new key.

    With a key file: a new key is made and put first. With AMMETER_SEALING_KEYS: put the new key first,
    run this, then take the old one away.
    """
    with opened() as house:
        resealed = house.secrets.rotate(house.db, operator())
    show({"resealed": resealed}, as_json=as_json, title="Rotated the sealing key")


def _piped() -> str:
    try:
        return sys.stdin.read().rstrip("\r\n")
    except UnicodeDecodeError:
        raise ValidationFailed(
            [Detail(path="$.value", message="a secret's value is text in UTF-8")]
        ) from None
