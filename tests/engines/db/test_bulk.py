"""Statements over many rows: values go in and come out as their columns' types say, on each database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import bindparam, select, update

from ammeter.engines.db.bulk import Bulk, column_names, insert_rows
from ammeter.engines.db.database import Database
from ammeter.engines.db.dialects import merging_insert
from ammeter.engines.db.tables import telemetry_askers, telemetry_hours, telemetry_sessions

AT = datetime(2026, 3, 1, 12, 30, 0, 5000, tzinfo=UTC)
_a, _s = telemetry_askers.c, telemetry_sessions.c

PUT_ASKERS = Bulk(
    column_names(telemetry_askers),
    lambda tx: (
        merging_insert(tx, telemetry_askers)
        .on_conflict_do_update(
            index_elements=list(telemetry_askers.primary_key),
            set_={"at": merging_insert(tx, telemetry_askers).excluded.at},
        )
        .returning(_a.asker, _a.session_id, _a.at)
    ),
)


def asker(number: int, session_id: str, at: datetime) -> tuple[Any, ...]:
    return ("source", "intent", f"key {number}", session_id, at)


def session_row(**given: Any) -> tuple[Any, ...]:
    """As the driver takes it."""
    facts: dict[str, Any] = {
        "trail": '{"intents":["Sell"]}', "flagged_by_person": False, "has_intent": True, "strained": False,
        "repeat": False, "flagged": False, "trace_id": None, "frustration_max": None,
    }  # fmt: skip
    texts = ("id", "org_id", "source_id", "environment", "key_id", "client_name", "client_version")
    facts |= {name: name for name in (*texts, "session_source")} | given
    return tuple(facts.get(name, 7) for name in column_names(telemetry_sessions))


@pytest.mark.parametrize("count", [0, 1, 100, 257])
def test_every_row_returns_what_is_stored_of_it(db: Database, count: int) -> None:
    later = AT + timedelta(days=1)
    with db.write() as tx:
        PUT_ASKERS.fetch(tx, [asker(number, "first", AT) for number in range(0, count, 2)])
        found = PUT_ASKERS.fetch(tx, [asker(number, "second", later) for number in range(count)])
    assert sorted(found) == sorted(
        (f"key {number}", "second" if number % 2 else "first", later) for number in range(count)
    )
    with db.read() as tx:
        assert sorted(tuple(row) for row in tx.execute(select(_a.asker, _a.session_id, _a.at))) == sorted(
            found
        )


def test_only_rows_that_were_made_are_returned_where_the_others_are_left_alone(db: Database) -> None:
    putting = Bulk(
        column_names(telemetry_askers),
        lambda tx: merging_insert(tx, telemetry_askers).on_conflict_do_nothing().returning(_a.asker),
    )
    with db.write() as tx:
        assert putting.fetch(tx, [asker(1, "first", AT)]) == [("key 1",)]
        assert putting.fetch(tx, [asker(1, "second", AT), asker(2, "second", AT)]) == [("key 2",)]


def test_each_row_changes_its_own(db: Database) -> None:
    changing = Bulk(
        ("frustration_max", "trail", "repeat", "session"),
        lambda _: update(telemetry_sessions).where(_s.id == bindparam("session")),
    )
    with db.write() as tx:
        insert_rows(tx, telemetry_sessions, [session_row(id="one"), session_row(id="two", repeat=True)])
        changing.run(tx, [(None, {"intents": []}, True, "one"), (9, {"é": "\ud800"}, False, "two")])
    with db.read() as tx:
        found = tx.execute(select(_s.id, _s.frustration_max, _s.trail, _s.repeat).order_by(_s.id)).all()
    assert [tuple(row) for row in found] == [
        ("one", None, {"intents": []}, True),
        ("two", 9, {"é": "\ud800"}, False),
    ]


def test_rows_as_the_driver_takes_them_read_as_any_other(db: Database) -> None:
    with db.write() as tx:
        insert_rows(tx, telemetry_sessions, [session_row(started_at=1_772_368_200_005)])
    with db.read() as tx:
        found = tx.execute(select(telemetry_sessions)).one()
    assert (found.started_at, found.trail, found.has_intent) == (AT, {"intents": ["Sell"]}, True)
    assert (found.trace_id, found.frustration_max, found.flagged) == (None, None, False)


def test_values_in_another_order_than_the_statements_are_refused(db: Database) -> None:
    names = tuple(reversed(column_names(telemetry_hours)))
    wrong = Bulk(names, lambda tx: merging_insert(tx, telemetry_hours))
    with db.write() as tx, pytest.raises(AssertionError, match="The statement takes"):
        wrong.run(tx, [tuple(range(len(names)))])


def test_a_statement_that_cannot_be_made_longer_is_refused(db: Database) -> None:
    plain = Bulk(column_names(telemetry_askers), lambda tx: merging_insert(tx, telemetry_askers))
    with db.write() as tx, pytest.raises(AssertionError, match="Not an insert that may meet"):
        plain.fetch(tx, [asker(1, "one", AT)])
