"""The first organization: `ammeter init`, and the demo that `ammeter serve --demo` brings."""

from __future__ import annotations

import json
import os
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from ammeter.base.errors import Conflict, NotFound, Unauthenticated
from ammeter.base.pages import PageRequest
from ammeter.cli.house import operator
from ammeter.doors.demo_api.names import DEMO_ORG, DEMO_SECRET
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import keys, members, service
from ammeter.features.orgs.model import Role
from ammeter.features.sources import service as sources
from ammeter.wiring import House

DEMO_SLUG = "demo-api"


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstOwner:
    """What the first owner signs in with; the server itself cannot show it again."""

    org: str
    email: str
    password: str
    token: str


def make_first_owner(house: House, *, slug: str, name: str, email: str, features: bool) -> FirstOwner:
    """The first organization, its owner and a key of theirs, all or nothing."""
    with house.db.write() as tx:
        if service.list_orgs(tx, PageRequest(page_size=1)).total:
            raise Conflict(
                "This server has an organization already; make more with: ammeter admin org create"
            )
        actor = operator()
        org = service.create_org(
            tx,
            actor,
            slug=slug,
            name=name,
            region=house.settings.region,
            mcp_analytics=features,
            code_mode=features,
        )
        password = members.new_password()
        owner = members.add_member(
            tx, actor, org.id, email=email, name="Owner", role=Role.owner, password=password
        )
        _, token = keys.mint_key(tx, actor, org.id, name="first owner", role=Role.owner)
        if features:
            sources.provision_source(tx, actor, org.id, name="Harbour Books", source_slug=DEMO_SLUG)
            _give_demo_token(house, tx, org.id)
    return FirstOwner(org=org.slug, email=owner.email, password=password, token=token)


def demo_owner(house: House) -> FirstOwner | None:
    """The demo's owner, made at the first call and remembered in a file of the data folder, so that a
    second start can print them too; None where the server's organization is not the demo's."""
    file = house.settings.data_dir / "demo.json"
    remembered = _remembered(file)
    if remembered is not None and _lets_in(house, remembered.token):
        with house.db.write() as tx:
            _give_demo_token(house, tx, service.get_org(tx, DEMO_ORG).id)
        return remembered
    try:
        owner = make_first_owner(house, slug=DEMO_ORG, name="Demo", email="owner@demo.example", features=True)
    except Conflict:
        return None
    file.unlink(missing_ok=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
        json.dump(asdict(owner), out)
    return owner


def _give_demo_token(house: House, tx: Tx, org_id: str) -> None:
    """What the demo's API asks for, unless it is there."""
    try:
        house.secrets.get(tx, org_id, DEMO_SECRET)
    except NotFound:
        house.secrets.put(tx, operator(), org_id, name=DEMO_SECRET, value=secrets.token_urlsafe(32))


def _remembered(file: Path) -> FirstOwner | None:
    try:
        return FirstOwner(**json.loads(file.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def _lets_in(house: House, token: str) -> bool:
    # The file outlives a database that was thrown away, and a key that was revoked.
    try:
        with house.db.read() as tx:
            keys.authenticate(tx, token)
    except Unauthenticated:
        return False
    return True
