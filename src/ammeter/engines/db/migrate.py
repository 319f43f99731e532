"""Brings a database to the newest schema, forwards only, on both databases.

Each step is a file `mNNNN_name.py` with `upgrade(op, distributed)`; Alembic's operations do the DDL.
All steps a start needs run in one transaction under a lock that other processes wait for, so a kill
in the middle leaves the database as it was and two starts at once do the work once.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass

from sqlalchemy import Column, MetaData, Table, Text, inspect, select

from ammeter.base.clock import now
from ammeter.base.errors import SettingsError
from ammeter.engines.db import migrations
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.db.types import Instant

_applied = Table(
    "schema_migrations",
    MetaData(),
    Column("name", Text, primary_key=True),
    Column("applied_at", Instant, nullable=False),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrationState:
    applied: tuple[str, ...]
    pending: tuple[str, ...]


def known_migrations() -> list[str]:
    return sorted(m.name for m in pkgutil.iter_modules(migrations.__path__) if m.name.startswith("m"))


def migration_state(db: Database) -> MigrationState:
    with db.read() as tx:
        return _state(tx)


def migrate(db: Database) -> tuple[str, ...]:
    """Run what is missing and name it; nothing is written where nothing is missing."""
    if not migration_state(db).pending:
        return ()
    with db.faults(), db.dialect.migrating(db.writer) as tx:
        pending = _state(tx).pending
        for name in pending:
            _run(tx, name, distributed=db.dialect.distributed)
    return pending


def _run(tx: Tx, name: str, *, distributed: bool) -> None:
    # Imported here: Alembic costs a start a fifth of a second and is needed only when there is work.
    from alembic.migration import MigrationContext
    from alembic.operations import Operations

    if not inspect(tx).has_table(_applied.name):
        _applied.create(tx)
    step = importlib.import_module(f"{migrations.__name__}.{name}")
    step.upgrade(Operations(MigrationContext.configure(tx)), distributed)
    tx.execute(_applied.insert().values(name=name, applied_at=now()))


def _state(tx: Tx) -> MigrationState:
    known = known_migrations()
    applied: list[str] = []
    if inspect(tx).has_table(_applied.name):
        applied = list(tx.scalars(select(_applied.c.name).order_by(_applied.c.name)))
    if unknown := sorted(set(applied) - set(known)):
        raise SettingsError(
            f"The database was made by a newer Ammeter (it has {unknown[-1]}, this program ends at"
            f" {known[-1]}); upgrade Ammeter or restore an older copy of the database."
        )
    return MigrationState(applied=tuple(applied), pending=tuple(n for n in known if n not in applied))
