"""From an upload to an artifact: compile, prove the examples, index for search, pack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ammeter.engines.compiler.bundle import Bundle, pack
from ammeter.engines.compiler.compile import compile_description
from ammeter.engines.compiler.model import Finding
from ammeter.engines.sandbox.port import Sandbox
from ammeter.engines.search.index import build_index
from ammeter.engines.search.producers import ids_from
from ammeter.features.bundles.prove import prove


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    bundle: Bundle | None
    artifact: bytes
    findings: tuple[Finding, ...]


async def build(
    sandbox: Sandbox,
    *,
    openapi: str | bytes | Mapping[str, Any],
    overlay: str | bytes | Mapping[str, Any] | None,
    manifest: Mapping[str, Any] | None,
    environment: str,
) -> Built:
    compiled = compile_description(openapi, overlay=overlay, manifest=manifest, environment=environment)
    if compiled.bundle is None:
        return Built(bundle=None, artifact=b"", findings=compiled.findings)
    bundle, unproven = await prove(compiled.bundle, sandbox)
    sources = ids_from(bundle.cards)
    cards = tuple(replace(card, ids_from=source) for card, source in zip(bundle.cards, sources, strict=True))
    bundle = replace(bundle, cards=cards, search=build_index(cards))
    return Built(bundle=bundle, artifact=pack(bundle), findings=(*compiled.findings, *unproven))
