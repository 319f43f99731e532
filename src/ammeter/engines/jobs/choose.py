"""The queue that belongs to a database."""

from __future__ import annotations

from ammeter.engines.db.database import Database
from ammeter.engines.jobs.embedded import EmbeddedJobs
from ammeter.engines.jobs.port import Jobs


def make_jobs(db: Database) -> Jobs:
    if not db.dialect.distributed:
        return EmbeddedJobs(db)
    # Imported here: procrastinate costs a start time that one machine's queue does not need.
    from ammeter.engines.jobs.distributed import DistributedJobs

    return DistributedJobs(db)
