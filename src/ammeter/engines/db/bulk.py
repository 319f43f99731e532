"""Many rows into one table at once, past the layers that make single statements pleasant: they take four
times as long as the database itself. Values are given as the driver takes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import Dialect, Table, insert

from ammeter.engines.db.database import Tx

_dump = json.JSONEncoder(separators=(",", ":")).encode


def insert_rows(tx: Tx, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Each row holds a value for every column, in the order of the table: instants as milliseconds, JSON as
    text."""
    text, names = _statement(tx.dialect, table)
    if names is None:
        tx.exec_driver_sql(text, list(rows))
    else:
        tx.exec_driver_sql(text, [dict(zip(names, row, strict=True)) for row in rows])


@lru_cache(maxsize=32)
def _statement(dialect: Dialect, table: Table) -> tuple[str, tuple[str, ...] | None]:
    """The insert, and the names of its values where the driver asks for names."""
    names = tuple(column.name for column in table.columns)
    made = insert(table).compile(dialect=dialect, column_keys=list(names))
    return str(made), None if made.positional else names


def json_text(value: Any) -> str:
    # Most lists of most rows are empty.
    if not value:
        return "{}" if isinstance(value, dict) else "[]"
    return _dump(value)
