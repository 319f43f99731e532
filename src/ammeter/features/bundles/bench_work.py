"""The steps of an upload that run in the bench's process: read, compile, index and pack, diff.

Imported by that process alone: the compiler and numpy are nothing for a server to start with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ammeter.engines.compiler.bundle import (
    MAX_ARTIFACT_BYTES,
    Bundle,
    Compilation,
    DamagedBundle,
    pack,
    unpack,
)
from ammeter.engines.compiler.compile import compile_description
from ammeter.engines.compiler.description import Description
from ammeter.engines.compiler.diff import ApiDiff, diff_apis
from ammeter.engines.compiler.document import read_document, read_object
from ammeter.engines.compiler.hashing import canonical_hash
from ammeter.engines.compiler.model import Finding
from ammeter.engines.search.index import build_index
from ammeter.engines.search.producers import ids_from
from ammeter.features.bundles.content import Content

# What was read last, as plain values, and what was found on the way; until it is packed.
_last_read: list[tuple[Description, tuple[Finding, ...]]] = []


def read(description: Description) -> tuple[Content | None, tuple[Finding, ...]]:
    """What a description is made of; None where it cannot be read, and the findings say why."""
    _last_read.clear()
    read = read_document(description.openapi)
    findings, overlay = read.findings, None
    if description.overlay is not None:
        overlay = read_object(description.overlay)
        told = (replace(found, message=f"In the overlay: {found.message}") for found in overlay.findings)
        findings = (*findings, *told)
    if read.document is None or (overlay is not None and overlay.document is None):
        return None, findings
    plain = replace(description, openapi=read.document, overlay=overlay.document if overlay else None)
    _last_read.append((plain, findings))
    content = Content(
        openapi_hash=canonical_hash(read.document),
        overlay_hash=canonical_hash(overlay.document) if overlay is not None else None,
    )
    return content, findings


def compile_read() -> Compilation:
    description, findings = _last_read[-1]
    compiled = compile_description(description)
    # Read a second time, as plain values, a document gives some of its findings again.
    return replace(compiled, findings=tuple(dict.fromkeys((*findings, *compiled.findings))))


def finish(bundle: Bundle) -> tuple[Bundle, bytes]:
    sources = ids_from(bundle.cards)
    cards = tuple(replace(card, ids_from=source) for card, source in zip(bundle.cards, sources, strict=True))
    bundle = replace(bundle, cards=cards, search=build_index(cards))
    given = _last_read.pop()[0]
    assert isinstance(given.openapi, Mapping), "as it was read"
    artifact = pack(bundle, openapi=given.openapi, overlay=given.overlay)
    # A bundle that just fits is served; only what it was made from is not kept with it.
    return bundle, artifact if len(artifact) <= MAX_ARTIFACT_BYTES else pack(bundle)


def diff(old: bytes | None, new: bytes) -> tuple[ApiDiff, str | None]:
    """The diff, and why the older of the two could not be read."""
    api = unpack(new).api
    try:
        return diff_apis(unpack(old).api if old is not None else None, api), None
    except DamagedBundle as error:
        return diff_apis(None, api), str(error)
