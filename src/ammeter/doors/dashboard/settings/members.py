"""`/settings/members`: people and their roles. A new person's password is shown once, where it was made."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.responses import Response

from ammeter.base.errors import Conflict, Detail, ValidationFailed
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.settings.tabs import Tab, tabs
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.tables import Listing, arranged, every
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import members
from ammeter.features.orgs.model import Member, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    member: Member
    password: str
    """Empty where the person has one already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersPage:
    tabs: tuple[Tab, ...]
    listing: Listing[Member]
    roles: tuple[str, ...]
    """Those that the reader may give."""
    form: Form
    added: Added | None = None


async def show(visit: Visit) -> Response:
    return await _show(visit, Form())


async def add(visit: Visit) -> Response:
    form = await visit.form()
    try:
        added = await visit.write(_add, form)
    except (ValidationFailed, Conflict) as fault:
        return await _show(visit, form.refused(fault), status=422)
    return await _show(visit, Form(), added=added, status=201)


async def change(visit: Visit) -> Response:
    member = await visit.write(_change, visit.part("id"), await visit.form())
    return visit.go("/settings/members", said=f"{member.email} is {member.role.name} now.")


async def remove(visit: Visit) -> Response:
    member = await visit.write(_remove, visit.part("id"))
    return visit.go("/settings/members", said=f"{member.email} is no member any more.")


async def _show(visit: Visit, form: Form, *, added: Added | None = None, status: int = 200) -> Response:
    rows = await visit.read(_list)
    listing = arranged(
        visit.query,
        rows,
        keys={
            "name": lambda row: row.name,
            "email": lambda row: row.email,
            "role": lambda row: row.role,
            "added": lambda row: row.created_at,
        },
        default="name",
        text=lambda row: f"{row.name} {row.email} {row.role.name}",
    )
    roles = tuple(role.name for role in Role if role < Role.owner or visit.may(Role.owner))
    page = MembersPage(tabs=tabs(visit), listing=listing, roles=roles, form=form, added=added)
    return visit.page("settings/templates/members.html", page, title="Members", status=status)


def _list(tx: Tx, me: Me) -> list[Member]:
    return every(lambda page: members.list_members(tx, me.org_id, page))


def _add(tx: Tx, me: Me, form: Form) -> Added:
    password = "" if members.is_known(tx, form.text("email")) else members.new_password()
    member = members.add_member(
        tx,
        me.actor,
        me.org_id,
        email=form.text("email"),
        name=form.text("name"),
        role=_role(form),
        password=password or None,
    )
    return Added(member=member, password=password)


def _change(tx: Tx, me: Me, member_id: str, form: Form) -> Member:
    return members.set_role(tx, me.actor, me.org_id, member_id, _role(form))


def _remove(tx: Tx, me: Me, member_id: str) -> Member:
    return members.remove_member(tx, me.actor, me.org_id, member_id)


def _role(form: Form) -> Role:
    name = form.text("role")
    if name not in Role.__members__:
        raise ValidationFailed([Detail(path="$.role", message=f"there is no role {name[:40]!r}")])
    return Role[name]


VIEWS = (
    View(path="/settings/members", handle=show),
    View(path="/settings/members", method="POST", handle=add, role=Role.admin, to="manage members"),
    View(path="/settings/members/{id}", method="POST", handle=change, role=Role.admin, to="manage members"),
    View(
        path="/settings/members/{id}/remove",
        method="POST",
        handle=remove,
        role=Role.admin,
        to="remove a member",
    ),
)
