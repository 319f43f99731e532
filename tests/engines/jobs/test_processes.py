"""Workers in processes of their own: one is killed, one is paused, and the job's effect comes once."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ammeter.engines.db.database import Database
from ammeter.engines.jobs.choose import make_jobs
from ammeter.engines.jobs.port import Pace, Status
from tests.engines.jobs.parts import effects, ended, enqueue, fenced, find, make_effects, until, working

ROOT = Path(__file__).parents[3]
LEASE_S = 1.0
BRISK = Pace(poll_s=0.05, watch_s=0.1, lease_s=LEASE_S)


@contextmanager
def worker_process(db: Database, gate: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "tests.engines.jobs.worker_process", db.url, str(gate), str(LEASE_S)]
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_killed_workers_job_is_taken_over_and_done_once(db: Database, tmp_path: Path) -> None:
    make_effects(db)
    jobs = make_jobs(db)

    async def story() -> None:
        job_id = enqueue(db, jobs)
        with worker_process(db, tmp_path / "gate") as process:
            await until(lambda: find(db, jobs, job_id).progress == 0.5, "the process has begun")
            async with working(jobs, {"work": fenced(db, "here")}, pace=BRISK):
                # Alive, it keeps the job for longer than a lease.
                deadline = asyncio.get_running_loop().time() + 1.5 * LEASE_S
                await until(lambda: asyncio.get_running_loop().time() > deadline, "a lease and a half")
                assert (find(db, jobs, job_id).status, effects(db)) == (Status.RUNNING, [])
                process.send_signal(signal.SIGKILL)
                job = await ended(db, jobs, job_id)
        assert (job.status, job.attempts, job.result) == (Status.SUCCEEDED, 2, {"by": "here"})
        assert effects(db) == [(job_id, "here")]

    asyncio.run(story())


def test_a_paused_worker_cannot_write_when_it_comes_back(db: Database, tmp_path: Path) -> None:
    make_effects(db)
    jobs = make_jobs(db)

    async def story() -> None:
        first = enqueue(db, jobs)
        gate = tmp_path / "gate"
        with worker_process(db, gate) as process:
            await until(lambda: find(db, jobs, first).progress == 0.5, "the process has begun")
            process.send_signal(signal.SIGSTOP)
            async with working(jobs, {"work": fenced(db, "here")}, pace=BRISK):
                job = await ended(db, jobs, first)
            gate.touch()
            process.send_signal(signal.SIGCONT)
            second = enqueue(db, jobs)
            assert (await ended(db, jobs, second)).status is Status.SUCCEEDED
        assert (job.status, job.attempts) == (Status.SUCCEEDED, 2)
        assert effects(db) == [(first, "here"), (second, "process")]

    asyncio.run(story())
