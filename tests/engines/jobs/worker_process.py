"""A worker in a process of its own, for tests that kill or pause it: it begins a job, shows that it has,
and writes its fenced effect once the gate file is there."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from ammeter.engines.db.database import Database
from ammeter.engines.jobs.choose import make_jobs
from ammeter.engines.jobs.port import JobRun, Pace
from tests.engines.jobs.parts import until, write_effect


async def main(url: str, gate: Path, lease_s: float) -> None:
    db = Database(url)

    async def handler(run: JobRun) -> None:
        await run.progress(0.5, "begun in the process")
        await until(gate.exists, "the gate opens", timeout_s=60)
        await db.run(write_effect, db, run, "process")

    worker = make_jobs(db).worker(
        {"work": handler}, concurrency=1, pace=Pace(poll_s=0.05, watch_s=lease_s / 5, lease_s=lease_s)
    )
    await worker.start()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2]), float(sys.argv[3])))
