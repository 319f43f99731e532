"""An upload from its description to what is told of it: read, compile, store, compare, write down, promote.

Every door that takes descriptions goes through here. Compiling happens outside any transaction; the last
step repeats where another bundle came to be served meanwhile, as an answer must be true as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ammeter.base.errors import BundleTooLarge, CompileFailed, Conflict, Detail, ValidationFailed
from ammeter.engines.blobs.port import Blobs
from ammeter.engines.compiler.bundle import MAX_ARTIFACT_BYTES, part_sizes
from ammeter.engines.compiler.description import Description
from ammeter.engines.compiler.diff import ApiDiff
from ammeter.engines.compiler.manifest import check, to_json
from ammeter.engines.compiler.model import Finding
from ammeter.engines.db.database import Database, Tx
from ammeter.features.bundles import service
from ammeter.features.bundles.artifacts import compare, find_artifact, get_artifact
from ammeter.features.bundles.build import Bench, Builder, Built
from ammeter.features.bundles.model import (
    Provenance,
    RecentScript,
    RecentScripts,
    RecentUse,
    StoredBundle,
    Use,
    unknown_scripts,
)
from ammeter.features.bundles.service import Promoted, Standing, Upload
from ammeter.features.orgs.model import Actor, Entitled
from ammeter.features.sources.model import Source

T = TypeVar("T")

_MAX_DETAILS = 100
_TRIES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    source: str
    """Its slug, or its id."""
    environment: str
    openapi: Any
    overlay: Any = None
    manifest: Mapping[str, Any] | None = None
    provenance: Provenance = field(default_factory=Provenance)
    promote: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What a bundle changes for scripts against the one that is served, and who uses what it breaks."""

    diff: ApiDiff
    uses: Mapping[str, Use]
    """By operation id, of what breaks."""
    scripts: Sequence[RecentScript]
    """Stored scripts of the last 30 days that call what breaks."""
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploaded:
    source: Source
    promoted: Promoted
    compared: Compared


