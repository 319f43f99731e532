"""SQL for sealed secrets."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime

from sqlalchemy import RowMapping, bindparam, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.engines.db.paging import fetch_page
from ammeter.engines.db.point_read import PointRead
from ammeter.engines.db.tables import org_secrets
from ammeter.features.secrets.model import SealedSecret, Secret

_t = org_secrets.c
_SHOWN = select(_t.id, _t.org_id, _t.name, _t.created_at, _t.updated_at)
_SEALED = select(_t.id, _t.org_id, _t.name, _t.sealing_key_id, _t.sealed)
# Every script that calls its API opens a credential.
_SEALED_BY_NAME = PointRead(
    _SEALED.where(_t.org_id == bindparam("org_id"), _t.name == bindparam("name")),
    lambda row: SealedSecret(
        id=row[0], org_id=row[1], name=row[2], sealing_key_id=row[3], sealed=bytes(row[4])
    ),
)


def insert_secret(tx: Tx, secret: Secret, *, key_id: str, sealed: bytes) -> bool:
    """Whether it was inserted; not where another has set the same name at the same moment."""
    row = asdict(secret) | {"sealing_key_id": key_id, "sealed": sealed}
    try:
        with tx.begin_nested():
            tx.execute(insert(org_secrets).values(row))
    except IntegrityError:
        return False
    return True


def reseal(tx: Tx, secret_id: str, *, key_id: str, sealed: bytes, at: datetime | None = None) -> None:
    values = {"sealing_key_id": key_id, "sealed": sealed} | ({"updated_at": at} if at else {})
    tx.execute(update(org_secrets).where(_t.id == secret_id).values(**values))


def find_secret(tx: Tx, org_id: str, name: str) -> Secret | None:
    row = tx.execute(_SHOWN.where(_t.org_id == org_id, _t.name == name)).mappings().one_or_none()
    return _secret(row) if row else None


def find_sealed(tx: Tx, org_id: str, name: str) -> SealedSecret | None:
    return _SEALED_BY_NAME.find(tx, org_id=org_id, name=name)


def list_secrets(tx: Tx, org_id: str, page: PageRequest) -> Page[Secret]:
    return fetch_page(tx, _SHOWN.where(_t.org_id == org_id).order_by(_t.name), page, _secret)


def delete_secret(tx: Tx, secret_id: str) -> None:
    tx.execute(delete(org_secrets).where(_t.id == secret_id))


def sealed_under_other_keys(tx: Tx, key_id: str, *, limit: int) -> list[SealedSecret]:
    chosen = _SEALED.where(_t.sealing_key_id != key_id).order_by(_t.id).limit(limit).with_for_update()
    return [SealedSecret(**row) for row in tx.execute(chosen).mappings()]


def sealing_key_ids(tx: Tx) -> list[str]:
    return list(tx.scalars(select(_t.sealing_key_id).distinct()))


def _secret(row: RowMapping) -> Secret:
    return Secret(**row)
