"""Statements over many rows, past the layers that make single ones pleasant: those take four times as long as
the database itself for many rows, and milliseconds for a few. A statement is made and compiled once for each
database, and its values are handed to the driver by their place."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from pydantic_core import PydanticSerializationError, to_json
from sqlalchemy import ColumnElement, Delete, Dialect, Insert, Table, Update, insert
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.types import TypeEngine

from ammeter.engines.db.database import Tx

Convert = Callable[[Any], Any]
Values = tuple[Any, ...]
Statement = Insert | Update | Delete
_Converters = tuple[tuple[int, Convert], ...]

# Longer ones take longer by the row: on SQLite a thousand at once cost twice as much.
_ROWS_IN_ONE = 100
_dump = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    text: str
    converters: _Converters
    """By place, of what goes in; most values need none."""
    result_converters: _Converters


class Bulk:
    """A statement for many rows of Python values."""

    def __init__(self, names: Sequence[str], make: Callable[[Tx], Statement]) -> None:
        """`names`: of a row's values, in the order in which the statement takes them."""
        self._names = tuple(names)
        self._make = make
        self._plans: dict[str, _Plan] = {}

    def run(self, tx: Tx, rows: Sequence[Values]) -> int:
        """How many rows of the table it met, where it is given one."""
        if not rows:
            return 0
        plan = self._plan(tx)
        return tx.exec_driver_sql(plan.text, _converted(plan.converters, rows)).rowcount

    def fetch(self, tx: Tx, rows: Sequence[Values]) -> list[Values]:
        """What an insert returns, in any order; no two of the rows may have the same key."""
        found: list[Values] = []
        if not rows:
            return found
        plan = self._plan(tx)
        before, values, after = _around_values(plan.text)
        given = _converted(plan.converters, rows)
        for start in range(0, len(given), _ROWS_IN_ONE):
            part = given[start : start + _ROWS_IN_ONE]
            text = before + ", ".join([values] * len(part)) + after
            found += tx.exec_driver_sql(text, tuple(chain.from_iterable(part))).all()
        return _converted(plan.result_converters, found)

    def _plan(self, tx: Tx) -> _Plan:
        return self._plans.get(tx.dialect.name) or self._plans.setdefault(tx.dialect.name, self._made(tx))

    def _made(self, tx: Tx) -> _Plan:
        statement = self._make(tx)
        compiled = _compiled(tx.dialect, statement, self._names)
        return _Plan(
            text=str(compiled),
            converters=_places(
                _implemented(compiled.binds[name], tx.dialect).bind_processor(tx.dialect)
                for name in self._names
            ),
            result_converters=_places(
                _implemented(column, tx.dialect).result_processor(tx.dialect, None)
                for column in statement.exported_columns
            ),
        )


def insert_rows(tx: Tx, table: Table, rows: Sequence[Values]) -> None:
    """Each row holds a value for every column, in the order of the table, as the driver takes it: instants as
    milliseconds, JSON as text."""
    if rows:
        tx.exec_driver_sql(_inserting(tx.dialect, table), list(rows))


def column_names(table: Table) -> tuple[str, ...]:
    return tuple(column.name for column in table.columns)


def json_text(value: Any) -> str:
    try:
        return to_json(value).decode()
    except PydanticSerializationError:
        # Half a surrogate pair: the slower encoder writes it as an escape.
        return _dump(value)


@lru_cache(maxsize=32)
def _inserting(dialect: Dialect, table: Table) -> str:
    return str(_compiled(dialect, insert(table), column_names(table)))


def _compiled(dialect: Dialect, statement: Statement, names: tuple[str, ...]) -> SQLCompiler:
    assert isinstance(dialect, DefaultDialect)
    # A driver that takes values by name takes them by place too.
    by_place = dialect if dialect.positional else type(dialect)(paramstyle="format")
    compiled = statement.compile(dialect=by_place, column_keys=list(names))
    assert isinstance(compiled, SQLCompiler)
    places = tuple(compiled.positiontup or ())
    assert places == names, f"The statement takes {places} and is given {names}."
    return compiled


def _implemented(value: ColumnElement[Any], dialect: Dialect) -> TypeEngine[Any]:
    return value.type.dialect_impl(dialect)


def _places(converters: Iterable[Convert | None]) -> _Converters:
    return tuple((place, convert) for place, convert in enumerate(converters) if convert)


def _converted(converters: _Converters, rows: Sequence[Values]) -> list[Values]:
    if not converters:
        return list(rows)
    out = []
    for row in rows:
        values = list(row)
        for place, convert in converters:
            values[place] = convert(values[place])
        out.append(tuple(values))
    return out


def _around_values(text: str) -> tuple[str, str, str]:
    """An insert's text before a row's places, these, and what comes after them."""
    before, found, rest = text.partition(" VALUES (")
    values, ended, after = rest.partition(") ON CONFLICT")
    assert found, f"Not an insert: {text}"
    assert ended, f"Not an insert that may meet a row with the same key: {text}"
    return f"{before} VALUES ", f"({values})", f" ON CONFLICT{after}"
