"""What both queues promise, each promise once, on both databases."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from ammeter.base.clock import now
from ammeter.engines.db.database import Database
from ammeter.engines.jobs.choose import make_jobs
from ammeter.engines.jobs.port import Handler, JobCancelled, JobFailed, JobRun, Jobs, Pace, Status
from tests.engines.jobs.parts import (
    QUICK,
    bounded,
    effects,
    ended,
    enqueue,
    find,
    make_effects,
    until,
    working,
    write_effect,
)


@pytest.fixture
def jobs(db: Database) -> Jobs:
    return make_jobs(db)


def test_a_job_is_there_once_its_transaction_commits(db: Database, jobs: Jobs) -> None:
    with db.write() as tx:
        enqueued = jobs.enqueue(tx, kind="work", payload={"a": 1}, org_id="o", max_attempts=3)
    job = find(db, jobs, enqueued.job.id)
    assert enqueued.is_new
    assert job == enqueued.job
    assert (job.status, job.payload, job.org_id, job.attempts, job.max_attempts) == (
        Status.QUEUED,
        {"a": 1},
        "o",
        0,
        3,
    )


def test_a_job_vanishes_with_its_transaction(db: Database, jobs: Jobs) -> None:
    ran: list[str] = []

    async def handler(run: JobRun) -> None:
        ran.append(run.job.id)

    async def story() -> None:
        with db.writer.connect() as tx:
            lost = jobs.enqueue(tx, kind="work", payload={}).job.id
            tx.rollback()
        kept = enqueue(db, jobs)
        async with working(jobs, {"work": handler}):
            await ended(db, jobs, kept)
        assert ran == [kept]
        with db.read() as tx:
            assert jobs.find(tx, lost) is None

    asyncio.run(story())


def test_a_job_shows_its_progress_and_its_result(db: Database, jobs: Jobs) -> None:
    async def story() -> None:
        shown, go = asyncio.Event(), asyncio.Event()

        async def handler(run: JobRun) -> object:
            await run.progress(0.4, "listing tools")
            shown.set()
            await go.wait()
            return {"twice": run.job.payload["n"] * 2}

        job_id = enqueue(db, jobs, payload={"n": 21})
        async with working(jobs, {"work": handler}):
            await bounded(shown, "progress")
            job = find(db, jobs, job_id)
            assert (job.status, job.progress, job.progress_message) == (Status.RUNNING, 0.4, "listing tools")
            go.set()
            job = await ended(db, jobs, job_id)
        assert (job.status, job.result, job.attempts, job.error) == (Status.SUCCEEDED, {"twice": 42}, 1, None)
        assert job.progress == 1
        assert job.started_at is not None
        assert job.finished_at is not None
        assert job.created_at <= job.started_at <= job.finished_at

    asyncio.run(story())


def test_a_fault_is_tried_again_later_each_time_and_then_fails(db: Database, jobs: Jobs) -> None:
    async def story() -> None:
        began: list[float] = []

        async def handler(run: JobRun) -> None:
            began.append(asyncio.get_running_loop().time())
            raise ValueError(f"attempt {run.job.attempts} met postgresql://u:hunter2@h/db\0")

        job_id = enqueue(db, jobs, max_attempts=3)
        async with working(jobs, {"work": handler}, pace=Pace(poll_s=0.02, watch_s=0.1, retry_base_s=0.2)):
            job = await ended(db, jobs, job_id)
        assert (job.status, job.attempts) == (Status.FAILED, 3)
        assert job.error == "ValueError: attempt 3 met postgresql://u:***@h/db"
        first, second = began[1] - began[0], began[2] - began[1]
        assert first >= 0.19
        assert second >= 0.39

    asyncio.run(story())


def test_a_job_that_failed_once_may_succeed(db: Database, jobs: Jobs) -> None:
    async def handler(run: JobRun) -> None:
        if run.job.attempts == 1:
            raise ValueError("once")

    async def story() -> None:
        job_id = enqueue(db, jobs)
        async with working(jobs, {"work": handler}):
            job = await ended(db, jobs, job_id)
        assert (job.status, job.attempts, job.error) == (Status.SUCCEEDED, 2, None)

    asyncio.run(story())


def test_job_failed_and_a_result_that_is_no_json_are_not_tried_again(db: Database, jobs: Jobs) -> None:
    async def refuse(run: JobRun) -> None:
        raise JobFailed("The source has no spec.")

    async def strange(run: JobRun) -> object:
        return {"at": now()}

    async def story() -> None:
        refused, odd = enqueue(db, jobs, "refuse"), enqueue(db, jobs, "strange")
        async with working(jobs, {"refuse": refuse, "strange": strange}):
            job = await ended(db, jobs, refused)
            assert (job.status, job.attempts, job.error) == (Status.FAILED, 1, "The source has no spec.")
            job = await ended(db, jobs, odd)
            assert (job.status, job.attempts) == (Status.FAILED, 1)
            assert "not JSON" in (job.error or "")

    asyncio.run(story())


def test_an_open_job_stands_in_for_another_of_the_same_key(db: Database, jobs: Jobs) -> None:
    async def story() -> None:
        began, go = asyncio.Event(), asyncio.Event()

        async def handler(run: JobRun) -> None:
            began.set()
            await go.wait()

        def again() -> tuple[str, bool]:
            with db.write() as tx:
                enqueued = jobs.enqueue(tx, kind="work", payload={}, dedup_key="source-1")
            return enqueued.job.id, enqueued.is_new

        first, is_new = again()
        assert is_new
        assert again() == (first, False)
        enqueue(db, jobs, "other", dedup_key="source-1")
        async with working(jobs, {"work": handler}):
            await bounded(began, "the first runs")
            assert again() == (first, False)
            go.set()
            await ended(db, jobs, first)
            second, is_new = again()
            assert is_new
            assert second != first

    asyncio.run(story())


def test_enqueues_of_one_key_at_the_same_moment_make_one_job(db: Database, jobs: Jobs) -> None:
    async def story() -> None:
        ids = await asyncio.gather(
            *(db.run(enqueue, db, jobs, dedup_key="one", payload={"n": n}) for n in range(12))
        )
        assert len(set(ids)) == 1

    asyncio.run(story())


def test_a_delayed_job_waits(db: Database, jobs: Jobs) -> None:
    order: list[str] = []

    async def handler(run: JobRun) -> None:
        order.append(run.job.payload["name"])

    async def story() -> None:
        # Long enough for a busy machine to begin the other one first.
        late = enqueue(db, jobs, payload={"name": "late"}, delay_s=3.0)
        soon = enqueue(db, jobs, payload={"name": "soon"})
        async with working(jobs, {"work": handler}):
            assert (await ended(db, jobs, soon)).status is Status.SUCCEEDED
            job = await ended(db, jobs, late)
        assert order == ["soon", "late"]
        assert job.started_at is not None
        assert job.started_at - job.created_at >= timedelta(seconds=2.95)

    asyncio.run(story())


def test_a_higher_priority_runs_first_and_then_who_came_first(db: Database, jobs: Jobs) -> None:
    order: list[str] = []

    async def handler(run: JobRun) -> None:
        order.append(run.job.payload["name"])

    async def story() -> None:
        for name, priority in [("a", 0), ("b", 5), ("c", 0), ("d", -1), ("e", 5)]:
            last = enqueue(db, jobs, payload={"name": name}, priority=priority)
        async with working(jobs, {"work": handler}, concurrency=1):
            await until(lambda: len(order) == 5, "all ran")
        assert order == ["b", "e", "a", "c", "d"]
        assert find(db, jobs, last).status is Status.SUCCEEDED

    asyncio.run(story())


def test_a_queued_job_is_cancelled_at_once_and_never_runs(db: Database, jobs: Jobs) -> None:
    ran: list[str] = []

    async def handler(run: JobRun) -> None:
        ran.append(run.job.id)

    async def story() -> None:
        gone = enqueue(db, jobs)
        with db.write() as tx:
            job = jobs.cancel(tx, gone)
            assert job is not None
            assert job.status is Status.CANCELLED
            assert jobs.cancel(tx, "no-such-job") is None
        other = enqueue(db, jobs)
        async with working(jobs, {"work": handler}, concurrency=1):
            await ended(db, jobs, other)
        assert ran == [other]
        with db.write() as tx:
            job = jobs.cancel(tx, other)
        assert job is not None
        assert job.status is Status.SUCCEEDED

    asyncio.run(story())


def test_a_running_job_hears_of_its_cancellation(db: Database, jobs: Jobs) -> None:
    async def story() -> None:
        began = asyncio.Event()

        async def by_event(run: JobRun) -> None:
            began.set()
            await run.cancelled.wait()
            raise JobCancelled

        async def by_progress(run: JobRun) -> None:
            began.set()
            while True:
                await run.progress(0.1)
                run.stop_if_cancelled()

        async def by_fault(run: JobRun) -> None:
            began.set()
            await run.cancelled.wait()
            raise ValueError("torn down in the middle")

        for handler, pace in [
            (by_event, QUICK),
            (by_progress, Pace(poll_s=0.05, watch_s=600)),
            (by_fault, QUICK),
        ]:
            began.clear()
            job_id = enqueue(db, jobs)
            async with working(jobs, {"work": handler}, pace=pace):
                await bounded(began, "it runs")
                with db.write() as tx:
                    job = jobs.cancel(tx, job_id)
                assert job is not None
                assert (job.status, job.cancel_requested) == (Status.RUNNING, True)
                assert (await ended(db, jobs, job_id)).status is Status.CANCELLED

    asyncio.run(story())


def test_two_workers_share_the_work_and_do_each_job_once(db: Database, jobs: Jobs) -> None:
    make_effects(db)
    count = 200

    async def story() -> None:
        with db.write() as tx:
            ids = [jobs.enqueue(tx, kind="work", payload={"n": n}).job.id for n in range(count)]
        second = Database(db.url)
        began = {"first": asyncio.Event(), "second": asyncio.Event()}

        def shared(node: Database, name: str) -> Handler:
            async def handler(run: JobRun) -> None:
                began[name].set()
                await asyncio.gather(*(event.wait() for event in began.values()))
                await node.run(write_effect, node, run, name)

            return handler

        try:
            async with (
                working(jobs, {"work": shared(db, "first")}),
                working(make_jobs(second), {"work": shared(second, "second")}),
            ):
                await until(lambda: len(effects(db)) >= count, "all jobs ran", timeout_s=30)
                for job_id in ids:
                    assert (await ended(db, jobs, job_id)).attempts == 1
        finally:
            second.close()
        done = effects(db)
        assert sorted(job_id for job_id, _ in done) == sorted(ids)
        assert {by for _, by in done} == {"first", "second"}

    asyncio.run(story())


def test_a_worker_leaves_kinds_it_does_not_know_to_others(db: Database, jobs: Jobs) -> None:
    async def handler(run: JobRun) -> None:
        pass

    async def story() -> None:
        unknown, known = enqueue(db, jobs, "unknown"), enqueue(db, jobs, "known")
        async with working(jobs, {"known": handler}):
            await ended(db, jobs, known)
            assert find(db, jobs, unknown).status is Status.QUEUED

    asyncio.run(story())


def test_old_ended_jobs_are_pruned(db: Database, jobs: Jobs) -> None:
    old, waiting = enqueue(db, jobs), enqueue(db, jobs)
    with db.write() as tx:
        jobs.cancel(tx, old)
        assert jobs.prune(tx, now() - timedelta(hours=1)) == 0
        assert jobs.prune(tx, now() + timedelta(hours=1)) == 1
        assert jobs.find(tx, old) is None
        assert jobs.find(tx, waiting) is not None


def test_a_kind_that_a_channel_cannot_carry_is_refused(db: Database, jobs: Jobs) -> None:
    for kind in ["", "Upper", "two words", "k" * 41]:
        with db.write() as tx, pytest.raises(ValueError, match="job kind"):
            jobs.enqueue(tx, kind=kind, payload={})
    assert find(db, jobs, enqueue(db, jobs, "k" * 40)).status is Status.QUEUED
