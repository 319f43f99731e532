"""Databases that go away and come back, as an operator would make them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from sqlalchemy import make_url, text

from ammeter.engines.db.database import Database
from tests.shared import migrated


@contextmanager
def postgres_admin(url: str) -> Iterator[psycopg.Connection]:
    """A connection to the server of a database, but not to that database."""
    server = make_url(url).set(drivername="postgresql", database="postgres")
    with psycopg.connect(server.render_as_string(hide_password=False), autocommit=True) as admin:
        yield admin


def cut_connections(url: str) -> int:
    """End every connection to a database, whatever it is doing, and see them gone; how many there were."""
    with postgres_admin(url) as admin:
        ended = admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
            [make_url(url).database],
        )
        return len(ended.fetchall())


@contextmanager
def postgres_away(url: str) -> Iterator[None]:
    """The database takes no connections, until the block ends."""
    name = make_url(url).database
    with postgres_admin(url) as admin:
        admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS false'.encode())
    cut_connections(url)
    try:
        yield
    finally:
        with postgres_admin(url) as admin:
            admin.execute(f'ALTER DATABASE "{name}" ALLOW_CONNECTIONS true'.encode())


@contextmanager
def sqlite_away(db: Database) -> Iterator[None]:
    """The file is not there to be opened, until the block ends."""
    file = Path(str(make_url(db.url).database))
    aside = file.with_name("aside")
    db.reader.dispose()
    db.writer.dispose()
    file.rename(aside)
    file.mkdir()
    try:
        yield
    finally:
        file.rmdir()
        aside.rename(file)


@contextmanager
def away(db: Database) -> Iterator[None]:
    with postgres_away(db.url) if db.dialect.distributed else sqlite_away(db):
        yield


@contextmanager
def rename_table(url: str, table: str) -> Iterator[None]:
    """A table is not where the server looks for it, until the block ends."""
    with migrated(url) as db:
        with db.write() as tx:
            tx.execute(text(f"ALTER TABLE {table} RENAME TO {table}_aside"))
        try:
            yield
        finally:
            with db.write() as tx:
                tx.execute(text(f"ALTER TABLE {table}_aside RENAME TO {table}"))
