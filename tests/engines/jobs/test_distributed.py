"""What only the queue of many machines must bear: broken connections, a server that is away, both
spellings of the URL, and nothing left behind."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import text

from ammeter.base.errors import Unavailable
from ammeter.engines.db.database import Database
from ammeter.engines.db.migrate import migrate
from ammeter.engines.jobs.choose import make_jobs
from ammeter.engines.jobs.port import JobRun, Pace, Status
from tests.engines.jobs.parts import QUICK, bounded, ended, enqueue, find, until, working


@pytest.fixture
def shared(postgres_url: str) -> Iterator[Database]:
    database = Database(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    migrate(database)
    yield database
    database.close()


def count(db: Database, query: str) -> int:
    with db.read() as tx:
        return int(tx.execute(text(query)).scalar_one())


def tickets(db: Database) -> int:
    return count(db, "SELECT count(*) FROM procrastinate_jobs")


def test_a_notification_wakes_a_worker_long_before_its_poll(shared: Database) -> None:
    jobs = make_jobs(shared)

    async def handler(run: JobRun) -> None:
        pass

    async def story() -> None:
        listens = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query ~ '^LISTEN'"
        )
        async with working(jobs, {"work": handler}, pace=Pace(poll_s=60, watch_s=0.1)):
            await until(lambda: count(shared, listens), "the worker listens")
            job = await ended(shared, jobs, enqueue(shared, jobs), timeout_s=5)
        assert job.status is Status.SUCCEEDED

    asyncio.run(story())


def test_lost_connections_harm_neither_the_worker_nor_a_running_job(
    shared: Database, postgres_url: str
) -> None:
    jobs = make_jobs(shared)

    async def story() -> None:
        began, go = asyncio.Event(), asyncio.Event()

        async def long(run: JobRun) -> object:
            began.set()
            await go.wait()
            return "whole"

        async def short(run: JobRun) -> None:
            pass

        running = enqueue(shared, jobs, "long")
        async with working(jobs, {"long": long, "short": short}):
            await bounded(began, "the long job runs")
            cut(postgres_url)
            after = await until(lambda: enqueued_again(shared), "the database takes a job again")
            assert (await ended(shared, jobs, after)).status is Status.SUCCEEDED
            cut(postgres_url)
            go.set()
            job = await ended(shared, jobs, running)
            assert (job.status, job.result, job.attempts) == (Status.SUCCEEDED, "whole", 1)
            assert (await ended(shared, jobs, enqueue(shared, jobs, "short"))).status is Status.SUCCEEDED
        assert tickets(shared) == 0

    def enqueued_again(db: Database) -> str:
        return enqueue(db, jobs, "short")

    asyncio.run(story())


def cut(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


def test_a_worker_taken_for_dead_comes_back_as_a_new_one(shared: Database) -> None:
    jobs = make_jobs(shared)

    async def handler(run: JobRun) -> None:
        pass

    async def story() -> None:
        async with working(jobs, {"work": handler}):
            await ended(shared, jobs, enqueue(shared, jobs))
            with shared.write() as tx:
                assert tx.execute(text("DELETE FROM procrastinate_workers")).rowcount == 1
            assert (await ended(shared, jobs, enqueue(shared, jobs))).status is Status.SUCCEEDED
            assert count(shared, "SELECT count(*) FROM procrastinate_workers") == 1

    asyncio.run(story())


@pytest.mark.parametrize("claimed", [False, True])
def test_a_ticket_that_was_lost_from_sight_is_found_again(shared: Database, claimed: bool) -> None:
    """The fetch reached the database, but the answer, or the claim that follows, never came."""
    jobs = make_jobs(shared)

    async def handler(run: JobRun) -> None:
        pass

    async def story() -> None:
        async with working(jobs, {"work": handler}, pace=Pace(poll_s=0.05, watch_s=0.1, lease_s=0.9)):
            await ended(shared, jobs, enqueue(shared, jobs))
            with shared.write() as tx:
                job_id = jobs.enqueue(tx, kind="work", payload={}).job.id
                tx.execute(
                    text(
                        "UPDATE procrastinate_jobs SET status = 'doing',"
                        " worker_id = (SELECT id FROM procrastinate_workers)"
                    )
                )
                if claimed:
                    tx.execute(
                        text(
                            "UPDATE jobs SET status = 'running', attempts = 1,"
                            " token = (SELECT id::text FROM procrastinate_jobs)"
                        )
                    )
            job = await ended(shared, jobs, job_id)
        assert (job.status, job.attempts) == (Status.SUCCEEDED, 2 if claimed else 1)
        assert tickets(shared) == 0

    asyncio.run(story())


def test_every_ticket_goes_with_its_job(shared: Database) -> None:
    jobs = make_jobs(shared)

    async def flaky(run: JobRun) -> None:
        if run.job.attempts < 3:
            raise ValueError("again")

    async def story() -> None:
        cancelled = enqueue(shared, jobs)
        with shared.write() as tx:
            jobs.cancel(tx, cancelled)
        job_id = enqueue(shared, jobs)
        assert tickets(shared) == 2
        async with working(jobs, {"work": flaky}):
            await ended(shared, jobs, job_id)
            await until(lambda: tickets(shared) == 0, "no ticket is left")

    asyncio.run(story())


def test_a_stopped_worker_leaves_no_connection_no_thread_and_no_task(shared: Database) -> None:
    before = set(threading.enumerate())
    jobs = make_jobs(shared)

    async def handler(run: JobRun) -> None:
        pass

    async def story() -> None:
        await shared.run(shared.ping)
        async with working(jobs, {"work": handler}, pace=QUICK):
            await ended(shared, jobs, enqueue(shared, jobs))
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(story())
    new = set(threading.enumerate()) - before
    assert not [thread.name for thread in new if not thread.name.startswith("db")]
    asyncio.run(gone(shared))
    assert count(shared, "SELECT count(*) FROM procrastinate_workers") == 0


async def gone(db: Database) -> None:
    ours = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
        " AND application_name = 'ammeter jobs'"
    )
    await until(lambda: count(db, ours) == 0, "the worker's connections are closed")


def test_a_worker_starts_and_stops_while_the_server_is_away() -> None:
    db = Database("postgresql://nobody@127.0.0.1:1/nothing")
    jobs = make_jobs(db)

    async def handler(run: JobRun) -> None:
        pass

    async def story() -> None:
        worker = jobs.worker({"work": handler}, pace=QUICK)
        await worker.start()
        async with asyncio.timeout(12):
            await worker.stop(grace_s=0)

    asyncio.run(story())
    db.close()


def test_one_machines_queue_does_not_load_procrastinate(sqlite_url: str) -> None:
    program = (
        "import sys; from ammeter.engines.db.database import Database;"
        "from ammeter.engines.jobs.choose import make_jobs; import ammeter.engines.jobs.schedule;"
        f"db = Database({sqlite_url!r}); make_jobs(db); db.close();"
        "sys.exit('procrastinate' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_a_dead_connection_in_a_callers_transaction_is_unavailable_in_words(
    shared: Database, postgres_url: str
) -> None:
    jobs = make_jobs(shared)

    def enqueue_on_a_dead_connection() -> None:
        with shared.write() as tx:
            tx.execute(text("SELECT 1"))
            cut(postgres_url)
            jobs.enqueue(tx, kind="work", payload={})

    with pytest.raises(Unavailable, match="cannot be reached"):
        enqueue_on_a_dead_connection()
    assert find(shared, jobs, enqueue(shared, jobs)).status is Status.QUEUED
