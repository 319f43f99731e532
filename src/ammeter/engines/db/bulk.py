"""Many rows into one table at once, past the layers that make single statements pleasant: they take four
times as long as the database itself. Values are given as the driver takes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pydantic_core import PydanticSerializationError, to_json
from sqlalchemy import Dialect, Insert, Table, insert

from ammeter.engines.db.database import Tx
from ammeter.engines.db.dialects import merging_insert

_dump = json.JSONEncoder(separators=(",", ":")).encode


def insert_rows(tx: Tx, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Each row holds a value for every column, in the order of the table: instants as milliseconds, JSON as
    text."""
    if rows:
        _run(tx, *_inserting(tx.dialect, table), rows)


def put_rows(
    tx: Tx, table: Table, rows: Sequence[tuple[Any, ...]], *, replacing: tuple[str, ...] = ()
) -> None:
    """The same, where a row may be there already: then these columns of it are replaced, and no others."""
    if rows:
        _run(tx, *_putting(tx, table, replacing), rows)


def _run(tx: Tx, text: str, names: tuple[str, ...] | None, rows: Sequence[tuple[Any, ...]]) -> None:
    if names is None:
        tx.exec_driver_sql(text, list(rows))
    else:
        tx.exec_driver_sql(text, [dict(zip(names, row, strict=True)) for row in rows])


_Statement = tuple[str, tuple[str, ...] | None]
"""The text, and the names of its values where the driver asks for names."""


@lru_cache(maxsize=32)
def _inserting(dialect: Dialect, table: Table) -> _Statement:
    return _compiled(dialect, table, insert(table))


def _putting(tx: Tx, table: Table, replacing: tuple[str, ...]) -> _Statement:
    making = merging_insert(tx, table)
    if replacing:
        changed = {name: making.excluded[name] for name in replacing}
        made: Insert = making.on_conflict_do_update(index_elements=list(table.primary_key), set_=changed)
    else:
        made = making.on_conflict_do_nothing()
    return _compiled(tx.dialect, table, made)


def _compiled(dialect: Dialect, table: Table, statement: Insert) -> _Statement:
    names = tuple(column.name for column in table.columns)
    made = statement.compile(dialect=dialect, column_keys=list(names))
    return str(made), None if made.positional else names


def json_text(value: Any) -> str:
    try:
        return to_json(value).decode()
    except PydanticSerializationError:
        # Half a surrogate pair: the slower encoder writes it as an escape.
        return _dump(value)
