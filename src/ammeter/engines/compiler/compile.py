"""The compiler: a description, an overlay and a manifest in; a bundle and findings out. Pure, and it never
raises for what a description holds: each phase takes the value of the one before and says what it found.

The examples of the cards are not yet proven and the search index is not yet there: both need engines that
this one does not know.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from ammeter.engines.compiler.bundle import Bundle, Compilation
from ammeter.engines.compiler.cards import make_cards
from ammeter.engines.compiler.description import Description, Source
from ammeter.engines.compiler.document import Reading, read_document, read_object
from ammeter.engines.compiler.findings import Findings
from ammeter.engines.compiler.hashing import canonical_hash
from ammeter.engines.compiler.index import sdk_index
from ammeter.engines.compiler.javascript import sdk_source
from ammeter.engines.compiler.manifest import Manifest
from ammeter.engines.compiler.model import Api
from ammeter.engines.compiler.naming import with_names
from ammeter.engines.compiler.operations import extensions, read_api
from ammeter.engines.compiler.overlay import apply_overlay
from ammeter.engines.compiler.pagination import with_pagination
from ammeter.engines.compiler.supplied import without_supplied
from ammeter.engines.compiler.swagger2 import to_openapi3
from ammeter.engines.compiler.types_text import Names
from ammeter.engines.compiler.typescript import declarations


def compile_description(description: Description) -> Compilation:
    findings = Findings()
    reading = _read(description)
    findings.extend(reading.findings)
    if reading.document is None:
        return Compilation(bundle=None, findings=findings.all())
    document, overlay_hash = _overlaid(reading.document, description.overlay, findings)
    if document is not None and reading.version == "2.0":
        document, converted = to_openapi3(document)
        findings.extend(converted)
    if document is None:
        return Compilation(bundle=None, findings=findings.all())
    api = _api(document, description.manifest, findings)
    base_url = _base_url(api, description, findings)
    if not api.operations:
        findings.error("no_operations", "/paths", "No operation of the description can be called.")
    if base_url is None or not api.operations:
        return Compilation(bundle=None, findings=findings.all())
    client_name = description.manifest.client_name
    names = Names(api.schemas)
    cards = make_cards(api, client_name, names)
    bundle = Bundle(
        api=api,
        client_name=client_name,
        base_url=base_url,
        manifest=dict(description.given_manifest or {}),
        cards=cards,
        sdk_js=sdk_source(api),
        declarations=declarations(api, client_name, names),
        index=sdk_index(api, cards, client_name),
        search=b"",
        openapi_hash=canonical_hash(reading.document),
        overlay_hash=overlay_hash,
    )
    return Compilation(bundle=bundle, findings=findings.all())


def _read(description: Description) -> Reading:
    if description.max_bytes is None:
        return read_document(description.openapi)
    return read_document(description.openapi, max_bytes=description.max_bytes)


def _overlaid(
    document: dict[str, Any], overlay: Source | None, findings: Findings
) -> tuple[dict[str, Any] | None, str | None]:
    if overlay is None:
        return document, None
    read = read_object(overlay)
    findings.extend(read.findings)
    if read.document is None:
        return None, None
    changed, found = apply_overlay(document, read.document)
    findings.extend(found)
    return changed, canonical_hash(read.document)


def _api(document: dict[str, Any], manifest: Manifest, findings: Findings) -> Api:
    api = without_supplied(read_api(document, findings), manifest.auth, findings)
    own = extensions(document)
    return with_pagination(with_names(api, own, findings), own, findings)


def _base_url(api: Api, description: Description, findings: Findings) -> str | None:
    """Where calls go: the manifest's URL, else the first server of the description that is a whole URL."""
    told = description.manifest.base_url_for(description.environment)
    if told is not None:
        return told
    for url in api.servers:
        parts = urlsplit(url)
        if parts.scheme in ("http", "https") and parts.hostname and "{" not in url:
            return url.rstrip("/")
    message = (
        "Nothing tells where the API is: give the manifest a baseUrl, or the description a whole server URL."
    )
    findings.error("no_base_url", "/servers", message)
    return None
