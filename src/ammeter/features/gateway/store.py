"""SQL for serving: which bundle a slug and environment stand for, read at every request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import and_, bindparam, select

from ammeter.engines.db.database import Tx
from ammeter.engines.db.point_read import PointRead
from ammeter.engines.db.tables import active_bundles, bundles, sources

_s, _a, _b = sources.c, active_bundles.c, bundles.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A source by its slug, and the bundle that is active in one of its environments."""

    source_id: str
    org_id: str
    status: str
    viewers_may_execute: bool
    bundle_id: str | None
    digest: str | None


def _served(row: Sequence[Any]) -> Served:
    source_id, org_id, status, viewers_may_execute, bundle_id, digest = row
    return Served(
        source_id=source_id,
        org_id=org_id,
        status=status,
        viewers_may_execute=bool(viewers_may_execute),
        bundle_id=bundle_id,
        digest=digest,
    )


_SERVED = PointRead(
    select(_s.id, _s.org_id, _s.status, _s.viewers_may_execute, _b.id, _b.digest)
    .select_from(
        sources.outerjoin(
            active_bundles,
            and_(_a.source_id == _s.id, _a.environment == bindparam("environment")),
        ).outerjoin(bundles, _b.id == _a.bundle_id)
    )
    .where(_s.source_slug == bindparam("slug")),
    _served,
)


def find_served(tx: Tx, slug: str, environment: str) -> Served | None:
    return _SERVED.find(tx, slug=slug, environment=environment)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A bundle by its id, and the source of that slug, which it belongs to."""

    source_id: str
    org_id: str
    status: str
    environment: str
    digest: str


def find_stored(tx: Tx, slug: str, bundle_id: str) -> Stored | None:
    query = (
        select(_s.id, _s.org_id, _s.status, _b.environment, _b.digest)
        .join_from(bundles, sources, _s.id == _b.source_id)
        .where(_b.id == bundle_id, _s.source_slug == slug)
    )
    row = tx.execute(query).one_or_none()
    if row is None:
        return None
    source_id, org_id, status, environment, digest = row
    return Stored(source_id=source_id, org_id=org_id, status=status, environment=environment, digest=digest)
