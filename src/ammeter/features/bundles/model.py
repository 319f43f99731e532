"""A stored bundle as a record: what it was made from, how large it is, whether it is served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

Status = Literal["generated", "active"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    repository: str | None = None
    commit_sha: str | None = None
    branch: str | None = None
    pull_request_number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBundle:
    id: str
    org_id: str
    source_id: str
    environment: str
    content_hash: str
    """Of everything that was uploaded to make it: equal uploads are one bundle."""
    digest: str
    openapi_hash: str
    overlay_hash: str | None
    size_bytes: int
    operations: int
    findings: Sequence[Mapping[str, Any]]
    repository: str | None
    commit_sha: str | None
    branch: str | None
    pull_request_number: int | None
    created_at: datetime
    created_by: str
    is_active: bool

    @property
    def status(self) -> Status:
        return "active" if self.is_active else "generated"
