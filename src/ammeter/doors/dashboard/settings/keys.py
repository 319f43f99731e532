"""`/settings/keys`: API keys. A key's token is on the page that answers its minting, and nowhere else."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from starlette.responses import Response

from ammeter.base.clock import now
from ammeter.base.errors import Detail, InsufficientRole, ValidationFailed
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.settings.tabs import Tab, tabs
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.tables import Listing, arranged, every
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import keys
from ammeter.features.orgs.fields import Name, checked
from ammeter.features.orgs.model import ApiKey, Role
from ammeter.features.sources import service as sources
from ammeter.features.sources.model import Source

_LIVES = (("", "Never"), ("30", "In 30 days"), ("90", "In 90 days"), ("365", "In a year"))


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRow:
    key: ApiKey
    state: str
    """live, expired or revoked"""
    sources: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysPage:
    tabs: tuple[Tab, ...]
    listing: Listing[KeyRow]
    roles: tuple[str, ...]
    """Those that the reader may give to a key."""
    sources: tuple[Source, ...]
    lives: tuple[tuple[str, str], ...]
    form: Form
    minted: ApiKey | None = None
    token: str = ""


async def show(visit: Visit) -> Response:
    return await _show(visit, Form())


async def mint(visit: Visit) -> Response:
    form = await visit.form()
    try:
        key, token = await visit.write(_mint, form)
    except (ValidationFailed, InsufficientRole) as fault:
        return await _show(visit, form.refused(fault, {"$.expiresAt": "days"}), status=422)
    return await _show(visit, Form(), minted=key, token=token, status=201)


async def revoke(visit: Visit) -> Response:
    key = await visit.write(_revoke, visit.part("id"))
    return visit.go("/settings/keys", said=f"The key {key.name} is revoked.")


async def _show(
    visit: Visit, form: Form, *, minted: ApiKey | None = None, token: str = "", status: int = 200
) -> Response:
    rows, known = await visit.read(_list)
    state = visit.query.get("state", ("live", "expired", "revoked"))
    listing = arranged(
        visit.query,
        [row for row in rows if not state or row.state == state],
        keys={
            "name": lambda row: row.key.name,
            "role": lambda row: row.key.role,
            "made": lambda row: row.key.created_at,
            "used": lambda row: row.key.last_used_at,
        },
        default="-made",
        text=lambda row: f"{row.key.name} {row.key.key_id} {row.key.created_by} {row.sources}",
    )
    page = KeysPage(
        tabs=tabs(visit),
        listing=listing,
        roles=tuple(role.name for role in Role if role <= visit.signed_in.role),
        sources=known,
        lives=_LIVES,
        form=form,
        minted=minted,
        token=token,
    )
    return visit.page("settings/templates/keys.html", page, title="API keys", status=status)


def _list(tx: Tx, me: Me) -> tuple[list[KeyRow], tuple[Source, ...]]:
    found = every(lambda page: keys.list_keys(tx, me.actor, me.org_id, page))
    known = tuple(every(lambda page: sources.list_sources(tx, me.org_id, page)))
    names = {source.id: source.name for source in known}
    return [_row(key, names, now()) for key in found], known


def _row(key: ApiKey, names: dict[str, str], at: datetime) -> KeyRow:
    state = "revoked" if key.revoked_at else "live" if key.is_live(at) else "expired"
    told = "All" if key.source_ids is None else ", ".join(names.get(each, each) for each in key.source_ids)
    return KeyRow(key=key, state=state, sources=told or "None")


def _mint(tx: Tx, me: Me, form: Form) -> tuple[ApiKey, str]:
    role, days = form.text("role"), form.text("days")
    if role not in Role.__members__:
        raise ValidationFailed([Detail(path="$.role", message=f"there is no role {role[:40]!r}")])
    if days not in dict(_LIVES):
        raise ValidationFailed([Detail(path="$.days", message="choose one of the times")])
    chosen = form.all("source")
    return keys.mint_key(
        tx,
        me.actor,
        me.org_id,
        name=checked(Name, form.text("name"), "$.name"),
        role=Role[role],
        expires_at=now() + timedelta(days=int(days)) if days else None,
        source_ids=sources.source_ids(tx, me.org_id, chosen) if chosen else None,
    )


def _revoke(tx: Tx, me: Me, key_id: str) -> ApiKey:
    return keys.revoke_key(tx, me.actor, me.org_id, key_id)


VIEWS = (
    View(path="/settings/keys", handle=show, role=Role.admin, to="see API keys"),
    View(path="/settings/keys", method="POST", handle=mint, role=Role.admin, to="mint an API key"),
    View(
        path="/settings/keys/{id}/revoke",
        method="POST",
        handle=revoke,
        role=Role.admin,
        to="revoke an API key",
    ),
)
