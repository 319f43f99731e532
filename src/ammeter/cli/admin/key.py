"""`ammeter admin key`: mint, list and revoke API keys."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Annotated

import typer

from ammeter.base.clock import now, parse_rfc3339
from ammeter.base.pages import DEFAULT_PAGE_SIZE, PageRequest
from ammeter.cli.house import AsJson, OrgSlug, PageNumber, PageSize, RoleOption, opened, operator
from ammeter.cli.shown import plain, show, show_page
from ammeter.features.orgs import keys, service
from ammeter.features.orgs.fields import Name, checked
from ammeter.features.orgs.model import Role
from ammeter.features.sources.service import source_ids

commands = typer.Typer(no_args_is_help=True)

_DAYS = re.compile(r"[0-9]{1,5}d")
_COLUMNS = ("key_id", "name", "role", "source_ids", "expires_at", "revoked_at", "last_used_at", "created_at")


@commands.command()
def mint(
    org: OrgSlug,
    name: Annotated[str, typer.Option(help="What the key is for.")],
    role: RoleOption = "viewer",
    expires: Annotated[
        str, typer.Option(help="Days from now (30d) or an instant (2027-01-31T00:00:00Z).")
    ] = "",
    source: Annotated[list[str] | None, typer.Option(help="Slug or id it is limited to; repeatable.")] = None,
    as_json: AsJson = False,
) -> None:
    """Mint a key; it is printed once."""
    expires_at = _expiry(expires) if expires else None
    with opened() as house, house.db.write() as tx:
        org_id = service.get_org(tx, org).id
        key, token = keys.mint_key(
            tx,
            operator(),
            org_id,
            name=checked(Name, name, "$.name"),
            role=Role[role],
            expires_at=expires_at,
            source_ids=source_ids(tx, org_id, source) if source else None,
        )
    show(
        {**plain(key), "token": token}, as_json=as_json, title="Minted the key (the token is shown this once)"
    )


@commands.command("list")
def list_all(
    org: OrgSlug, page: PageNumber = 1, page_size: PageSize = DEFAULT_PAGE_SIZE, as_json: AsJson = False
) -> None:
    """List keys, newest first."""
    with opened() as house, house.db.read() as tx:
        org_id = service.get_org(tx, org).id
        found = keys.list_keys(tx, operator(), org_id, PageRequest(page=page, page_size=page_size))
    show_page(found, _COLUMNS, as_json=as_json)


@commands.command()
def revoke(org: OrgSlug, key_id: str, as_json: AsJson = False) -> None:
    """Revoke a key; its next request is refused."""
    with opened() as house, house.db.write() as tx:
        revoked = keys.revoke_key(tx, operator(), service.get_org(tx, org).id, key_id)
    show(revoked, as_json=as_json, title="Revoked the key")


def _expiry(text: str) -> datetime:
    if _DAYS.fullmatch(text):
        return now() + timedelta(days=int(text[:-1]))
    try:
        return parse_rfc3339(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is neither days (30d) nor an instant (2027-01-31T00:00:00Z)", param_hint="--expires"
        ) from None
