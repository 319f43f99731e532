"""How many runs there are, by day: kept in step by whoever writes a run, in the same transaction, so that a
list can say how many it has without counting a million rows.

A day is one of UTC, by the run's `at`. What is not a whole day is counted from the runs themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any

from sqlalchemy import ColumnElement, Insert, RowMapping, Table, delete, func, select

from ammeter.engines.db.bulk import Bulk
from ammeter.engines.db.database import Tx
from ammeter.engines.db.dialects import merging_insert
from ammeter.engines.db.tables import run_counts, runs
from ammeter.features.evals.model import RunQuery

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """Which count a run belongs to."""

    org_id: str
    day: datetime
    workflow_id: str
    source_id: str
    status: str
    classification: str


TOLD_BY = ("org_id", "at", "workflow_id", "source_id", "status", "classification")
"""What of a run tells its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """How many of the runs that were asked for begin at or after this instant and before the next day."""

    since: datetime
    count: int


def place_of(run: RowMapping | Mapping[str, Any]) -> Place:
    return Place(
        org_id=run["org_id"],
        day=_midnight(run["at"]),
        workflow_id=run["workflow_id"],
        source_id=run["source_id"],
        status=run["status"],
        classification=run["classification"],
    )


def add(tx: Tx, changes: Mapping[Place, int]) -> None:
    # Sorted: of two transactions that change the same counts, neither waits for the other in a ring.
    rows = [(*_place_values(place), changes[place]) for place in sorted(changes) if changes[place]]
    _ADD.run(tx, rows)


def _adding(tx: Tx) -> Insert:
    counted = merging_insert(tx, run_counts)
    grown = {"n": run_counts.c.n + counted.excluded.n}
    return counted.on_conflict_do_update(index_elements=run_counts.primary_key.columns, set_=grown)


_place_values = attrgetter(*(field.name for field in fields(Place)))
_ADD = Bulk((*(field.name for field in fields(Place)), "n"), _adding)


def days(tx: Tx, org_id: str, asked: RunQuery) -> list[Day]:
    """The days of a query without a search, oldest first; the first of them from `asked.since` on."""
    head = [
        runs.c.at >= asked.since,
        runs.c.at < _first_whole(asked.since),
        *conditions(runs, org_id, asked),
    ]
    count = tx.scalar(select(func.count()).select_from(runs).where(*head)) or 0
    return [Day(since=asked.since, count=count), *whole_days(tx, org_id, asked)]


def whole_days(tx: Tx, org_id: str, asked: RunQuery) -> list[Day]:
    """Those that begin at or after `asked.since`, oldest first."""
    counted = (
        select(run_counts.c.day, func.sum(run_counts.c.n))
        .where(run_counts.c.day >= _first_whole(asked.since), *conditions(run_counts, org_id, asked))
        .group_by(run_counts.c.day)
        .order_by(run_counts.c.day)
    )
    return [Day(since=day, count=int(count)) for day, count in tx.execute(counted)]


def conditions(
    table: Table, org_id: str, asked: RunQuery, looked_at: Callable[[Any], Any] = lambda column: column
) -> list[ColumnElement[bool]]:
    """What a query asks of runs and of their counts alike."""
    wanted: list[ColumnElement[bool]] = [table.c.org_id == org_id]
    for name in ("workflow_id", "status", "classification"):
        if (value := getattr(asked, name)) is not None:
            wanted.append(looked_at(table.c[name]) == value)
    if asked.source_ids is not None:
        wanted.append(table.c.source_id.in_(asked.source_ids))
    return wanted


def prune(tx: Tx, before: datetime) -> None:
    """Take away the counts of days from before that have no runs any more."""
    tx.execute(delete(run_counts).where(run_counts.c.n == 0, run_counts.c.day < _midnight(before)))


def _first_whole(since: datetime) -> datetime:
    day = _midnight(since)
    return day if day == since else day + _DAY


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)
