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
from ammeter.engines.blobs.port import digest_of
from ammeter.engines.compiler.model import Finding
from ammeter.engines.db.database import Tx
from ammeter.features.bundles import store
from ammeter.features.bundles.build import Built
from ammeter.features.bundles.model import Provenance, StoredBundle
from ammeter.features.orgs import audit
from ammeter.features.orgs.model import Actor, Entitled, Organization, Role
from ammeter.features.sources import service as sources
from ammeter.features.sources.model import Source

_ENVIRONMENT = re.compile(r"[a-z0-9-]{1,32}")
_MAX_FINDINGS = 1_000
LOST = "Another bundle was promoted at the same moment; look at it, then promote again."


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A bundle, the findings of its making, and what is served in its environment."""

    bundle: StoredBundle
    source: Source
    findings: tuple[Finding, ...]
    active: StoredBundle | None
    previous_id: str | None


def admit(
    tx: Tx, principal: Entitled, actor: Actor, *, source_slug: str, environment: str, promote: bool
) -> Source:
    """The source an upload is for, if this caller may upload to it."""
    actor.need(Role.editor, to="upload a bundle")
    if promote:
        actor.need(Role.admin, to="promote a bundle")
    _need_code_mode(principal.org)
    check_environment(environment)
    source = find_source(tx, principal, source_slug)
    _need_active(source)
    return source


def find_source(tx: Tx, principal: Entitled, source_slug: str) -> Source:
    source = sources.get_source(tx, principal.org.id, source_slug)
    if not principal.may_touch(source.id):
        raise NotFound("source")
    return source


def check_environment(environment: str, path: str = "$.environment") -> None:
    if not _ENVIRONMENT.fullmatch(environment):
        message = "an environment is 1 to 32 lower-case letters, digits and hyphens"
        raise ValidationFailed([Detail(path=path, message=message)])


def record(tx: Tx, actor: Actor, upload: Upload, built: Built) -> None:
    """Write the bundle down, unless an equal one is there."""
    assert built.bundle is not None
    bundle = StoredBundle(
        id=new_id(),
        org_id=upload.source.org_id,
        source_id=upload.source.id,
        environment=upload.environment,
        content_hash=upload.content_hash,
        digest=digest_of(built.artifact),
        openapi_hash=built.bundle.openapi_hash,
        overlay_hash=built.bundle.overlay_hash,
        size_bytes=len(built.artifact),
        operations=len(built.bundle.api.operations),
        created_at=now(),
        created_by=actor.name,
        is_active=False,
        **asdict(upload.provenance),
    )
    if store.insert_bundle(tx, bundle, _worst(built.findings)):
        target = f"{upload.source.source_slug}/{upload.environment}"
        audit.record(
            tx, actor, bundle.org_id, "bundle.upload", bundle.id, to=target, operations=bundle.operations
        )


def settle(tx: Tx, actor: Actor, upload: Upload, *, seen: str | None) -> Promoted | None:
    """The stored bundle of an upload, promoted if that was asked, and what a roll-back would serve.
    None where another bundle is served than the one that the caller saw and compared with."""
    bundle = store.find_equal(tx, upload.source.id, upload.environment, upload.content_hash)
    assert bundle is not None, "recorded in this transaction or before it"
    served = store.find_active(tx, upload.source.id, upload.environment)
    if (served[0].id if served else None) != seen:
        return None
    if upload.promote:
        return _point_at(tx, actor, bundle, served)
    if served is not None and served[0].id == bundle.id:
        return Promoted(bundle=served[0], previous_id=served[1])
    return Promoted(bundle=bundle, previous_id=seen)


def promote(tx: Tx, actor: Actor, bundle: StoredBundle) -> Promoted:
    actor.need(Role.admin, to="promote a bundle")
    served = store.find_active(tx, bundle.source_id, bundle.environment)
    promoted = _point_at(tx, actor, bundle, served)
    if promoted is None:
        raise Conflict(LOST)
    return promoted


def promote_stored(tx: Tx, principal: Entitled, actor: Actor, bundle_id: str) -> tuple[Promoted, Source]:
    """Serve a bundle that is there."""
    bundle = get_visible(tx, principal, bundle_id)
    source = find_source(tx, principal, bundle.source_id)
    actor.need(Role.admin, to="promote a bundle")
    _need_code_mode(principal.org)
    _need_active(source)
    return promote(tx, actor, bundle), source


def get_bundle(tx: Tx, org_id: str, bundle_id: str) -> StoredBundle:
    bundle = store.find_bundle(tx, org_id, bundle_id) if is_id(bundle_id) else None
    if bundle is None:
        raise NotFound("bundle")
    return bundle


def get_visible(tx: Tx, principal: Entitled, bundle_id: str) -> StoredBundle:
    """A bundle that this caller may see."""
    bundle = get_bundle(tx, principal.org.id, bundle_id)
    if not principal.may_touch(bundle.source_id):
        raise NotFound("bundle")
    return bundle


def get_standing(tx: Tx, principal: Entitled, bundle_id: str) -> Standing:
    bundle = get_visible(tx, principal, bundle_id)
    served = store.find_active(tx, bundle.source_id, bundle.environment)
    return Standing(
        bundle=bundle,
        source=find_source(tx, principal, bundle.source_id),
        findings=store.find_findings(tx, bundle.id),
        active=served[0] if served else None,
        previous_id=served[1] if served else None,
    )


def list_bundles(
    tx: Tx, principal: Entitled, source_slug: str, environment: str | None, page: PageRequest
) -> tuple[Source, Page[StoredBundle]]:
    source = find_source(tx, principal, source_slug)
    return source, store.list_bundles(tx, source.id, environment, page)


def find_active(tx: Tx, source_id: str, environment: str) -> StoredBundle | None:
    """The bundle that is served."""
    served = store.find_active(tx, source_id, environment)
    return served[0] if served else None


def find_equal(tx: Tx, upload: Upload) -> StoredBundle | None:
    return store.find_equal(tx, upload.source.id, upload.environment, upload.content_hash)


def find_findings(tx: Tx, bundle: StoredBundle) -> tuple[Finding, ...]:
    return store.find_findings(tx, bundle.id)


def _point_at(
    tx: Tx, actor: Actor, bundle: StoredBundle, served: tuple[StoredBundle, str | None] | None
) -> Promoted | None:
    """None where what was seen to be served is served no more."""
    if served is not None and served[0].id == bundle.id:
        return Promoted(bundle=served[0], previous_id=served[1])
    before = served[0].id if served else None
    if not store.point_at(tx, bundle, before=before, at=now(), by=actor.name):
        return None
    audit.record(
        tx, actor, bundle.org_id, "bundle.promote", bundle.id, environment=bundle.environment, was=before
    )
    return Promoted(bundle=get_bundle(tx, bundle.org_id, bundle.id), previous_id=before)


def _need_code_mode(org: Organization) -> None:
    if not org.code_mode:
        raise FeatureDisabled("Code mode is off for this organization; its operator switches it on.")


def _need_active(source: Source) -> None:
    if source.status != "active":
        raise Conflict(f"The source {source.source_slug!r} is archived.")


def _worst(findings: tuple[Finding, ...]) -> list[Finding]:
    """As many findings as a person reads and a row should hold, errors first."""
    if len(findings) <= _MAX_FINDINGS:
        return list(findings)
    levels = ("error", "warning", "info")
    kept = sorted(findings, key=lambda finding: levels.index(finding.level))[:_MAX_FINDINGS]
    message = f"{len(findings) - _MAX_FINDINGS:,} more findings are not kept; mend these, then upload again."
    return [*kept, Finding(level="info", code="findings_left_out", pointer="", message=message)]
