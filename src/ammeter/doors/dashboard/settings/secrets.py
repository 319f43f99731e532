"""`/settings/secrets`: names of the sealed secrets. A value goes in and never comes out."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from ammeter.base.errors import ValidationFailed
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.settings.tabs import Tab, tabs
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.tables import Listing, arranged, every
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.orgs.model import Role
from ammeter.features.secrets.model import Secret
from ammeter.features.secrets.service import Secrets

_FIELDS = {"$.secretName": "name", "$.value": "value"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsPage:
    tabs: tuple[Tab, ...]
    listing: Listing[Secret]
    form: Form


async def show(visit: Visit) -> Response:
    return await _show(visit, Form())


async def put(visit: Visit) -> Response:
    form = await visit.form()
    try:
        secret, is_new = await visit.write(_put, visit.house.secrets, form)
    except ValidationFailed as fault:
        return await _show(visit, form.refused(fault, _FIELDS), status=422)
    told = f"{secret.name} is sealed." if is_new else f"{secret.name} has its new value."
    return visit.go("/settings/secrets", said=told)


async def delete(visit: Visit) -> Response:
    name = visit.part("name")
    await visit.write(_delete, visit.house.secrets, name)
    return visit.go("/settings/secrets", said=f"{name} is deleted.")


async def _show(visit: Visit, form: Form, status: int = 200) -> Response:
    rows = await visit.read(_list, visit.house.secrets)
    listing = arranged(
        visit.query,
        rows,
        keys={
            "name": lambda row: row.name,
            "made": lambda row: row.created_at,
            "changed": lambda row: row.updated_at,
        },
        default="name",
        text=lambda row: row.name,
    )
    page = SecretsPage(tabs=tabs(visit), listing=listing, form=form)
    return visit.page("settings/templates/secrets.html", page, title="Secrets", status=status)


def _list(tx: Tx, me: Me, secrets: Secrets) -> list[Secret]:
    return every(lambda page: secrets.list(tx, me.actor, me.org_id, page))


def _put(tx: Tx, me: Me, secrets: Secrets, form: Form) -> tuple[Secret, bool]:
    return secrets.put(tx, me.actor, me.org_id, name=form.text("name"), value=form.raw("value"))


def _delete(tx: Tx, me: Me, secrets: Secrets, name: str) -> None:
    secrets.delete(tx, me.actor, me.org_id, name)


VIEWS = (
    View(path="/settings/secrets", handle=show, role=Role.admin, to="see the names of secrets"),
    View(path="/settings/secrets", method="POST", handle=put, role=Role.admin, to="set a secret"),
    View(
        path="/settings/secrets/{name}/delete",
        method="POST",
        handle=delete,
        role=Role.admin,
        to="delete a secret",
    ),
)
