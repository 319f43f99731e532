"""Reads of one row: what is given again is what stands in the database now, whoever wrote it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime

from sqlalchemy import bindparam, delete, insert, select

from ammeter.engines.db.database import Database, Tx
from ammeter.engines.db.point_read import PointRead
from ammeter.engines.db.tables import telemetry_askers

_a = telemetry_askers.c
AT = datetime(2026, 3, 1, tzinfo=UTC)


class Reading:
    """A read of one asker's session that counts what it made."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self._point = PointRead(select(_a.session_id).where(_a.asker == bindparam("asker")), self._make)

    def _make(self, row: Sequence[str]) -> str:
        self.made.append(row[0])
        return row[0]

    def find(self, tx: Tx) -> str | None:
        return self._point.find(tx, asker="somebody")

    def at_once(self, db: Database) -> str | None:
        return asyncio.run(db.read_few(self.find))


def put(tx: Tx, session_id: str) -> None:
    tx.execute(delete(telemetry_askers))
    values = {"source_id": "source", "intent_key": "intent", "asker": "somebody", "session_id": session_id}
    tx.execute(insert(telemetry_askers).values(**values, at=AT))


def test_the_next_read_sees_what_was_written(db: Database) -> None:
    reading = Reading()
    assert reading.at_once(db) is None
    for session_id in ("first", "second", "second", "third"):
        with db.write() as tx:
            put(tx, session_id)
        assert [reading.at_once(db) for _ in range(3)] == [session_id] * 3
    assert reading.made == ["first", "second", "third"]
    with db.write() as tx:
        tx.execute(delete(telemetry_askers))
    assert reading.at_once(db) is None


def test_what_another_process_wrote_is_seen(db: Database) -> None:
    reading, other = Reading(), Database(db.url)
    try:
        for session_id in ("first", "second"):
            with other.write() as tx:
                put(tx, session_id)
            assert [reading.at_once(db), reading.at_once(other), reading.at_once(db)] == [session_id] * 3
    finally:
        other.close()


def test_whoever_writes_reads_what_they_wrote(db: Database) -> None:
    reading = Reading()
    with db.write() as tx:
        put(tx, "first")
    assert reading.at_once(db) == "first"
    with db.write() as tx:
        put(tx, "second")
        assert reading.find(tx) == "second"
        put(tx, "third")
        assert reading.find(tx) == "third"
    assert reading.at_once(db) == "third"


def test_databases_are_not_taken_for_each_other(sqlite_url: str, db: Database) -> None:
    """One read serves every database of a process."""
    reading = Reading()
    with db.write() as tx:
        put(tx, "here")
    assert reading.at_once(db) == "here"
    elsewhere = Database(f"{sqlite_url}-elsewhere")
    try:
        with elsewhere.write() as tx:
            telemetry_askers.create(tx)
            put(tx, "there")
        assert [reading.at_once(each) for each in (elsewhere, db, elsewhere, db)] == ["there", "here"] * 2
    finally:
        elsewhere.close()
