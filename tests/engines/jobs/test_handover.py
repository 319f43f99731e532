"""How a job goes from one worker to another, on both databases: a stop, a silence, a death."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from ammeter.engines.db.database import Database
from ammeter.engines.jobs.choose import make_jobs
from ammeter.engines.jobs.port import JobLost, JobRun, Jobs, Pace, Status
from tests.engines.jobs.parts import (
    QUICK,
    bounded,
    effects,
    ended,
    enqueue,
    fenced,
    find,
    make_effects,
    until,
    working,
    write_effect,
)


@pytest.fixture
def jobs(db: Database) -> Jobs:
    return make_jobs(db)


def test_a_stop_waits_for_running_jobs_and_gives_the_rest_back_untried(db: Database, jobs: Jobs) -> None:
    async def story() -> None:
        began: list[str] = []
        go = asyncio.Event()

        async def short(run: JobRun) -> None:
            began.append("short")
            await go.wait()

        async def endless(run: JobRun) -> None:
            began.append("endless")
            await asyncio.Event().wait()

        short_id, endless_id = enqueue(db, jobs, "short"), enqueue(db, jobs, "endless")
        worker = jobs.worker({"short": short, "endless": endless}, pace=QUICK)
        await worker.start()
        await until(lambda: len(began) == 2, "both run")
        asyncio.get_running_loop().call_later(0.1, go.set)
        await worker.stop(grace_s=0.5)
        assert find(db, jobs, short_id).status is Status.SUCCEEDED
        job = find(db, jobs, endless_id)
        assert (job.status, job.attempts) == (Status.QUEUED, 0)
        await worker.stop()

        async def finish(run: JobRun) -> None:
            pass

        async with working(jobs, {"endless": finish}):
            job = await ended(db, jobs, endless_id, timeout_s=3)
        assert (job.status, job.attempts) == (Status.SUCCEEDED, 1)

    asyncio.run(story())


def test_a_handler_that_ignores_the_stop_is_fenced_out(db: Database, jobs: Jobs) -> None:
    make_effects(db)

    async def story() -> None:
        began, go, ends = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def stubborn(run: JobRun) -> None:
            began.set()
            with suppress(asyncio.CancelledError):
                await go.wait()
            await go.wait()
            try:
                await db.run(write_effect, db, run, "stubborn")
            finally:
                ends.set()

        job_id = enqueue(db, jobs)
        worker = jobs.worker({"work": stubborn}, pace=Pace(poll_s=0.05, wind_down_s=0.1))
        await worker.start()
        await bounded(began, "it runs")
        await worker.stop(grace_s=0)
        assert find(db, jobs, job_id).status is Status.QUEUED
        async with working(jobs, {"work": fenced(db, "other")}):
            assert (await ended(db, jobs, job_id)).result == {"by": "other"}
        go.set()
        await bounded(ends, "the stubborn handler ends")
        assert effects(db) == [(job_id, "other")]

    asyncio.run(story())


def test_a_worker_that_fell_silent_is_fenced_out(db: Database, jobs: Jobs) -> None:
    make_effects(db)

    async def story() -> None:
        began, go, seen = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def late(run: JobRun) -> None:
            began.set()
            await go.wait()
            with pytest.raises(JobLost):
                await db.run(write_effect, db, run, "late")
            with pytest.raises(JobLost):
                await run.progress(0.9)
            seen.set()

        job_id = enqueue(db, jobs)
        silent = Pace(poll_s=0.05, watch_s=600, lease_s=0.5)
        brisk = Pace(poll_s=0.05, watch_s=0.05, lease_s=0.5)
        async with working(jobs, {"work": late}, concurrency=1, pace=silent):
            await bounded(began, "the silent worker has it")
            async with working(jobs, {"work": fenced(db, "prompt")}, pace=brisk):
                job = await ended(db, jobs, job_id)
            go.set()
            await bounded(seen, "the silent worker is told")
        assert (job.status, job.attempts, job.result) == (Status.SUCCEEDED, 2, {"by": "prompt"})
        assert find(db, jobs, job_id) == job
        assert effects(db) == [(job_id, "prompt")]

    asyncio.run(story())


def test_a_lost_job_is_cancelled_where_it_still_runs(db: Database, jobs: Jobs) -> None:
    """The worker's watch comes too seldom to keep its lease, but it does come."""

    async def story() -> None:
        began, stopped = asyncio.Event(), asyncio.Event()

        async def endless(run: JobRun) -> None:
            began.set()
            try:
                await asyncio.Event().wait()
            finally:
                stopped.set()

        async def finish(run: JobRun) -> None:
            pass

        job_id = enqueue(db, jobs)
        seldom = Pace(poll_s=0.05, watch_s=0.7, lease_s=0.3)
        brisk = Pace(poll_s=0.05, watch_s=0.05, lease_s=0.3)
        async with working(jobs, {"work": endless}, concurrency=1, pace=seldom):
            await bounded(began, "the first worker has it")
            async with working(jobs, {"work": finish}, pace=brisk):
                assert (await ended(db, jobs, job_id)).attempts == 2
            await bounded(stopped, "the first worker's handler is cancelled")

    asyncio.run(story())


def test_a_job_whose_workers_keep_dying_fails_with_a_reason(db: Database, jobs: Jobs) -> None:
    async def story() -> None:
        began, go = asyncio.Event(), asyncio.Event()

        async def stuck(run: JobRun) -> None:
            began.set()
            await go.wait()

        async def never(run: JobRun) -> None:
            raise AssertionError("no attempt is left")

        job_id = enqueue(db, jobs, max_attempts=1)
        silent = Pace(poll_s=0.05, watch_s=600, lease_s=0.3)
        async with working(jobs, {"work": stuck}, concurrency=1, pace=silent):
            await bounded(began, "the silent worker has it")
            async with working(jobs, {"work": never}, pace=silent):
                job = await ended(db, jobs, job_id)
            go.set()
        assert job.status is Status.FAILED
        assert job.error == "The worker stopped answering during attempt 1 of 1."

    asyncio.run(story())
