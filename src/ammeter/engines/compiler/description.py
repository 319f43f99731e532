"""What the compiler is given; apart from it, so that whoever hands it over need not load the compiler."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ammeter.engines.compiler.manifest import Manifest

Source = bytes | str | Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """What is compiled. The manifest comes as it was uploaded and as it was understood."""

    openapi: Source
    overlay: Source | None = None
    manifest: Manifest
    given_manifest: Mapping[str, Any] | None = None
    environment: str = "production"
    max_bytes: int | None = None
    """Of a description given to the compiler directly; None: as uploads are limited."""
