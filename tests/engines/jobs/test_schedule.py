"""Schedules: rows on the caller's transaction, fired once however many tickers look."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta

import pytest
from sqlalchemy import func, select, update

from ammeter.base.clock import now
from ammeter.engines.db.database import Database
from ammeter.engines.db.tables import jobs as job_rows
from ammeter.engines.db.tables import schedules
from ammeter.engines.jobs.choose import make_jobs
from ammeter.engines.jobs.port import JobRun, Jobs
from ammeter.engines.jobs.schedule import (
    Schedule,
    Ticker,
    add_schedule,
    find_schedule,
    fire_due,
    remove_schedule,
    update_schedule,
)
from ammeter.engines.jobs.timing import Timing
from tests.engines.jobs.parts import until, working

HOURLY = Timing(every_minutes=60)


@pytest.fixture
def jobs(db: Database) -> Jobs:
    return make_jobs(db)


def add(db: Database, timing: Timing = HOURLY, *, enabled: bool = True, kind: str = "work") -> Schedule:
    with db.write() as tx:
        return add_schedule(tx, kind=kind, payload={"a": 1}, timing=timing, org_id="o", enabled=enabled)


def get(db: Database, schedule: Schedule) -> Schedule:
    with db.read() as tx:
        found = find_schedule(tx, schedule.id)
    assert found is not None
    return found


def fire(db: Database, jobs: Jobs, at: datetime) -> int:
    with db.write() as tx:
        return fire_due(tx, jobs, at)


def count_jobs(db: Database) -> int:
    with db.read() as tx:
        return tx.execute(select(func.count()).select_from(job_rows)).scalar_one()


def test_a_schedule_is_added_read_and_removed(db: Database) -> None:
    schedule = add(db)
    assert get(db, schedule) == schedule
    assert (schedule.payload, schedule.org_id, schedule.last_at) == ({"a": 1}, "o", None)
    assert timedelta(minutes=59) < schedule.next_at - now() <= timedelta(minutes=60)
    with db.write() as tx:
        assert remove_schedule(tx, schedule.id)
        assert not remove_schedule(tx, schedule.id)
        assert find_schedule(tx, schedule.id) is None
        assert update_schedule(tx, schedule.id, enabled=False) is None


def test_a_schedule_fires_when_it_is_due_and_not_before(db: Database, jobs: Jobs) -> None:
    schedule = add(db)
    assert fire(db, jobs, schedule.next_at - timedelta(milliseconds=1)) == 0
    assert fire(db, jobs, schedule.next_at) == 1
    assert fire(db, jobs, schedule.next_at) == 0
    fired = get(db, schedule)
    assert fired.last_at == schedule.next_at
    assert fired.next_at == schedule.next_at + timedelta(hours=1)


def test_times_that_were_missed_fire_once_together(db: Database, jobs: Jobs) -> None:
    nightly = add(db, Timing(cron="30 2 * * *", timezone="Europe/Berlin"))
    hourly = add(db)
    at = nightly.next_at + timedelta(days=10, minutes=5)
    assert fire(db, jobs, at) == 2
    assert fire(db, jobs, at + timedelta(seconds=1)) == 0
    assert count_jobs(db) == 2
    assert get(db, nightly).next_at > at
    late = get(db, hourly)
    assert at < late.next_at <= at + timedelta(hours=1)
    assert (late.next_at - hourly.next_at) % timedelta(hours=1) == timedelta(0)


def test_a_clock_that_jumped_ahead_and_was_set_back_stops_no_schedule(db: Database, jobs: Jobs) -> None:
    schedule = add(db)
    right, wrong = schedule.next_at, schedule.next_at + timedelta(days=40)
    assert fire(db, jobs, wrong) == 1
    assert get(db, schedule).next_at > wrong
    assert fire(db, jobs, right) == 0
    assert (get(db, schedule).next_at, get(db, schedule).last_at) == (right + timedelta(hours=1), right)
    assert fire(db, jobs, right + timedelta(hours=1)) == 1


def test_a_clock_a_little_ahead_of_another_fires_no_time_twice(db: Database, jobs: Jobs) -> None:
    schedule = add(db)
    assert fire(db, jobs, schedule.next_at) == 1
    after = get(db, schedule)
    assert fire(db, jobs, schedule.next_at - timedelta(minutes=50)) == 0
    assert get(db, schedule) == after


def test_a_disabled_schedule_rests_and_has_missed_nothing_when_it_returns(db: Database, jobs: Jobs) -> None:
    schedule = add(db, enabled=False)
    with db.write() as tx:
        tx.execute(update(schedules).values(next_at=now() - timedelta(days=3)))
    assert fire(db, jobs, now()) == 0
    with db.write() as tx:
        enabled = update_schedule(tx, schedule.id, enabled=True)
    assert enabled is not None
    assert enabled.next_at > now()
    assert fire(db, jobs, now()) == 0


def test_a_schedule_is_changed_in_part(db: Database) -> None:
    schedule = add(db)
    with db.write() as tx:
        changed = update_schedule(tx, schedule.id, payload={"b": 2})
        assert changed is not None
        assert (changed.payload, changed.next_at) == ({"b": 2}, schedule.next_at)
        assert update_schedule(tx, schedule.id) == changed
        changed = update_schedule(tx, schedule.id, timing=Timing(every_minutes=5))
    assert changed is not None
    assert changed.timing == Timing(every_minutes=5)
    assert changed.next_at - now() <= timedelta(minutes=5)


def test_a_schedule_whose_job_is_still_open_adds_no_second(db: Database, jobs: Jobs) -> None:
    schedule = add(db)
    assert fire(db, jobs, schedule.next_at) == 1
    assert fire(db, jobs, schedule.next_at + timedelta(hours=1)) == 1
    assert count_jobs(db) == 1


def test_a_schedule_that_cannot_fire_is_disabled_and_holds_up_no_other(db: Database, jobs: Jobs) -> None:
    bad, good = add(db), add(db)
    with db.write() as tx:
        tx.execute(update(schedules).where(schedules.c.id == bad.id).values(kind="No Kind"))
    assert fire(db, jobs, good.next_at) == 2
    assert not get(db, bad).enabled
    assert get(db, good).last_at == good.next_at
    assert count_jobs(db) == 1


def test_a_firing_that_fails_leaves_the_schedule_due(db: Database, jobs: Jobs) -> None:
    schedule = add(db)
    with db.writer.connect() as tx:
        assert fire_due(tx, jobs, schedule.next_at) == 1
        tx.rollback()
    assert get(db, schedule) == schedule
    assert count_jobs(db) == 0


def test_tickers_on_two_nodes_fire_each_time_once(db: Database, jobs: Jobs) -> None:
    ran: list[str] = []

    async def handler(run: JobRun) -> None:
        ran.append(run.job.id)

    async def story() -> None:
        added = [add(db) for _ in range(20)]
        with db.write() as tx:
            tx.execute(update(schedules).values(next_at=now() - timedelta(hours=5)))
        other = Database(db.url)
        tickers = [Ticker(node, make_jobs(node), poll_s=0.02) for node in (db, other, db, other)]
        async with working(jobs, {"work": handler}):
            await asyncio.gather(*(ticker.start() for ticker in tickers))
            await until(lambda: len(ran) >= len(added), "every schedule fired")
            await asyncio.gather(*(ticker.stop() for ticker in tickers))
        other.close()
        assert count_jobs(db) == len(added) == len(set(ran)) == len(ran)

    asyncio.run(story())


def test_transactions_at_the_same_moment_fire_a_schedule_once(db: Database, jobs: Jobs) -> None:
    schedule = add(db)

    async def story() -> None:
        fired = await asyncio.gather(*(db.run(fire, db, jobs, schedule.next_at) for _ in range(8)))
        assert sorted(fired) == [0] * 7 + [1]

    asyncio.run(story())
