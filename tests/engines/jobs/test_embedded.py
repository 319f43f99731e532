"""What only the queue of one machine must bear: a wake-up at the commit, other processes on the same
file, and a file that is locked for a while."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator

import pytest

from ammeter.engines.db.database import Database
from ammeter.engines.db.migrate import migrate
from ammeter.engines.jobs.choose import make_jobs
from ammeter.engines.jobs.port import JobRun, Pace, Status
from tests.engines.jobs.parts import QUICK, ended, enqueue, working


@pytest.fixture
def single(sqlite_url: str) -> Iterator[Database]:
    database = Database(sqlite_url)
    migrate(database)
    yield database
    database.close()


async def nothing(run: JobRun) -> None:
    pass


def test_a_commit_wakes_a_worker_long_before_its_poll(single: Database) -> None:
    jobs = make_jobs(single)

    async def story() -> None:
        async with working(jobs, {"work": nothing}, pace=Pace(poll_s=60)):
            for _ in range(20):
                await ended(single, jobs, enqueue(single, jobs), timeout_s=5)
            ids = await single.run(many)
            for job_id in ids:
                await ended(single, jobs, job_id, timeout_s=5)

    def many() -> list[str]:
        with single.write() as tx:
            return [jobs.enqueue(tx, kind="work", payload={"n": n}).job.id for n in range(30)]

    asyncio.run(story())


def test_another_process_of_the_same_file_is_heard_by_polling(single: Database) -> None:
    other = Database(single.url)
    jobs = make_jobs(single)

    async def story() -> None:
        async with working(jobs, {"work": nothing}):
            job_id = enqueue(other, make_jobs(other))
            assert (await ended(single, jobs, job_id, timeout_s=3)).status is Status.SUCCEEDED

    asyncio.run(story())
    other.close()


def test_a_file_locked_for_longer_than_a_write_waits_stops_nothing(single: Database) -> None:
    jobs = make_jobs(single)

    async def story() -> None:
        began, go = asyncio.Event(), asyncio.Event()

        async def handler(run: JobRun) -> object:
            began.set()
            await go.wait()
            await run.progress(0.5, "not written, and no harm")
            return "whole"

        job_id = enqueue(single, jobs)
        async with working(jobs, {"work": handler}, pace=Pace(poll_s=0.05, watch_s=0.1, lease_s=60)):
            await asyncio.wait_for(began.wait(), 5)
            lock = sqlite3.connect(single.url.removeprefix("sqlite:///"), isolation_level=None)
            lock.execute("BEGIN IMMEDIATE")
            go.set()
            asyncio.get_running_loop().call_later(5.5, lock.close)
            job = await ended(single, jobs, job_id)
        assert (job.status, job.result, job.attempts) == (Status.SUCCEEDED, "whole", 1)

    asyncio.run(story())


def test_a_stopped_worker_leaves_no_thread_and_no_task(single: Database) -> None:
    before = set(threading.enumerate())
    jobs = make_jobs(single)

    async def story() -> None:
        async with working(jobs, {"work": nothing}, pace=QUICK):
            await ended(single, jobs, enqueue(single, jobs))
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(story())
    new = set(threading.enumerate()) - before
    assert not [thread.name for thread in new if not thread.name.startswith("db")]
    assert enqueue(single, jobs)
