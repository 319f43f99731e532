"""`/api/openapi-artifacts`: signed upload of a description; reading, listing and promoting bundles.

The signature is an HMAC of timestamp and raw body under the API key itself, so it is checked on the bytes
before they are parsed. Compiling happens between two transactions, in none.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.requests import Request

from ammeter.base.errors import (
    BundleTooLarge,
    CompileFailed,
    Detail,
    InvalidSignature,
    StaleTimestamp,
    ValidationFailed,
)
from ammeter.base.pages import PageRequest
from ammeter.doors.http.app import Door
from ammeter.doors.http.bundle_records import (
    BundleRecord,
    PromotedRecord,
    ReadRecord,
    RollbackRecord,
    UploadedRecord,
    bundle_record,
    diff_record,
    findings_records,
)
from ammeter.doors.http.call import Caller, bearer_of
from ammeter.doors.http.records import PageRecord, Paging, page_record
from ammeter.doors.http.strict import Body, CurrentCall, StrictRoute
from ammeter.engines.compiler.bundle import FORMAT, MAX_ARTIFACT_BYTES, part_sizes
from ammeter.engines.compiler.compile import Description
from ammeter.engines.compiler.diff import ApiDiff
from ammeter.engines.compiler.hashing import canonical_hash
from ammeter.engines.compiler.manifest import check
from ammeter.engines.db.database import Tx
from ammeter.features.bundles import service
from ammeter.features.bundles.build import Built
from ammeter.features.bundles.model import Provenance, StoredBundle
from ammeter.features.bundles.service import Promoted, Upload
from ammeter.features.sources.model import Source
from ammeter.wiring import House

UPLOADS_BASE = "/api"
UPLOAD_PATH = "/openapi-artifacts/upload"
MAX_UPLOAD_BYTES = 6 * 1024 * 1024

_SKEW_S = 300
_MAX_DETAILS = 100
_SIGNATURE = re.compile(r"[0-9a-fA-F]{64}")

Text = Annotated[str, Field(max_length=500)]


class UploadBody(Body):
    source: Annotated[str, Field(max_length=63)]
    environment: Annotated[str, Field(max_length=64)] = "production"
    openapi: dict[str, Any] | str
    overlay: dict[str, Any] | str | None = None
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
            given_manifest=body.manifest,
            environment=body.environment,
        )
        built = _accepted(await house.builder.build(description))
        wanted = _wanted(body, source, built)
        active = await call.read(_active_digest, wanted)
        diff = await _diff(house, active, built.artifact)
        digest = await house.db.run(house.blobs.put, built.artifact)
        bundle, previous_id = await call.write(_record, wanted, built, digest)
        return _uploaded(house, bundle, source, previous_id, diff)

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
        return await call.read(_list, source, environment, page)

    @router.get("/openapi-artifacts/{id}")
    async def get_bundle(call: CurrentCall, id: str) -> ReadRecord:  # noqa: A002
        bundle, source, active, previous_id = await call.read(_read, id)
        artifact = await house.db.run(house.blobs.get, bundle.digest)
        old = artifact if active == bundle.digest else None
        if active is not None and old is None:
            old = await house.db.run(house.blobs.get, active)
        diff = await house.builder.diff(old, artifact)
        return ReadRecord(
            bundle=bundle_record(bundle, source, house.blobs.path_of(bundle.digest)),
            api_diff=diff_record(diff),
            rollback=RollbackRecord(previous_bundle_id=previous_id),
            findings=findings_records(bundle),
        )

    @router.post("/openapi-artifacts/{id}/promote")
    async def promote(call: CurrentCall, id: str) -> PromotedRecord:  # noqa: A002
        promoted, source = await call.write(_promote, id)
        return PromotedRecord(
            bundle=bundle_record(promoted.bundle, source, house.blobs.path_of(promoted.bundle.digest)),
            rollback=RollbackRecord(previous_bundle_id=promoted.previous_id),
        )

    def _list(
        tx: Tx, caller: Caller, slug: str, environment: str | None, page: PageRequest
    ) -> PageRecord[BundleRecord]:
        source = service.find_source(tx, caller.principal, slug)
        found = service.list_bundles(tx, caller.principal, slug, environment, page)
        return page_record(found, lambda b: bundle_record(b, source, house.blobs.path_of(b.digest)))

    return router


def _admit(tx: Tx, caller: Caller, body: UploadBody) -> Source:
    return service.admit(
        tx,
        caller.principal,
        caller.actor,
        source_slug=body.source,
        environment=body.environment,
        promote=body.promote,
    )


def _accepted(built: Built) -> Built:
    if built.bundle is None:
        errors = [f for f in built.findings if f.level == "error"]
        details = [Detail(path=f.pointer, message=f"{f.code}: {f.message}") for f in errors[:_MAX_DETAILS]]
        raise CompileFailed("The description gives no bundle; see details.", details=details)
    if len(built.artifact) > MAX_ARTIFACT_BYTES:
        sizes = sorted(part_sizes(built.artifact).items(), key=lambda part: -part[1])
        raise BundleTooLarge(
            f"The compiled bundle has {len(built.artifact):,} bytes; {MAX_ARTIFACT_BYTES:,} are allowed.",
            details=[Detail(path=name, message=f"{size:,} bytes") for name, size in sizes],
        )
    return built


def _wanted(body: UploadBody, source: Source, built: Built) -> Upload:
    assert built.bundle is not None
    content: Mapping[str, Any] = {
        "format": FORMAT,
        "openapi": built.bundle.openapi_hash,
        "overlay": built.bundle.overlay_hash,
        "manifest": body.manifest,
    }
    return Upload(
        source=source,
        environment=body.environment,
        promote=body.promote,
        content_hash=canonical_hash(content),
        provenance=Provenance(
            repository=body.repository,
            commit_sha=body.commit_sha,
            branch=body.branch,
            pull_request_number=body.pull_request_number,
        ),
    )


async def _diff(house: House, active: str | None, artifact: bytes) -> ApiDiff:
    old = await house.db.run(house.blobs.get, active) if active is not None else None
    return await house.builder.diff(old, artifact)


def _active_digest(tx: Tx, caller: Caller, upload: Upload) -> str | None:
    return service.active_digest(tx, upload.source.id, upload.environment)


def _record(
    tx: Tx, caller: Caller, upload: Upload, built: Built, digest: str
) -> tuple[StoredBundle, str | None]:
    return service.record(tx, caller.actor, upload, built, digest)


def _read(tx: Tx, caller: Caller, bundle_id: str) -> tuple[StoredBundle, Source, str | None, str | None]:
    bundle = service.get_visible(tx, caller.principal, bundle_id)
    source = service.find_source(tx, caller.principal, bundle.source_id)
    active = service.active_digest(tx, bundle.source_id, bundle.environment)
    return bundle, source, active, service.previous_id(tx, bundle)


def _promote(tx: Tx, caller: Caller, bundle_id: str) -> tuple[Promoted, Source]:
    bundle = service.get_visible(tx, caller.principal, bundle_id)
    source = service.find_source(tx, caller.principal, bundle.source_id)
    return service.promote(tx, caller.actor, bundle), source


def _uploaded(
    house: House, bundle: StoredBundle, source: Source, previous_id: str | None, diff: ApiDiff
) -> UploadedRecord:
    path = house.blobs.path_of(bundle.digest)
    return UploadedRecord(
        bundle=bundle_record(bundle, source, path),
        bundle_id=bundle.id,
        storage_path=path,
        openapi_hash=bundle.openapi_hash,
        overlay_hash=bundle.overlay_hash,
        api_diff=diff_record(diff),
        rollback=RollbackRecord(previous_bundle_id=previous_id),
        findings=findings_records(bundle),
    )
