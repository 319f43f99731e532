"""A secret as everybody may see it: its name, never its value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    id: str
    org_id: str
    name: str
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSecret:
    id: str
    org_id: str
    name: str
    sealing_key_id: str
    sealed: bytes
