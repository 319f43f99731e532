"""Migrations: forwards on both databases, once however many start at once, equal to a fresh schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text

from ammeter.base.errors import SettingsError
from ammeter.engines.db.database import Database
from ammeter.engines.db.migrate import known_migrations, migrate, migration_state
from ammeter.engines.db.tables import metadata

NOT_IN_METADATA = ("schema_migrations", "procrastinate_")


@pytest.fixture
def empty(empty_url: str) -> Iterator[Database]:
    database = Database(empty_url)
    yield database
    database.close()


def test_migrating_runs_every_step_once_and_then_nothing(empty: Database) -> None:
    assert list(migrate(empty)) == known_migrations()
    assert migrate(empty) == ()
    assert migration_state(empty).pending == ()


def test_a_migrated_database_equals_a_fresh_one(empty: Database) -> None:
    migrate(empty)
    migrated = describe(empty)
    with empty.write() as tx:
        context = MigrationContext.configure(tx, opts={"include_name": is_ours})
        differences = compare_metadata(context, metadata)
    assert differences == []
    with empty.write() as tx:
        metadata.drop_all(tx)
        metadata.create_all(tx)
    assert describe(empty) == migrated


def test_starts_at_the_same_moment_migrate_once(empty_url: str) -> None:
    def start(_: int) -> tuple[str, ...]:
        database = Database(empty_url)
        try:
            return migrate(database)
        finally:
            database.close()

    with ThreadPoolExecutor(6) as starts:
        done = [names for names in starts.map(start, range(6)) if names]
    assert [list(names) for names in done] == [known_migrations()]


def test_a_database_of_a_newer_program_is_refused(db: Database) -> None:
    with db.write() as tx:
        tx.execute(text("INSERT INTO schema_migrations (name, applied_at) VALUES ('m9999_later', 0)"))
    with pytest.raises(SettingsError, match=r"newer Ammeter.*m9999_later"):
        migrate(db)


def is_ours(name: str | None, kind: str, _: Any) -> bool:
    return kind != "table" or not (name or "").startswith(NOT_IN_METADATA)


def spelled(index: Mapping[str, Any]) -> str:
    options = {name: str(value) for name, value in index.get("dialect_options", {}).items()}
    return str({**index, "dialect_options": options})


def describe(database: Database) -> dict[str, Any]:
    """Columns, keys and indexes of every table of ours, as the database itself tells them."""
    with database.read() as tx:
        look = inspect(tx)
        return {
            table: {
                "columns": [
                    (c["name"], str(c["type"]), c["nullable"], c["default"]) for c in look.get_columns(table)
                ],
                "pk": look.get_pk_constraint(table),
                "fks": sorted(str(fk) for fk in look.get_foreign_keys(table)),
                "uniques": sorted(str(u) for u in look.get_unique_constraints(table)),
                "indexes": sorted(spelled(i) for i in look.get_indexes(table)),
            }
            for table in look.get_table_names()
            if not table.startswith(NOT_IN_METADATA)
        }
