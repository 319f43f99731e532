"""`/sources/{id}`: one source: its tools, the look at it, its skills, how to connect, what may be changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from ammeter.base.errors import ValidationFailed
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.sources.listing import SourceRow, row_of
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.orgs.model import Role
from ammeter.features.sources import service, skills
from ammeter.features.sources.categories import CATEGORIES
from ammeter.features.sources.connect import CLIENTS, Snippet, endpoint_address, snippet
from ammeter.features.sources.model import AuthProfile, SkillVersion, Source, SourceStatus
from ammeter.wiring import House

_OPEN = ("queued", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    name: str
    title: str
    description: str
    input_schema: Mapping[str, Any]
    hints: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcePage:
    row: SourceRow
    tools: tuple[Tool, ...]
    profiles: tuple[AuthProfile, ...]
    skills: tuple[SkillVersion, ...]
    """The newest version of each."""
    snippets: tuple[Snippet, ...]
    endpoint: str
    categories: tuple[str, ...]
    form: Form

    @property
    def source(self) -> Source:
        return self.row.source

    @property
    def is_looking(self) -> bool:
        return self.row.discovery.status in _OPEN


async def show(visit: Visit) -> Response:
    return await _show(visit, Form())


async def show_discovery(visit: Visit) -> Response:
    page = await visit.read(_page, visit.house, visit.part("id"), Form())
    return visit.fragment("sources/templates/discovery_part.html", page)


async def discover(visit: Visit) -> Response:
    source_id = visit.part("id")
    await visit.write(_discover, visit.house, source_id)
    return visit.go(f"/sources/{source_id}", said="Ammeter looks at the source now.")


async def change(visit: Visit) -> Response:
    form = await visit.form()
    try:
        source = await visit.write(_change, visit.part("id"), form)
    except ValidationFailed as fault:
        return await _show(visit, form.refused(fault), status=422)
    return visit.go(f"/sources/{source.id}", said="The source is changed.")


async def archive(visit: Visit) -> Response:
    form = await visit.form()
    source = await visit.write(_set_status, visit.part("id"), form.flag("restore"))
    told = "is active again." if source.status == "active" else "is archived."
    return visit.go(f"/sources/{source.id}", said=f"{source.name} {told}")


async def set_policy(visit: Visit) -> Response:
    form, source_id = await visit.form(), visit.part("id")
    await visit.write(_set_policy, source_id, form.flag("viewers_may_execute"))
    return visit.go(f"/sources/{source_id}", said="The policy is as you set it.")


async def add_skill(visit: Visit) -> Response:
    form = await visit.form()
    try:
        version = await visit.write(_add_skill, visit.part("id"), form)
    except ValidationFailed as fault:
        told = form.refused(fault, {"$.name": "skill_name", "$.text": "skill_text"})
        return await _show(visit, told, status=422)
    return visit.go(
        f"/sources/{visit.part('id')}", said=f"Version {version.number} of {version.name} is there."
    )


async def _show(visit: Visit, form: Form, status: int = 200) -> Response:
    page = await visit.read(_page, visit.house, visit.part("id"), form)
    return visit.page("sources/templates/detail.html", page, title=page.source.name, status=status)


def _page(tx: Tx, me: Me, house: House, source_id: str, form: Form) -> SourcePage:
    source = service.get_source_by_id(tx, me.actor, me.org_id, source_id)
    row = row_of(tx, source, house)
    latest: dict[str, SkillVersion] = {}
    for version in skills.list_skill_versions(tx, source):
        latest.setdefault(version.name, version)
    slug = source.source_slug
    endpoint = endpoint_address(house.settings.public_url, slug) if slug else ""
    return SourcePage(
        row=row,
        tools=tuple(_tool(told) for told in row.discovery.tools),
        profiles=tuple(service.list_auth_profiles(tx, source)),
        skills=tuple(latest.values()),
        snippets=tuple(snippet(client, slug, endpoint) for client in CLIENTS) if slug else (),
        endpoint=endpoint,
        categories=tuple(CATEGORIES),
        form=form,
    )


def _tool(told: Mapping[str, Any]) -> Tool:
    """Whatever a server said of its tool; nothing here is ours."""
    hints = told.get("annotations") or {}
    known = {"readOnlyHint": "reads only", "destructiveHint": "may destroy", "idempotentHint": "idempotent"}
    return Tool(
        name=str(told.get("name", "")),
        title=str(told.get("title") or ""),
        description=str(told.get("description") or ""),
        input_schema=told.get("input_schema") or {},
        hints=tuple(text for name, text in known.items() if hints.get(name) is True),
    )


def _discover(tx: Tx, me: Me, house: House, source_id: str) -> None:
    service.discover_again(tx, me.actor, me.org_id, source_id, jobs=house.jobs)


def _change(tx: Tx, me: Me, source_id: str, form: Form) -> Source:
    return service.change_source(
        tx, me.actor, me.org_id, source_id, name=form.text("name"), categories=form.all("category")
    )


def _set_status(tx: Tx, me: Me, source_id: str, restore: bool) -> Source:
    status: SourceStatus = "active" if restore else "archived"
    return service.change_source(tx, me.actor, me.org_id, source_id, status=status)


def _set_policy(tx: Tx, me: Me, source_id: str, viewers_may_execute: bool) -> Source:
    source = service.get_source_by_id(tx, me.actor, me.org_id, source_id)
    return service.set_policy(tx, me.actor, me.org_id, source.id, viewers_may_execute=viewers_may_execute)


def _add_skill(tx: Tx, me: Me, source_id: str, form: Form) -> SkillVersion:
    source = service.get_source_by_id(tx, me.actor, me.org_id, source_id)
    return skills.add_skill_version(
        tx, me.actor, source, name=form.text("skill_name"), text=form.text("skill_text")
    )


VIEWS = (
    View(path="/sources/{id}", handle=show),
    View(path="/sources/{id}/discovery", handle=show_discovery),
    View(
        path="/sources/{id}/discover", method="POST", handle=discover, role=Role.editor, to="look at a source"
    ),
    View(path="/sources/{id}", method="POST", handle=change, role=Role.editor, to="change a source"),
    View(
        path="/sources/{id}/archive", method="POST", handle=archive, role=Role.editor, to="archive a source"
    ),
    View(
        path="/sources/{id}/policy",
        method="POST",
        handle=set_policy,
        role=Role.admin,
        to="change a source's policy",
    ),
    View(path="/sources/{id}/skills", method="POST", handle=add_skill, role=Role.editor, to="add a skill"),
)
