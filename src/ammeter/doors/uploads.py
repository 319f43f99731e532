"""`/api/openapi-artifacts`: signed upload of a description; reading, listing and promoting bundles.

The signature is an HMAC of timestamp and raw body under the API key itself, so it is checked on the bytes
before they are parsed. What an upload does is in `features/bundles/uploading.py`.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import time
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import AfterValidator, Field
from starlette.requests import Request

from ammeter.base.errors import (
    InvalidSignature,
    StaleTimestamp,
)
from ammeter.base.pages import Page, PageRequest
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
    script_records,
)
from ammeter.doors.http.call import Caller, bearer_of
from ammeter.doors.http.records import PageRecord, Paging, page_record
from ammeter.doors.http.strict import Body, CurrentCall, StrictRoute
from ammeter.engines.db.database import Tx
from ammeter.features.bundles import service
from ammeter.features.bundles.model import Provenance, StoredBundle
from ammeter.features.bundles.service import Promoted, Standing
from ammeter.features.bundles.uploading import Asked, Uploaded
from ammeter.features.sources.model import Source
from ammeter.wiring import House

UPLOADS_BASE = "/api"
UPLOAD_PATH = "/openapi-artifacts/upload"
MAX_UPLOAD_BYTES = 6 * 1024 * 1024

_SKEW_S = 300
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
        expected = hmac.new(bearer_of(request.headers).encode(), message, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(expected, signature.lower()):
            raise InvalidSignature("x-service-signature does not fit this body, timestamp and API key.")


def uploads_app(house: House) -> Door:
    return Door(house, (_upload_router(house), _bundle_router(house)), base=UPLOADS_BASE)


def _upload_router(house: House) -> APIRouter:
    router = APIRouter(route_class=SignedRoute)

    @router.post(UPLOAD_PATH, status_code=201)
    async def upload(call: CurrentCall, body: UploadBody) -> UploadedRecord:
        asked = Asked(
            source=body.source,
            environment=body.environment,
            openapi=body.openapi,
            overlay=body.overlay,
            manifest=body.manifest,
            provenance=Provenance(
                repository=body.repository,
                commit_sha=body.commit_sha,
                branch=body.branch,
                pull_request_number=body.pull_request_number,
            ),
            promote=body.promote,
        )
        return _uploaded(house, await house.uploads.take(call.caller.principal, call.caller.actor, asked))

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
        compared = await house.uploads.compared(found)
        return ReadRecord(
            bundle=bundle_record(found.bundle, found.source, house.blobs.path_of(found.bundle.digest)),
            api_diff=diff_record(compared.diff, compared.uses),
            broken_scripts=script_records(compared.scripts, compared.diff),
            rollback=RollbackRecord(previous_bundle_id=found.previous_id),
            findings=findings_records(compared.findings),
        )

    @router.post("/openapi-artifacts/{id}/promote")
    async def promote(call: CurrentCall, id: str) -> PromotedRecord:  # noqa: A002
        promoted, source = await call.write(_promote, id)
        return PromotedRecord(
            bundle=bundle_record(promoted.bundle, source, house.blobs.path_of(promoted.bundle.digest)),
            rollback=RollbackRecord(previous_bundle_id=promoted.previous_id),
        )

    return router


def _list(
    tx: Tx, caller: Caller, slug: str, environment: str | None, page: PageRequest
) -> tuple[Source, Page[StoredBundle]]:
    return service.list_bundles(tx, caller.principal, slug, environment, page)


def _read(tx: Tx, caller: Caller, bundle_id: str) -> Standing:
    return service.get_standing(tx, caller.principal, bundle_id)


def _promote(tx: Tx, caller: Caller, bundle_id: str) -> tuple[Promoted, Source]:
    return service.promote_stored(tx, caller.principal, caller.actor, bundle_id)


def _uploaded(house: House, done: Uploaded) -> UploadedRecord:
    bundle, compared = done.promoted.bundle, done.compared
    path = house.blobs.path_of(bundle.digest)
    return UploadedRecord(
        bundle=bundle_record(bundle, done.source, path),
        bundle_id=bundle.id,
        storage_path=path,
        openapi_hash=bundle.openapi_hash,
        overlay_hash=bundle.overlay_hash,
        api_diff=diff_record(compared.diff, compared.uses),
        broken_scripts=script_records(compared.scripts, compared.diff),
        rollback=RollbackRecord(previous_bundle_id=done.promoted.previous_id),
        findings=findings_records(compared.findings),
    )
