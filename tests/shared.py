"""Databases that many tests share, each test in an organization of its own, and two changes at once.

A fresh database costs a third of a second; a fresh organization costs none.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import psycopg
from sqlalchemy import text

from ammeter.base.ids import new_id
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.db.migrate import migrate
from ammeter.features.orgs import service
from ammeter.features.orgs.model import Actor, Organization, Role
from tests.household import OPERATOR
from tests.postgres import VARIABLE
from tests.server import until

T = TypeVar("T")


@contextmanager
def fresh_url(kind: str, folder: Path) -> Iterator[str]:
    """The URL of an empty database, gone afterwards."""
    if kind == "sqlite":
        yield f"sqlite:///{folder}/ammeter.db"
        return
    server, name = os.environ[VARIABLE], f"t{new_id().replace('-', '')}"
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'CREATE DATABASE "{name}"'.encode())
    yield server.rsplit("/", 1)[0] + "/" + name
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)'.encode())


@contextmanager
def migrated(url: str) -> Iterator[Database]:
    database = Database(url)
    try:
        migrate(database)
        yield database
    finally:
        database.close()


def new_org(tx: Tx, slug: str = "") -> Organization:
    slug = slug or f"org-{new_id()}"
    return service.create_org(tx, OPERATOR, slug=slug, name="Acme", region="us")


def acting(role: Role, source_ids: tuple[str, ...] | None = None) -> Actor:
    """Somebody with a key of this role."""
    return Actor(
        kind="key",
        name=f"{role.name}s-key",
        role=role,
        origin="203.0.113.7",
        request_id="request-1",
        source_ids=source_ids,
    )


def at_once(db: Database, first: Callable[[Tx], object], second: Callable[[Tx], T]) -> T:
    """What comes of `second` when it begins after `first` has done its work and before that commits."""

    def in_its_own_transaction() -> T:
        with db.write() as tx:
            return second(tx)

    with ThreadPoolExecutor(1) as threads:
        with db.write() as tx:
            first(tx)
            later = threads.submit(in_its_own_transaction)
            # SQLite's writers queue before they begin; PostgreSQL's meet at a lock, or finish.
            if db.dialect.distributed:
                until(lambda: later.done() or _somebody_waits(db), "the second change meets the first")
        return later.result(10)


def _somebody_waits(db: Database) -> bool:
    waiting = text(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    # A transaction sees other sessions as they were at its first look: each look takes a new one.
    with db.read() as tx:
        return bool(tx.scalar(waiting))
