"""Bundles: upload, read, list, promote, roll back.

An upload is compiled outside any transaction, its artifact is stored by digest, and then one transaction
writes the row and, if asked, moves the pointer. A kill in between leaves at most a blob that nothing names.
Promotion moves a pointer if it still points where the caller saw it; rolling back is promotion.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass

from ammeter.base.clock import now
from ammeter.base.errors import Conflict, Detail, FeatureDisabled, NotFound, ValidationFailed
from ammeter.base.ids import is_id, new_id
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.features.bundles import store
from ammeter.features.bundles.build import Built
from ammeter.features.bundles.model import Provenance, StoredBundle
from ammeter.features.orgs import audit
from ammeter.features.orgs.model import Actor, Principal, Role
from ammeter.features.sources import service as sources
from ammeter.features.sources.model import Source

_ENVIRONMENT = re.compile(r"[a-z0-9-]{1,32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upload:
    """What an upload asks for, checked as far as that goes without compiling."""

    source: Source
    environment: str
    promote: bool
    content_hash: str
    provenance: Provenance


@dataclass(frozen=True, slots=True, kw_only=True)
class Promoted:
    bundle: StoredBundle
    previous_id: str | None


def admit(
    tx: Tx, principal: Principal, actor: Actor, *, source_slug: str, environment: str, promote: bool
) -> Source:
    """The source an upload is for, if this caller may upload to it."""
    actor.need(Role.editor, to="upload a bundle")
    if promote:
        actor.need(Role.admin, to="promote a bundle")
    if not principal.org.code_mode:
        raise FeatureDisabled("Code mode is off for this organization; its operator switches it on.")
    check_environment(environment)
    source = find_source(tx, principal, source_slug)
    if source.status != "active":
        raise Conflict(f"The source {source_slug!r} is archived.")
    return source


def find_source(tx: Tx, principal: Principal, source_slug: str) -> Source:
    source = sources.get_source(tx, principal.org.id, source_slug)
    if not principal.may_touch(source.id):
        raise NotFound("source")
    return source


def check_environment(environment: str) -> None:
    if not _ENVIRONMENT.fullmatch(environment):
        message = "an environment is 1 to 32 lower-case letters, digits and hyphens"
        raise ValidationFailed([Detail(path="$.environment", message=message)])


def record(
    tx: Tx, actor: Actor, upload: Upload, built: Built, digest: str
) -> tuple[StoredBundle, str | None]:
    """Write the bundle down, or find the equal one that is there, and promote it if that was asked.
    Gives the bundle and the id of the one that was served before."""
    assert built.bundle is not None
    bundle = StoredBundle(
        id=new_id(),
        org_id=upload.source.org_id,
        source_id=upload.source.id,
        environment=upload.environment,
        content_hash=upload.content_hash,
        digest=digest,
        openapi_hash=built.bundle.openapi_hash,
        overlay_hash=built.bundle.overlay_hash,
        size_bytes=len(built.artifact),
        operations=len(built.bundle.api.operations),
        findings=[asdict(finding) for finding in built.findings],
        created_at=now(),
        created_by=actor.name,
        is_active=False,
        **asdict(upload.provenance),
    )
    if store.insert_bundle(tx, bundle):
        target = f"{upload.source.source_slug}/{upload.environment}"
        audit.record(
            tx, actor, bundle.org_id, "bundle.upload", bundle.id, to=target, operations=bundle.operations
        )
    return settle(tx, actor, upload)


def settle(tx: Tx, actor: Actor, upload: Upload) -> tuple[StoredBundle, str | None]:
    """The stored bundle of an upload, promoted if that was asked, and what was served before."""
    bundle = store.find_equal(tx, upload.source.id, upload.environment, upload.content_hash)
    assert bundle is not None, "recorded in this transaction or before it"
    served = store.find_active(tx, upload.source.id, upload.environment)
    if upload.promote and not bundle.is_active:
        return promote(tx, actor, bundle).bundle, served.id if served else None
    if bundle.is_active:
        return bundle, store.find_previous_id(tx, upload.source.id, upload.environment)
    return bundle, served.id if served else None


def promote(tx: Tx, actor: Actor, bundle: StoredBundle) -> Promoted:
    actor.need(Role.admin, to="promote a bundle")
    served = store.find_active(tx, bundle.source_id, bundle.environment)
    if served is not None and served.id == bundle.id:
        previous = store.find_previous_id(tx, bundle.source_id, bundle.environment)
        return Promoted(bundle=bundle, previous_id=previous)
    before = served.id if served else None
    if not store.point_at(tx, bundle, before=before, at=now(), by=actor.name):
        raise Conflict("Another bundle was promoted at the same moment; look at it, then promote again.")
    audit.record(
        tx, actor, bundle.org_id, "bundle.promote", bundle.id, environment=bundle.environment, was=before
    )
    return Promoted(bundle=get_bundle(tx, bundle.org_id, bundle.id), previous_id=before)


def get_bundle(tx: Tx, org_id: str, bundle_id: str) -> StoredBundle:
    bundle = store.find_bundle(tx, org_id, bundle_id) if is_id(bundle_id) else None
    if bundle is None:
        raise NotFound("bundle")
    return bundle


def get_visible(tx: Tx, principal: Principal, bundle_id: str) -> StoredBundle:
    """A bundle that this caller may see."""
    bundle = get_bundle(tx, principal.org.id, bundle_id)
    if not principal.may_touch(bundle.source_id):
        raise NotFound("bundle")
    return bundle


def list_bundles(
    tx: Tx, principal: Principal, source_slug: str, environment: str | None, page: PageRequest
) -> Page[StoredBundle]:
    source = find_source(tx, principal, source_slug)
    return store.list_bundles(tx, source.id, environment, page)


def active_digest(tx: Tx, source_id: str, environment: str) -> str | None:
    served = store.find_active(tx, source_id, environment)
    return served.digest if served else None


def find_equal(tx: Tx, upload: Upload) -> StoredBundle | None:
    return store.find_equal(tx, upload.source.id, upload.environment, upload.content_hash)


def previous_id(tx: Tx, bundle: StoredBundle) -> str | None:
    """What a roll-back of this bundle's environment would serve."""
    return store.find_previous_id(tx, bundle.source_id, bundle.environment)
