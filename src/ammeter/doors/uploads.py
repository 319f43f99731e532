"""`/api/openapi-artifacts`: signed upload of a description; reading, listing and promoting bundles.

The signature is an HMAC of timestamp and raw body under the API key itself, so it is checked on the bytes
before they are parsed. Compiling happens between two transactions, in none.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import AfterValidator, Field
from starlette.requests import Request

from ammeter.base.errors import (
    BundleTooLarge,
    CompileFailed,
    Conflict,
    Detail,
    InvalidSignature,
    StaleTimestamp,
    ValidationFailed,
)
from ammeter.base.pages import Page, PageRequest
from ammeter.doors.http.app import Door
from ammeter.doors.http.bundle_records import (
    BundleRecord,
    DiffRecord,
    PromotedRecord,
    ReadRecord,
    RollbackRecord,
    UploadedRecord,
    bundle_record,
    diff_record,
    findings_records,
)
from ammeter.doors.http.call import Call, Caller, bearer_of
from ammeter.doors.http.records import PageRecord, Paging, page_record
from ammeter.doors.http.strict import Body, CurrentCall, StrictRoute
from ammeter.engines.compiler.bundle import MAX_ARTIFACT_BYTES, part_sizes
from ammeter.engines.compiler.description import Description
from ammeter.engines.compiler.diff import ApiDiff
from ammeter.engines.compiler.manifest import check, to_json
from ammeter.engines.compiler.model import Finding
from ammeter.engines.db.database import Tx
from ammeter.features.bundles import service
from ammeter.features.bundles.artifacts import compare, find_artifact, get_artifact
from ammeter.features.bundles.build import Bench, Built
from ammeter.features.bundles.model import Provenance, RecentUse, StoredBundle, Use
from ammeter.features.bundles.service import Promoted, Standing, Upload
from ammeter.features.sources.model import Source
from ammeter.wiring import House

UPLOADS_BASE = "/api"
UPLOAD_PATH = "/openapi-artifacts/upload"
MAX_UPLOAD_BYTES = 6 * 1024 * 1024

_SKEW_S = 300
_MAX_DETAILS = 100
_TRIES = 5
_SIGNATURE = re.compile(r"[0-9a-fA-F]{64}")


def _on_one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("control characters and line ends are not allowed")
    return text


def _object_or_text(value: Any) -> Any:
    if not isinstance(value, dict | str):
        raise ValueError("an object is expected, or a string of JSON or YAML")
    return value


def _object_or_text_or_null(value: Any) -> Any:
    return None if value is None else _object_or_text(value)


Text = Annotated[str, Field(max_length=500), AfterValidator(_on_one_line)]


class UploadBody(Body):
    source: Annotated[str, Field(max_length=63)]
    environment: Annotated[str, Field(max_length=64)] = "production"
    openapi: Annotated[Any, AfterValidator(_object_or_text)]
    overlay: Annotated[Any, AfterValidator(_object_or_text_or_null)] = None
    manifest: dict[str, Any] | None = None
    repository: Text | None = None
    commit_sha: Text | None = None
    branch: Text | None = None
    pull_request_number: Annotated[int, Field(ge=0, le=2_000_000_000)] | None = None
    promote: bool = False


class SignedRoute(StrictRoute):
    async def check_sender(self, request: Request) -> None:
        timestamp = request.headers.get("x-service-timestamp", "")
        signature = request.headers.get("x-service-signature", "")
        if not re.fullmatch(r"\d{1,12}", timestamp, re.ASCII) or not _SIGNATURE.fullmatch(signature):
            raise InvalidSignature(
                "Sign the upload: x-service-timestamp (unix seconds) and x-service-signature, the hex of"
                " HMAC-SHA256 with your API key over '<timestamp>.<raw body>'."
            )
        if abs(time.time() - int(timestamp)) > _SKEW_S:
            raise StaleTimestamp(f"x-service-timestamp must be within {_SKEW_S} seconds of now.")
        body = await request.body()
        message = timestamp.encode() + b"." + body
        expected = hmac.new(bearer_of(request).encode(), message, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected, signature.lower()):
            raise InvalidSignature("x-service-signature does not fit this body, timestamp and API key.")


def uploads_app(house: House) -> Door:
    return Door(house, (_upload_router(house), _bundle_router(house)), base=UPLOADS_BASE)


def _upload_router(house: House) -> APIRouter:
    router = APIRouter(route_class=SignedRoute)

    @router.post(UPLOAD_PATH, status_code=201)
    async def upload(call: CurrentCall, body: UploadBody) -> UploadedRecord:
        manifest, wrong = check(body.manifest)
        if manifest is None:
            raise ValidationFailed(wrong)
        source = await call.read(_admit, body)
        description = Description(
            openapi=body.openapi,
            overlay=body.overlay,
            manifest=manifest,
            given_manifest=to_json(manifest),
            environment=body.environment,
        )
        async with house.builder.bench() as bench:
            read = await bench.read(description)
            if read.content is None:
                raise _no_bundle(read.findings)
            wanted = _wanted(body, source, read.content.fingerprint(to_json(manifest)))
            made = await _make(house, call, bench, wanted)
            return await _settle(house, call, bench, wanted, made)

    return router


def _bundle_router(house: House) -> APIRouter:
    router = APIRouter(route_class=StrictRoute)

    @router.get("/openapi-artifacts")
    async def list_bundles(
        call: CurrentCall,
        page: Paging,
        source: Annotated[str, Query(max_length=63)],
        environment: Annotated[str | None, Query(max_length=32)] = None,
    ) -> PageRecord[BundleRecord]:
        owner, found = await call.read(_list, source, environment, page)
        return page_record(found, lambda b: bundle_record(b, owner, house.blobs.path_of(b.digest)))

    @router.get("/openapi-artifacts/{id}")
    async def get_bundle(call: CurrentCall, id: str) -> ReadRecord:  # noqa: A002
        found = await call.read(_read, id)
        bundle = found.bundle
        artifact = await house.db.run(get_artifact, house.blobs, bundle)
        async with house.builder.bench() as bench:
            diff, more = await compare(
                bench, house.db, house.blobs, active=found.active, new=artifact, new_id=bundle.id
            )
        return ReadRecord(
            bundle=bundle_record(bundle, found.source, house.blobs.path_of(bundle.digest)),
            api_diff=await _diff_record(house, call, bundle, diff),
            rollback=RollbackRecord(previous_bundle_id=found.previous_id),
            findings=findings_records((*found.findings, *more)),
        )

    @router.post("/openapi-artifacts/{id}/promote")
    async def promote(call: CurrentCall, id: str) -> PromotedRecord:  # noqa: A002
        promoted, source = await call.write(_promote, id)
        return PromotedRecord(
            bundle=bundle_record(promoted.bundle, source, house.blobs.path_of(promoted.bundle.digest)),
            rollback=RollbackRecord(previous_bundle_id=promoted.previous_id),
        )

    return router


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """The artifact of an upload; what it was built from where it was not there before."""

    artifact: bytes
    built: Built | None


async def _make(house: House, call: Call, bench: Bench, wanted: Upload) -> _Made:
    """What was uploaded before is not compiled again, unless the store has lost it."""
    stored = await call.read(_find_equal, wanted)
    artifact = await house.db.run(find_artifact, house.blobs, stored)
    if artifact is not None:
        return _Made(artifact=artifact, built=None)
    built = _accepted(await bench.build())
    if stored is not None:
        # A blob that is damaged would stand in the way of a whole one.
        await house.db.run(house.blobs.delete, stored.digest)
    await house.db.run(house.blobs.put, built.artifact)
    return _Made(artifact=built.artifact, built=built)


async def _settle(house: House, call: Call, bench: Bench, wanted: Upload, made: _Made) -> UploadedRecord:
    """Compare with the bundle that is served, then write down; again where another came to be served
    meanwhile, as an answer must be true as a whole."""
    for _ in range(_TRIES):
        active = await call.read(_find_active, wanted)
        equal = active is not None and active.content_hash == wanted.content_hash
        new_id = active.id if active is not None and equal else ""
        diff, more = await compare(
            bench, house.db, house.blobs, active=active, new=made.artifact, new_id=new_id
        )
        done = await call.write(_record, wanted, made.built, active.id if active else None)
        if done is not None:
            promoted, findings = done
            api_diff = await _diff_record(house, call, promoted.bundle, diff)
            return _uploaded(house, wanted.source, promoted, api_diff, (*findings, *more))
    raise Conflict(service.LOST)


def _admit(tx: Tx, caller: Caller, body: UploadBody) -> Source:
    return service.admit(
        tx,
        caller.principal,
        caller.actor,
        source_slug=body.source,
        environment=body.environment,
        promote=body.promote,
    )


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


def _wanted(body: UploadBody, source: Source, content_hash: str) -> Upload:
    return Upload(
        source=source,
        environment=body.environment,
        promote=body.promote,
        content_hash=content_hash,
        provenance=Provenance(
            repository=body.repository,
            commit_sha=body.commit_sha,
            branch=body.branch,
            pull_request_number=body.pull_request_number,
        ),
    )


async def _diff_record(house: House, call: Call, bundle: StoredBundle, diff: ApiDiff) -> DiffRecord:
    broken = [entry.operation_id for entry in diff.breaking]
    uses = await call.read(_uses, house.recent_use, bundle, broken) if broken else {}
    return diff_record(diff, uses)


def _uses(
    tx: Tx, caller: Caller, recent_use: RecentUse, bundle: StoredBundle, operation_ids: Sequence[str]
) -> Mapping[str, Use]:
    return recent_use(
        tx, source_id=bundle.source_id, environment=bundle.environment, operation_ids=operation_ids
    )


def _find_equal(tx: Tx, caller: Caller, upload: Upload) -> StoredBundle | None:
    return service.find_equal(tx, upload)


def _find_active(tx: Tx, caller: Caller, upload: Upload) -> StoredBundle | None:
    return service.find_active(tx, upload.source.id, upload.environment)


def _record(
    tx: Tx, caller: Caller, upload: Upload, built: Built | None, seen: str | None
) -> tuple[Promoted, tuple[Finding, ...]] | None:
    if built is not None:
        service.record(tx, caller.actor, upload, built)
    promoted = service.settle(tx, caller.actor, upload, seen=seen)
    return (promoted, service.find_findings(tx, promoted.bundle)) if promoted else None


def _list(
    tx: Tx, caller: Caller, slug: str, environment: str | None, page: PageRequest
) -> tuple[Source, Page[StoredBundle]]:
    return service.list_bundles(tx, caller.principal, slug, environment, page)


def _read(tx: Tx, caller: Caller, bundle_id: str) -> Standing:
    return service.get_standing(tx, caller.principal, bundle_id)


def _promote(tx: Tx, caller: Caller, bundle_id: str) -> tuple[Promoted, Source]:
    return service.promote_stored(tx, caller.principal, caller.actor, bundle_id)


def _uploaded(
    house: House, source: Source, done: Promoted, api_diff: DiffRecord, findings: Sequence[Finding]
) -> UploadedRecord:
    bundle = done.bundle
    path = house.blobs.path_of(bundle.digest)
    return UploadedRecord(
        bundle=bundle_record(bundle, source, path),
        bundle_id=bundle.id,
        storage_path=path,
        openapi_hash=bundle.openapi_hash,
        overlay_hash=bundle.overlay_hash,
        api_diff=api_diff,
        rollback=RollbackRecord(previous_bundle_id=done.previous_id),
        findings=findings_records(findings),
    )
