"""How a command gets at the data: the House of the settings, and the operator as the actor."""

from __future__ import annotations

import getpass
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ammeter.base.pages import MAX_PAGE_SIZE
from ammeter.features.orgs.model import Actor, Role, RoleName

if TYPE_CHECKING:
    from ammeter.wiring import House

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
OrgSlug = Annotated[str, typer.Option("--org", help="Slug or id of the organization.")]
RoleOption = Annotated[RoleName, typer.Option("--role", help="What it may do.")]
PageNumber = Annotated[int, typer.Option("--page", min=1, help="Page, from 1.")]
PageSize = Annotated[int, typer.Option("--page-size", min=1, max=MAX_PAGE_SIZE, help="Rows on a page.")]


@contextmanager
def opened() -> Iterator[House]:
    # Imported here: most commands speak to a server and need no house of their own.
    from ammeter.settings import load_settings
    from ammeter.wiring import open_house

    house = open_house(load_settings())
    try:
        yield house
    finally:
        house.close()


def operator() -> Actor:
    """Whoever may run commands on the server's own data is its operator, above every role."""
    return Actor(kind="operator", name=_user(), role=Role.owner, origin=f"cli@{socket.gethostname()}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"
