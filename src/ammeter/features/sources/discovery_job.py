"""Looking at a source: connect, list what it has, propose categories, write it down. Runs for every source,
and again whenever somebody asks. What goes wrong is written down too, in words for a person.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from ammeter.base.clock import now
from ammeter.engines.db.database import Database
from ammeter.engines.jobs.port import Handler, JobFailed, JobRun
from ammeter.engines.mcp_client.port import Connection, SourceFault, Tool
from ammeter.features.sources import store
from ammeter.features.sources.categories import propose
from ammeter.features.sources.connector import Connector
from ammeter.features.sources.model import Discovery, Source
from ammeter.features.sources.service import DISCOVER, find_auth_profile, get_source

KIND = DISCOVER

log = logging.getLogger("ammeter.sources")

# Of all that a source lists, as it is kept in its row.
_MOST_KEPT = 1_000
_DESCRIPTION = 10_000
_INSTRUCTIONS = 50_000


def discovery_job(db: Database, connector: Connector) -> Handler:
    def read(run: JobRun) -> tuple[Source, Any]:
        with db.read() as tx:
            source = get_source(tx, run.job.org_id or "", run.job.payload["source_id"])
            return source, find_auth_profile(tx, source)

    def write(run: JobRun, source: Source, found: Discovery) -> None:
        with db.write() as tx:
            run.check_in(tx)
            more: dict[str, Any] = {}
            known = get_source(tx, source.org_id, source.id)
            if found.status == "succeeded" and not known.categories_by_person:
                more["categories"] = list(propose(found.tools, found.instructions or ""))
            store.set_discovery(tx, source.id, found, now(), **more)

    async def handler(run: JobRun) -> object:
        source, profile = await db.run(read, run)
        try:
            async with connector.open(source, profile) as connection:
                found = await look(connection, run)
        except SourceFault as fault:
            log.info("a source was looked at in vain", extra={"source_id": source.id, "kind": fault.kind})
            kept = replace(source.discovery, status="failed", error=fault.message, finished_at=now())
            await db.run(write, run, source, kept)
            raise JobFailed(fault.message) from None
        await db.run(write, run, source, found)
        return {"tools": len(found.tools), "protocol_version": found.protocol_version}

    return handler


async def look(connection: Connection, run: JobRun) -> Discovery:
    await run.progress(0.1, "connecting")
    facts = await connection.initialize()
    await run.progress(0.4, "listing tools")
    tools = await connection.list_tools()
    await run.progress(0.7, "listing resources and prompts")
    resources, prompts = await connection.list_resources(), await connection.list_prompts()
    return Discovery(
        status="succeeded",
        finished_at=now(),
        server_info={"name": facts.name, "version": facts.version},
        protocol_version=facts.protocol_version or None,
        instructions=(facts.instructions or "")[:_INSTRUCTIONS] or None,
        tools=_kept([_tool_row(tool) for tool in tools]),
        resources=_kept([asdict(each) for each in resources]),
        prompts=_kept([asdict(each) | {"arguments": list(each.arguments)} for each in prompts]),
    )


def _tool_row(tool: Tool) -> dict[str, Any]:
    return {
        "name": tool.name,
        "title": tool.title,
        "description": (tool.description or "")[:_DESCRIPTION] or None,
        "input_schema": dict(tool.input_schema),
        "annotations": dict(tool.annotations) if tool.annotations else None,
    }


def _kept(rows: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    return tuple(_without_nul(row) for row in rows[:_MOST_KEPT])


def _without_nul(value: Any) -> Any:
    """PostgreSQL takes no NUL in a text, and a server may send one."""
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, dict):
        return {_without_nul(name): _without_nul(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nul(each) for each in value]
    return value
