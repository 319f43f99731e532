"""`/sources`: what is tested or served, and making a new one."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from ammeter.base.errors import AmmeterError, Conflict, Detail, InsufficientRole, ValidationFailed
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.tables import Listing, arranged, every
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.bundles.model import StoredBundle
from ammeter.features.bundles.service import find_active
from ammeter.features.orgs.model import Role
from ammeter.features.secrets.references import REFERENCE
from ammeter.features.sources import service
from ammeter.features.sources.checks import NewSource
from ammeter.features.sources.model import Discovery, Source
from ammeter.features.sources.targets import base_url_of
from ammeter.wiring import House

_FIELDS = {"$.baseUrl": "base_url", "$.slug": "slug", "$.authProfile.authConfig.secret_ref": "secret"}
_TRANSPORTS = ("streamable_http", "sse")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceRow:
    source: Source
    discovery: Discovery
    address: str
    active: StoredBundle | None

    @property
    def kind(self) -> str:
        return kind_of(self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcesPage:
    listing: Listing[SourceRow]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewSourcePage:
    form: Form
    address: str
    """Of hosted endpoints, without the slug."""


def kind_of(source: Source) -> str:
    if source.target_kind == "cli":
        return "Command line"
    if source.transport_type == "stdio_hosted":
        return "Hosted process"
    if source.source_slug and source.base_url is None:
        return "Hosted API"
    return "MCP server"


async def show(visit: Visit) -> Response:
    rows = await visit.read(_list, visit.house)
    status = visit.query.get("status", ("active", "archived"), "active")
    listing = arranged(
        visit.query,
        [row for row in rows if row.source.status == status],
        keys={
            "name": lambda row: row.source.name,
            "kind": lambda row: row.kind,
            "made": lambda row: row.source.created_at,
        },
        default="name",
        text=lambda row: f"{row.source.name} {row.source.source_slug} {row.address} {row.kind}",
    )
    return visit.page("sources/templates/list.html", SourcesPage(listing=listing), title="Sources")


async def show_new(visit: Visit) -> Response:
    return _show_new(visit, Form())


async def make(visit: Visit) -> Response:
    form = await visit.form()
    try:
        source = await visit.write(_make, visit.house, form)
    except (ValidationFailed, Conflict, InsufficientRole) as fault:
        return _show_new(visit, form.refused(fault, _FIELDS), status=_status(fault))
    if form.text("kind") == "api":
        return visit.go(
            f"/bundles/upload?source={source.id}", said=f"{source.name} is made; upload its spec."
        )
    return visit.go(f"/sources/{source.id}", said=f"{source.name} is made; Ammeter looks at it now.")


def _show_new(visit: Visit, form: Form, status: int = 200) -> Response:
    page = NewSourcePage(form=form, address=f"{visit.house.settings.public_url}/product-mcp/")
    return visit.page("sources/templates/new.html", page, title="New source", status=status)


def _status(fault: AmmeterError) -> int:
    return 403 if isinstance(fault, InsufficientRole) else 422


def _list(tx: Tx, me: Me, house: House) -> list[SourceRow]:
    found = every(lambda page: service.list_sources(tx, me.org_id, page))
    return [row_of(tx, source, house) for source in found]


def row_of(tx: Tx, source: Source, house: House) -> SourceRow:
    return SourceRow(
        source=source,
        discovery=service.discovery_of(tx, source, house.jobs),
        address=base_url_of(source, house.settings.public_url) or "",
        active=find_active(tx, source.id, source.environment) if source.source_slug else None,
    )


def _make(tx: Tx, me: Me, house: House, form: Form) -> Source:
    if form.text("kind") == "api":
        return service.provision_source(
            tx, me.actor, me.org_id, name=form.text("name"), source_slug=form.text("slug")
        )
    transport = form.text("transport")
    if transport not in _TRANSPORTS:
        raise ValidationFailed([Detail(path="$.transport", message="choose one of the transports")])
    new = NewSource(
        name=form.text("name"),
        transport_type="sse" if transport == "sse" else "streamable_http",
        base_url=form.text("base_url") or None,
        auth_type="bearer_token" if form.text("secret") else "none",
        auth_config={"secret_ref": _reference(form.text("secret"))} if form.text("secret") else {},
    )
    return service.create_source(tx, me.actor, me.org_id, new, jobs=house.jobs, place=house.place).source


def _reference(name: str) -> str:
    return name if REFERENCE.fullmatch(name) else f"secret:{name}"


VIEWS = (
    View(path="/sources", handle=show),
    View(path="/sources/new", handle=show_new, role=Role.editor, to="make a source"),
    View(path="/sources/new", method="POST", handle=make, role=Role.editor, to="make a source"),
)