class Uploads:
    def __init__(
        self,
        db: Database,
        blobs: Blobs,
        builder: Builder,
        recent_use: RecentUse,
        recent_scripts: RecentScripts = unknown_scripts,
    ) -> None:
        self._db = db
        self._blobs = blobs
        self._builder = builder
        self._recent_use = recent_use
        self._recent_scripts = recent_scripts

    async def take(self, who: Entitled, actor: Actor, asked: Asked) -> Uploaded:
        manifest, wrong = check(asked.manifest)
        if manifest is None:
            raise ValidationFailed(wrong)
        source = await self._read(
            lambda tx: service.admit(
                tx,
                who,
                actor,
                source_slug=asked.source,
                environment=asked.environment,
                promote=asked.promote,
            )
        )
        description = Description(
            openapi=asked.openapi,
            overlay=asked.overlay,
            manifest=manifest,
            given_manifest=to_json(manifest),
            environment=asked.environment,
        )
        async with self._builder.bench() as bench:
            read = await bench.read(description)
            if read.content is None:
                raise _no_bundle(read.findings)
            wanted = Upload(
                source=source,
                environment=asked.environment,
                promote=asked.promote,
                content_hash=read.content.fingerprint(to_json(manifest)),
                provenance=asked.provenance,
            )
            artifact, built = await self._make(bench, wanted)
            return await self._settle(bench, actor, wanted, artifact, built)

    async def compared(self, standing: Standing) -> Compared:
        """A stored bundle against the one that is served in its environment."""
        bundle = standing.bundle
        artifact = await self._db.run(get_artifact, self._blobs, bundle)
        async with self._builder.bench() as bench:
            diff, more = await compare(
                bench, self._db, self._blobs, active=standing.active, new=artifact, new_id=bundle.id
            )
        return await self._with_uses(bundle, diff, (*standing.findings, *more))

    async def _make(self, bench: Bench, wanted: Upload) -> tuple[bytes, Built | None]:
        """The artifact, and what it was built from where it was not there before. What was uploaded before
        is not compiled again, unless the store has lost it."""
        stored = await self._read(lambda tx: service.find_equal(tx, wanted))
        artifact = await self._db.run(find_artifact, self._blobs, stored)
        if artifact is not None:
            return artifact, None
        built = _accepted(await bench.build())
        if stored is not None:
            # A blob that is damaged would stand in the way of a whole one.
            await self._db.run(self._blobs.delete, stored.digest)
        await self._db.run(self._blobs.put, built.artifact)
        return built.artifact, built

    async def _settle(
        self, bench: Bench, actor: Actor, wanted: Upload, artifact: bytes, built: Built | None
    ) -> Uploaded:
        source, environment = wanted.source, wanted.environment
        for _ in range(_TRIES):
            active = await self._read(lambda tx: service.find_active(tx, source.id, environment))
            equal = active is not None and active.content_hash == wanted.content_hash
            new_id = active.id if active is not None and equal else ""
            diff, more = await compare(
                bench, self._db, self._blobs, active=active, new=artifact, new_id=new_id
            )
            seen = active.id if active else None
            done = await self._db.run(self._record, actor, wanted, built, seen)
            if done is not None:
                promoted, findings = done
                compared = await self._with_uses(promoted.bundle, diff, (*findings, *more))
                return Uploaded(source=source, promoted=promoted, compared=compared)
        raise Conflict(service.LOST)

    def _record(
        self, actor: Actor, wanted: Upload, built: Built | None, seen: str | None
    ) -> tuple[Promoted, tuple[Finding, ...]] | None:
        with self._db.write() as tx:
            if built is not None:
                service.record(tx, actor, wanted, built)
            promoted = service.settle(tx, actor, wanted, seen=seen)
            return (promoted, service.find_findings(tx, promoted.bundle)) if promoted else None

    async def _with_uses(
        self, bundle: StoredBundle, diff: ApiDiff, findings: tuple[Finding, ...]
    ) -> Compared:
        broken = [entry.operation_id for entry in diff.breaking]
        uses: Mapping[str, Use] = {}
        scripts: Sequence[RecentScript] = ()
        if broken:
            place = {"source_id": bundle.source_id, "environment": bundle.environment}
            uses = await self._read(lambda tx: self._recent_use(tx, operation_ids=broken, **place))
            used = [name for name, use in uses.items() if use.scripts]
            if used:
                scripts = await self._read(
                    lambda tx: self._recent_scripts(tx, org_id=bundle.org_id, operation_ids=used, **place)
                )
        return Compared(diff=diff, uses=uses, scripts=scripts, findings=findings)

    async def _read(self, work: Callable[[Tx], T]) -> T:
        def step() -> T:
            with self._db.read() as tx:
                return work(tx)

        return await self._db.run(step)


def _no_bundle(findings: Sequence[Finding]) -> CompileFailed:
    errors = [f for f in findings if f.level == "error"]
    shown = "see details" if len(errors) <= _MAX_DETAILS else f"{_MAX_DETAILS} of {len(errors):,} details"
    details = [Detail(path=f.pointer, message=f"{f.code}: {f.message}") for f in errors[:_MAX_DETAILS]]
    return CompileFailed(f"The description gives no bundle; {shown}.", details=details)


def _accepted(built: Built) -> Built:
    if built.bundle is None:
        raise _no_bundle(built.findings)
    if len(built.artifact) > MAX_ARTIFACT_BYTES:
        sizes = sorted(part_sizes(built.artifact).items(), key=lambda part: -part[1])
        raise BundleTooLarge(
            f"The compiled bundle has {len(built.artifact):,} bytes; {MAX_ARTIFACT_BYTES:,} are allowed.",
            details=[Detail(path=name, message=f"{size:,} bytes") for name, size in sizes],
        )
    return built
