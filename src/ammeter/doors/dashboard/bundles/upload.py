"""`/bundles/upload`: a description from a file or from the page becomes a bundle, as with a signed upload."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from ammeter.base.errors import (
    BundleTooLarge,
    CompileFailed,
    Conflict,
    Detail,
    FeatureDisabled,
    InsufficientRole,
    NotFound,
    ValidationFailed,
)
from ammeter.doors.dashboard.bundles.kept import Kept, find_kept, get_description, propose
from ammeter.doors.dashboard.bundles.versions import serving_sources
from ammeter.doors.dashboard.forms import Form
from ammeter.doors.dashboard.site import View
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.bundles.model import Provenance
from ammeter.features.bundles.uploading import Asked, Uploaded
from ammeter.features.orgs.model import Role
from ammeter.features.secrets.references import REFERENCE
from ammeter.features.sources.model import Source

UPLOAD_PATH = "/bundles/upload"
_FIELDS = {
    "$.environment": "environment",
    "$.manifest": "manifest",
    "$.manifest.baseUrl": "base_url",
    "$.manifest.auth.secretRef": "secret",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class UploadPage:
    sources: tuple[Source, ...]
    source_id: str
    form: Form
    findings: tuple[Detail, ...] = ()
    """Why there is no bundle."""
    kept: Kept | None = None
    """What was uploaded before and is used again where nothing new is given."""


async def show(visit: Visit) -> Response:
    """Empty, or with the overlay of a failed-search cluster (`overlay`) put to what is served."""
    cluster_id = visit.query.get("overlay")
    return await _show(visit, await propose(visit, cluster_id) if cluster_id else Form())


async def take(visit: Visit) -> Response:
    form = await visit.form()
    try:
        uploaded = await take_form(visit, form)
    except (CompileFailed, BundleTooLarge) as fault:
        told = Form(values=form.values, problem=fault.message)
        return await _show(visit, told, findings=fault.details, status=422)
    except (ValidationFailed, Conflict, NotFound, FeatureDisabled, InsufficientRole) as fault:
        return await _show(visit, form.refused(fault, _FIELDS), status=422)
    bundle = uploaded.promoted.bundle
    told_so = "is uploaded and served." if bundle.is_active else "is uploaded; promote it when it is right."
    return visit.go(f"/bundles/{bundle.id}", said=f"The bundle of {uploaded.source.name} {told_so}")


async def take_form(visit: Visit, form: Form) -> Uploaded:
    """The upload that a form asks for; the faults of an upload are the caller's to show."""
    asked = Asked(
        source=form.text("source"),
        environment=form.text("environment", "production") or "production",
        openapi=await _description(visit, form),
        overlay=form.text("overlay") or None,
        manifest=_manifest(form),
        provenance=Provenance(),
        promote=form.flag("promote"),
    )
    return await visit.house.uploads.take(visit.signed_in, visit.me.actor, asked)


async def _show(
    visit: Visit, form: Form, *, findings: tuple[Detail, ...] = (), status: int = 200
) -> Response:
    known = await visit.read(_sources)
    chosen = form.text("source") or visit.query.get("source")
    kept = await find_kept(visit, form)
    page = UploadPage(sources=known, source_id=chosen, form=form, findings=findings, kept=kept)
    return visit.page("bundles/templates/upload.html", page, title="Upload a description", status=status)


def _sources(tx: Tx, me: Me) -> tuple[Source, ...]:
    return serving_sources(tx, me.org_id)


async def _description(visit: Visit, form: Form) -> str | Mapping[str, Any]:
    text = form.files["file"].decode("utf-8", "replace") if "file" in form.files else form.text("openapi")
    if not text.strip():
        if kept := await get_description(visit, form):
            return kept
        message = "choose a file, or paste the description"
        raise ValidationFailed([Detail(path="$.openapi", message=message)])
    return text


def _manifest(form: Form) -> Mapping[str, Any] | None:
    """The manifest that was written, with what the fields beside it say."""
    written = form.text("manifest")
    try:
        manifest: Any = json.loads(written) if written else {}
    except ValueError as error:
        raise ValidationFailed([Detail(path="$.manifest", message=f"this is not JSON: {error}")]) from None
    if not isinstance(manifest, dict):
        raise ValidationFailed([Detail(path="$.manifest", message="an object is expected")])
    if base_url := form.text("base_url"):
        manifest["baseUrl"] = base_url
    if secret := form.text("secret"):
        reference = secret if REFERENCE.fullmatch(secret) else f"secret:{secret}"
        manifest["auth"] = {"type": "bearer", "secretRef": reference}
    return manifest or None


VIEWS = (
    View(path=UPLOAD_PATH, handle=show, role=Role.editor, to="upload a bundle"),
    View(path=UPLOAD_PATH, method="POST", handle=take, role=Role.editor, to="upload a bundle"),
)
