"""What an upload is made of, as one fingerprint: equal content for one environment is one bundle.

The compiler's own text is part of it: after an upgrade the same upload is compiled anew, as what comes
out may differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from ammeter.engines.compiler.hashing import canonical_hash

# Whose files decide what becomes of a description, from reading it to the index that search reads.
_MAKERS = ("ammeter.engines.compiler", "ammeter.engines.search", "ammeter.features.bundles")
_TEXTS = (".py", ".js", ".json", ".npz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    openapi_hash: str
    overlay_hash: str | None

    def fingerprint(self, manifest: Mapping[str, Any], *, compiler: str | None = None) -> str:
        """`compiler`: None for the one that is installed."""
        return canonical_hash(
            {
                "compiler": compiler or compiler_version(),
                "openapi": self.openapi_hash,
                "overlay": self.overlay_hash,
                "manifest": manifest,
            }
        )


@cache
def compiler_version() -> str:
    """A digest of the compiler as it is installed: no one has to remember to count it up."""
    return digest_of_folders(*(resources.files(name) for name in _MAKERS))


def digest_of_folders(*folders: Traversable) -> str:
    digest = hashlib.sha256()
    for folder in folders:
        for name, file in sorted(_files(folder, "")):
            content = file.read_bytes()
            digest.update(f"{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _files(folder: Traversable, path: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for inner in folder.iterdir():
        name = f"{path}/{inner.name}"
        if inner.is_dir():
            found += _files(inner, name)
        elif inner.name.endswith(_TEXTS):
            found.append((name, inner))
    return found
