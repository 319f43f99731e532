"""The artifacts of stored bundles, read back and compared, whatever has happened to them in the store.

A bundle whose own artifact is lost is a fault of ours, told and logged. One that is only compared with is
left out of the comparison, and a finding says so: a lost bundle must not keep the next one from being served.
"""

from __future__ import annotations

import logging

from ammeter.base.errors import AmmeterError
from ammeter.engines.blobs.port import BlobDamaged, BlobMissing, Blobs
from ammeter.engines.compiler.bundle import DamagedBundle, Given, read_given
from ammeter.engines.compiler.diff import ApiDiff
from ammeter.engines.compiler.model import Finding
from ammeter.engines.db.database import Database
from ammeter.features.bundles.build import Bench
from ammeter.features.bundles.model import StoredBundle

log = logging.getLogger("ammeter.bundles")


class ArtifactLost(AmmeterError):
    def __init__(self, bundle_id: str) -> None:
        super().__init__(
            f"The artifact of bundle {bundle_id} cannot be read from this server's store. Upload the same"
            " description again to make it anew, or have the operator restore the store from a backup."
        )


def find_artifact(blobs: Blobs, bundle: StoredBundle | None) -> bytes | None:
    """The bytes of a bundle; None where there is no bundle, or its blob is not as it was stored."""
    if bundle is None:
        return None
    try:
        return blobs.get(bundle.digest)
    except (BlobMissing, BlobDamaged) as error:
        log.error("the artifact of bundle %s is lost: %s", bundle.id, error)
        return None


def get_artifact(blobs: Blobs, bundle: StoredBundle) -> bytes:
    artifact = find_artifact(blobs, bundle)
    if artifact is None:
        raise ArtifactLost(bundle.id)
    return artifact


def find_given(blobs: Blobs, bundle: StoredBundle) -> Given | None:
    """What a bundle was made from; None where its artifact is lost."""
    artifact = find_artifact(blobs, bundle)
    try:
        return read_given(artifact) if artifact is not None else None
    except DamagedBundle as error:
        log.error("the artifact of bundle %s cannot be read: %s", bundle.id, error)
        return None


async def compare(
    bench: Bench, db: Database, blobs: Blobs, *, active: StoredBundle | None, new: bytes, new_id: str
) -> tuple[ApiDiff, tuple[Finding, ...]]:
    """What changes for scripts against the bundle that is served; everything is new where none is."""
    old = new if active is not None and active.id == new_id else await db.run(find_artifact, blobs, active)
    if old == new:
        return ApiDiff(added=(), removed=(), signature_changed=(), breaking=()), ()
    try:
        found = await bench.diff(old, new)
    except DamagedBundle as error:
        log.error("the artifact of bundle %s cannot be read: %s", new_id, error)
        raise ArtifactLost(new_id) from None
    if active is None or (old is not None and found.unread is None):
        return found.diff, ()
    if found.unread is not None:
        log.error("the artifact of bundle %s cannot be read: %s", active.id, found.unread)
    message = f"The active bundle {active.id} cannot be read, so everything counts as added."
    return found.diff, (Finding(level="warning", code="active_bundle_lost", pointer="", message=message),)
