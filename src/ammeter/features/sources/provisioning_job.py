"""Bringing a source's package onto a machine. Which version it became is written into the source, so that
every machine and every later run uses the same one.
"""

from __future__ import annotations

from typing import Any

from ammeter.base.clock import now
from ammeter.engines.db.database import Database
from ammeter.engines.hosting.host import Hosting
from ammeter.engines.hosting.port import HostingFault, Installed
from ammeter.engines.jobs.port import Handler, JobFailed, JobRun
from ammeter.features.sources import store
from ammeter.features.sources.connector import launch_of
from ammeter.features.sources.model import Source
from ammeter.features.sources.service import PROVISION, get_source

KIND = PROVISION


def provisioning_job(db: Database, hosting: Hosting) -> Handler:
    def read(run: JobRun) -> Source:
        with db.read() as tx:
            return get_source(tx, run.job.org_id or "", run.job.payload["source_id"])

    def write(run: JobRun, source: Source, installed: Installed) -> None:
        with db.write() as tx:
            run.check_in(tx)
            store.set_columns(
                tx, source.id, connection_config=pinned(source, installed.version), updated_at=now()
            )

    async def handler(run: JobRun) -> object:
        source = await db.run(read, run)
        try:
            hosting.check()
            package = launch_of(source, {}).package
            if package is None:
                return {"command": source.connection_config.get("command")}
            await run.progress(0.1, f"installing {package.name}")
            installed = await hosting.install(package)
        except HostingFault as fault:
            raise JobFailed(fault.message) from None
        await db.run(write, run, source, installed)
        return {"name": installed.name, "version": installed.version}

    return handler


def pinned(source: Source, version: str) -> dict[str, Any]:
    told = dict(source.connection_config)
    return told | {"package": {**told["package"], "version": version}}
