"""Insights brought up to date, as a job: what agents did since the last time becomes part of the picture."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from ammeter.engines.blobs.port import Blobs
from ammeter.engines.db.database import Database, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class Refreshed:
    sessions: int
    new_topics: int
    new_clusters: int
    judged: int


def refresh(
    db: Database,
    blobs: Blobs | None,
    org_id: str,
    *,
    at: datetime | None = None,
    check: Callable[[Tx], None] = lambda tx: None,
    progress: Callable[[float, str], None] = lambda share, message: None,
) -> Refreshed:
    """Read every session that changed, in batches, each a transaction; then form topics and judge clusters."""
    raise NotImplementedError
