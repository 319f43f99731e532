"""Provisioning sources and naming them, so far: what the operator does before anything is served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ammeter.base.clock import now
from ammeter.base.errors import Detail, NotFound, ValidationFailed
from ammeter.base.ids import new_id
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import audit
from ammeter.features.orgs.fields import Name, Slug, checked
from ammeter.features.orgs.model import Actor, Role
from ammeter.features.sources import store
from ammeter.features.sources.model import Source


def provision_source(tx: Tx, actor: Actor, org_id: str, *, name: str, source_slug: str) -> Source:
    actor.need(Role.owner, to="provision a source slug")
    at = now()
    source = Source(
        id=new_id(),
        org_id=org_id,
        name=checked(Name, name, "$.name"),
        source_slug=checked(Slug, source_slug, "$.slug"),
        environment="production",
        status="active",
        created_at=at,
        updated_at=at,
    )
    store.insert_source(tx, source)
    audit.record(tx, actor, org_id, "source.provision", source_slug, name=source.name)
    return source


def get_source(tx: Tx, org_id: str, slug_or_id: str) -> Source:
    source = store.find_source(tx, org_id, slug_or_id)
    if source is None:
        raise NotFound("source")
    return source


def set_policy(tx: Tx, actor: Actor, org_id: str, slug_or_id: str, *, viewers_may_execute: bool) -> Source:
    actor.need(Role.admin, to="change a source's policy")
    source = get_source(tx, org_id, slug_or_id)
    changed = replace(source, viewers_may_execute=viewers_may_execute, updated_at=now())
    store.update_source(tx, changed)
    name = source.source_slug or source.id
    audit.record(tx, actor, org_id, "source.policy", name, viewers_may_execute=viewers_may_execute)
    return changed


def list_sources(tx: Tx, org_id: str, page: PageRequest) -> Page[Source]:
    return store.list_sources(tx, org_id, page)


def source_ids(tx: Tx, org_id: str, slugs_or_ids: Sequence[str]) -> list[str]:
    """The ids of the named sources; ValidationFailed names each that is not there."""
    found = [store.find_source(tx, org_id, name) for name in slugs_or_ids]
    missing = [
        Detail(path=f"$.sourceIds[{i}]", message=f"no such source: {name!r}")
        for i, (name, source) in enumerate(zip(slugs_or_ids, found, strict=True))
        if source is None
    ]
    if missing:
        raise ValidationFailed(missing)
    return [source.id for source in found if source]
