"""Telemetry goes in time, in batches: events and sessions first, sums after two years."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta

import pytest
from sqlalchemy import text

from ammeter.base.clock import now
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.jobs.choose import make_jobs
from ammeter.engines.jobs.port import JobLost, Status
from ammeter.features.telemetry.retention import prune
from ammeter.features.upkeep import housekeeping_job
from tests.engines.jobs.parts import ended, enqueue, working
from tests.features.telemetry.parts import TABLES, call, make_event, record_all

AGES = (1, 50, 89, 91, 400, 729, 731, 900)


def counts(db: Database) -> dict[str, int]:
    with db.read() as tx:
        return {table: tx.scalar(text(f"SELECT count(*) FROM {table}")) or 0 for table in TABLES}


def record_of_all_ages(db: Database) -> None:
    at = now()
    record_all(
        db,
        [
            make_event("o", at=at - timedelta(days=age), session_id=f"{age} {number}", calls=[call("a")])
            for age in AGES
            for number in range(3)
        ],
    )


def nobody_objects(tx: Tx) -> None:
    return None


@pytest.mark.parametrize(("keep_days", "events"), [(90, 9), (30, 3), (0, 24), (3650, 24)])
@pytest.mark.parametrize("batch", [2, 1_000])
def test_what_is_past_its_time_goes(db: Database, keep_days: int, events: int, batch: int) -> None:
    record_of_all_ages(db)
    gone = prune(db, keep_days=keep_days, at=now(), check=nobody_objects, batch=batch)
    assert counts(db) == {
        "telemetry_events": events,
        "telemetry_sessions": events,
        "telemetry_session_operations": events,
        "telemetry_operation_days": 6,
        "telemetry_hours": 6,
        "telemetry_days": 6,
    }
    assert gone == 2 * (24 - events) + 3 * 2
    assert prune(db, keep_days=keep_days, at=now(), check=nobody_objects, batch=batch) == 0


def test_a_batch_that_is_no_longer_ours_is_not_deleted(db: Database) -> None:
    record_of_all_ages(db)
    with pytest.raises(JobLost):
        prune(db, keep_days=90, at=now(), check=_lost_after(2), batch=1)
    assert counts(db)["telemetry_events"] == 24 - 2


def _lost_after(batches: int) -> Callable[[Tx], None]:
    left = iter(range(batches))

    def check(tx: Tx) -> None:
        if next(left, None) is None:
            raise JobLost

    return check


def test_housekeeping_applies_the_retention(db: Database) -> None:
    record_of_all_ages(db)
    jobs = make_jobs(db)

    async def story() -> None:
        kind = housekeeping_job.KIND
        job_id = enqueue(db, jobs, kind=kind)
        handler = housekeeping_job.housekeeping_job(db, jobs, telemetry_days=90)
        async with working(jobs, {kind: handler}):
            job = await ended(db, jobs, job_id)
        assert (job.status, job.error) == (Status.SUCCEEDED, None)
        gone = dict(job.result)
        assert gone.pop("telemetry") == 2 * 15 + 3 * 2
        assert set(gone.values()) == {0}

    asyncio.run(story())
    assert counts(db)["telemetry_events"] == 9
