"""What a blob store promises: bytes go in and their digest comes out; a digest gives back the very
same bytes or a fault that says why not. Each digest names one path, the same in every store.

Names, owners and references are absent on purpose: whoever keeps a digest knows what it means, and
only a collector that knows every reference may delete.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ammeter.base.errors import AmmeterError

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_HEX = re.compile(r"[0-9a-f]{0,64}")


class MalformedDigest(AmmeterError):
    """Text that is no digest; it never becomes part of a path."""

    def __init__(self, text: str) -> None:
        super().__init__(f"{text[:80]!r} is no digest; one reads sha256: and 64 lowercase hex digits.")


class BlobMissing(AmmeterError):
    def __init__(self, digest: str) -> None:
        super().__init__(f"Blob {digest} is not in the store; expected at {path_of(digest)}.")


class BlobDamaged(AmmeterError):
    def __init__(self, digest: str, *, found: str) -> None:
        super().__init__(
            f"Blob {digest} is damaged: the content at {path_of(digest)} has digest {found}. "
            "Restore it from a backup, or delete it and make it anew."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBlob:
    digest: str
    size_bytes: int
    stored_at: datetime


class Blobs(Protocol):
    """Every method blocks, so callers run it in a thread. Any may raise `Unavailable`, and each that
    takes a digest `MalformedDigest`."""

    def put(self, data: bytes) -> str:
        """Store `data` durably and give its digest. What is already there is not written again,
        so writers of equal content never disturb each other or a reader."""
        ...

    def get(self, digest: str) -> bytes:
        """The bytes, checked against the digest; `BlobMissing` or `BlobDamaged` otherwise."""
        ...

    def has(self, digest: str) -> bool: ...

    def path_of(self, digest: str) -> str:
        """Where the blob is kept, as shown to people: relative to the store's folder or prefix."""
        ...

    def delete(self, digest: str) -> None:
        """Remove the blob; one that is not there is fine."""
        ...

    def scan(self, prefix: str = "") -> Iterator[StoredBlob]:
        """Every blob whose hex digits start with `prefix`, in digest order. `stored_at` is when the
        blob was first put: a collector spares the young, whose reference may not be committed yet."""
        ...

    def check(self) -> None:
        """Return when a blob could be written now."""
        ...


def digest_of(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def path_of(digest: str) -> str:
    if not _DIGEST.fullmatch(digest):
        raise MalformedDigest(digest)
    digits = digest.removeprefix("sha256:")
    return f"sha256/{digits[:2]}/{digits}"


def digest_at(path: str) -> str | None:
    """The digest a path stands for; None for a path that no blob has."""
    digest = f"sha256:{path.rpartition('/')[2]}"
    return digest if _DIGEST.fullmatch(digest) and path_of(digest) == path else None


def check_prefix(prefix: str) -> None:
    if not _HEX.fullmatch(prefix):
        raise MalformedDigest(prefix)


def verified(data: bytes, digest: str) -> bytes:
    found = digest_of(data)
    if found != digest:
        raise BlobDamaged(digest, found=found)
    return data
