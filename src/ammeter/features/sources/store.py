"""SQL for sources."""

from __future__ import annotations

from dataclasses import asdict

from sqlalchemy import insert, select, update
from sqlalchemy.exc import IntegrityError

from ammeter.base.errors import Conflict
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.engines.db.paging import fetch_page
from ammeter.engines.db.tables import sources
from ammeter.features.sources.model import Source


def insert_source(tx: Tx, source: Source) -> None:
    try:
        tx.execute(insert(sources).values(asdict(source)))
    except IntegrityError:
        raise Conflict(f"The source slug {source.source_slug!r} is taken.") from None


def find_source(tx: Tx, org_id: str, slug_or_id: str) -> Source | None:
    if "\0" in slug_or_id:
        # PostgreSQL would not even compare it; no source is called so.
        return None
    named = (sources.c.source_slug == slug_or_id) | (sources.c.id == slug_or_id)
    row = tx.execute(select(sources).where(sources.c.org_id == org_id, named)).mappings().one_or_none()
    return Source(**row) if row else None


def list_sources(tx: Tx, org_id: str, page: PageRequest) -> Page[Source]:
    chosen = select(sources).where(sources.c.org_id == org_id).order_by(sources.c.id)
    return fetch_page(tx, chosen, page, lambda row: Source(**row))


def update_source(tx: Tx, source: Source) -> None:
    row = asdict(source)
    tx.execute(update(sources).where(sources.c.id == row.pop("id")).values(row))
