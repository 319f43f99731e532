"""SQL for bundles and the pointers to the ones that are served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import and_, insert, select, update
from sqlalchemy.exc import IntegrityError

from ammeter.base.pages import Page, PageRequest
from ammeter.engines.compiler.model import Finding
from ammeter.engines.db.database import Tx
from ammeter.engines.db.paging import fetch_page
from ammeter.engines.db.tables import active_bundles, bundles
from ammeter.features.bundles.model import StoredBundle

_b, _a = bundles.c, active_bundles.c
# Findings may be many times the rest of a row, and few ask for them.
_COLUMNS = [column for column in bundles.c if column.name != "findings"]
_BUNDLES = select(*_COLUMNS, _a.bundle_id.label("active_id")).outerjoin(
    active_bundles, and_(_a.source_id == _b.source_id, _a.environment == _b.environment)
)


def insert_bundle(tx: Tx, bundle: StoredBundle, findings: Sequence[Finding]) -> bool:
    """Whether it is new; an equal one may have come in at the same moment."""
    row = asdict(bundle) | {"findings": [asdict(finding) for finding in findings]}
    del row["is_active"]
    try:
        with tx.begin_nested():
            tx.execute(insert(bundles).values(row))
    except IntegrityError:
        return False
    return True


def find_bundle(tx: Tx, org_id: str, bundle_id: str) -> StoredBundle | None:
    row = tx.execute(_BUNDLES.where(_b.org_id == org_id, _b.id == bundle_id)).mappings().one_or_none()
    return _bundle(row) if row else None


def find_findings(tx: Tx, bundle_id: str) -> tuple[Finding, ...]:
    stored = tx.scalar(select(_b.findings).where(_b.id == bundle_id))
    return tuple(Finding(**finding) for finding in stored or ())


def find_equal(tx: Tx, source_id: str, environment: str, content_hash: str) -> StoredBundle | None:
    equal = and_(_b.source_id == source_id, _b.environment == environment, _b.content_hash == content_hash)
    row = tx.execute(_BUNDLES.where(equal)).mappings().one_or_none()
    return _bundle(row) if row else None


def find_active(tx: Tx, source_id: str, environment: str) -> tuple[StoredBundle, str | None] | None:
    """The bundle that is served, and the id of the one that was served before it. One statement: two
    would see two moments."""
    served = and_(_b.source_id == source_id, _b.environment == environment, _a.bundle_id == _b.id)
    row = tx.execute(_BUNDLES.add_columns(_a.previous_id).where(served)).mappings().one_or_none()
    if row is None:
        return None
    values = dict(row)
    previous_id: str | None = values.pop("previous_id")
    return _bundle(values), previous_id


def list_bundles(tx: Tx, source_id: str, environment: str | None, page: PageRequest) -> Page[StoredBundle]:
    """Newest first."""
    chosen = _BUNDLES.where(_b.source_id == source_id).order_by(_b.id.desc())
    if environment is not None:
        chosen = chosen.where(_b.environment == environment)
    return fetch_page(tx, chosen, page, _bundle)


def point_at(tx: Tx, bundle: StoredBundle, *, before: str | None, at: datetime, by: str) -> bool:
    """Serve this bundle, if what is served is still what the caller saw."""
    values = {"bundle_id": bundle.id, "previous_id": before, "promoted_at": at, "promoted_by": by}
    if before is None:
        row = {"source_id": bundle.source_id, "environment": bundle.environment, **values}
        try:
            with tx.begin_nested():
                tx.execute(insert(active_bundles).values(row))
        except IntegrityError:
            return False
        return True
    place = and_(
        _a.source_id == bundle.source_id, _a.environment == bundle.environment, _a.bundle_id == before
    )
    return tx.execute(update(active_bundles).where(place).values(**values)).rowcount == 1


def _bundle(row: Mapping[Any, Any]) -> StoredBundle:
    values = dict(row)
    active_id = values.pop("active_id")
    return StoredBundle(**values, is_active=active_id == row["id"])
