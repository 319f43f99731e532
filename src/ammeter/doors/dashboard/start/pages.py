"""`/start`: a new organization from nothing to an agent that talks to its API, in three steps: upload a
description, promote it, connect. Which step comes next is read from what is there, so nothing is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from ammeter.base.errors import (
    BundleTooLarge,
    CompileFailed,
    Conflict,
    Detail,
    FeatureDisabled,
    InsufficientRole,
    NotFound,
    ValidationFailed,
)
from ammeter.base.pages import PageRequest
from ammeter.doors.dashboard.bundles.upload import take_form
from ammeter.doors.dashboard.bundles.versions import serving_sources
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.bundles import service as bundles
from ammeter.features.bundles.model import StoredBundle
from ammeter.features.orgs.model import Role
from ammeter.features.sources import service as sources
from ammeter.features.sources.connect import CLIENTS, Snippet, endpoint_address, snippet
from ammeter.features.sources.model import Source
from ammeter.features.telemetry.store import first_day
from ammeter.wiring import House

_FIELDS = {
    "$.slug": "slug",
    "$.openapi": "openapi",
    "$.manifest.baseUrl": "base_url",
    "$.manifest.auth.secretRef": "secret",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StartPage:
    step: int
    """1 to 3: what comes next; 4 once an agent has come."""
    code_mode: bool
    source: Source | None
    bundle: StoredBundle | None
    """The one that is served, or the newest that could be."""
    snippets: tuple[Snippet, ...]
    endpoint: str
    address: str
    form: Form
    findings: tuple[Detail, ...] = ()


async def first_page(visit: Visit) -> Response:
    return visit.go("/start" if await visit.read(_is_new) else visit.first_path)


async def show(visit: Visit) -> Response:
    return await _show(visit, Form())


async def show_agent(visit: Visit) -> Response:
    page = await visit.read(_page, visit.house, Form(), ())
    return visit.fragment("start/templates/agent_part.html", page)


async def take(visit: Visit) -> Response:
    form = await visit.form()
    try:
        source = await visit.write(_source, form)
        sent = Form(values={**form.values, "source": [source.id], "promote": []}, files=form.files)
        await take_form(visit, sent)
    except (CompileFailed, BundleTooLarge) as fault:
        told = Form(values=form.values, problem=fault.message)
        return await _show(visit, told, findings=fault.details, status=422)
    except (ValidationFailed, Conflict, NotFound, FeatureDisabled, InsufficientRole) as fault:
        return await _show(visit, form.refused(fault, _FIELDS), status=422)
    return visit.go("/start", said="The description is compiled.")


async def _show(
    visit: Visit, form: Form, *, findings: tuple[Detail, ...] = (), status: int = 200
) -> Response:
    page = await visit.read(_page, visit.house, form, findings)
    return visit.page("start/templates/start.html", page, title="First steps", status=status)


def _is_new(tx: Tx, me: Me) -> bool:
    """Whether nothing is served and nothing else is tested here yet."""
    found = sources.list_sources(tx, me.org_id, PageRequest(page_size=200)).rows
    return not any(
        not source.source_slug or bundles.find_active(tx, source.id, source.environment) for source in found
    )


def _page(tx: Tx, me: Me, house: House, form: Form, findings: tuple[Detail, ...]) -> StartPage:
    source, bundle = _furthest(tx, me)
    step = 1
    if bundle is not None:
        step = 3 if bundle.is_active else 2
    if step == 3 and first_day(tx, me.org_id) is not None:
        step = 4
    public_url = house.settings.public_url
    slug = source.source_slug if source else None
    endpoint = endpoint_address(public_url, slug) if slug else ""
    return StartPage(
        step=step,
        code_mode=me.org.code_mode,
        source=source,
        bundle=bundle,
        snippets=tuple(snippet(client, slug, endpoint) for client in CLIENTS) if slug and step >= 3 else (),
        endpoint=endpoint,
        address=f"{public_url}/product-mcp/",
        form=form,
        findings=findings,
    )


def _furthest(tx: Tx, me: Me) -> tuple[Source | None, StoredBundle | None]:
    """The source that is nearest to being served, with its bundle."""
    known = serving_sources(tx, me.org_id)
    stored: tuple[Source, StoredBundle] | None = None
    for source in known:
        if active := bundles.find_active(tx, source.id, source.environment):
            return source, active
        newest = bundles.list_bundles(tx, me.signed_in, source.id, None, PageRequest(page_size=1))[1].rows
        if newest and stored is None:
            stored = source, newest[0]
    return stored or (known[0] if known else None, None)


def _source(tx: Tx, me: Me, form: Form) -> Source:
    """The source that the form names, made where it is not there."""
    if named := form.text("source"):
        return sources.get_source(tx, me.org_id, named)
    try:
        return sources.get_source(tx, me.org_id, form.text("slug"))
    except NotFound:
        return sources.provision_source(
            tx, me.actor, me.org_id, name=form.text("name"), source_slug=form.text("slug")
        )


VIEWS = (
    View(path="/", handle=first_page),
    View(path="/start", handle=show),
    View(path="/start/agent", handle=show_agent),
    View(path="/start", method="POST", handle=take, role=Role.editor, to="upload a bundle"),
)
