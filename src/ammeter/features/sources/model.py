"""A source: what is tested or served. `source_slug` is the name its hosted endpoint is reached by."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    id: str
    org_id: str
    name: str
    source_slug: str | None
    environment: str
    status: Literal["active", "archived"]
    created_at: datetime
    updated_at: datetime
    viewers_may_execute: bool = False
    """Whether a viewer's key may run scripts at the hosted endpoint, not only search."""
