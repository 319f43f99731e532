"""Runs played to their end in this process, by plans and by models of this machine."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from sqlalchemy import text

from ammeter.engines.models.endpoints import Endpoint, Reachable
from ammeter.engines.models.gateway import Models
from ammeter.features.evals import rejudge_job, run_job
from ammeter.features.evals.run_job import Laboratory
from ammeter.features.sources.model import Source
from tests.chat_endpoint import ChatEndpoint, Said, chat_endpoint
from tests.evaluating import add_source, create, list_runs, plan, step, work_off, working
from tests.household import Household
from tests.notes_server import NotesServer
from tests.server import until

NO_WAIT = {"maxAttempts": 2, "backoffSeconds": 0}
ADDED = {"criterionText": "Added", "assertion": {"kind": "tool_called", "tool": "add_note"}}


def run_of(lab: Household, made: dict[str, Any]) -> dict[str, Any]:
    [run] = list_runs(lab, made["workflow"]["id"])
    return run


def played(lab: Household, source: Source, prompt: str, **fields: Any) -> dict[str, Any]:
    made = create(lab, source, prompt, **{"retryPolicy": NO_WAIT} | fields)
    work_off(lab)
    return run_of(lab, made)


def end_of(run: dict[str, Any]) -> tuple[str, str, str]:
    return run["status"], run["outcome"], run["classification"]


def with_model(lab: Household, endpoint: ChatEndpoint, *, judge: str = "", **told: Any) -> Household:
    """The same house with a model `local/small`, and perhaps a judge."""
    reachable = Reachable(vendor_keys={}, endpoints={"local": Endpoint(base_url=endpoint.url, **told)})
    house = lab.house
    models = Models(reachable)
    laboratory = Laboratory(
        db=house.db,
        models=models,
        judge_model=judge,
        open=house.connector.open,
    )
    handlers = {
        **house.handlers,
        run_job.KIND: run_job.run_job(laboratory),
        rejudge_job.KIND: rejudge_job.rejudge_job(laboratory),
    }
    return replace(lab, house=replace(house, handlers=handlers, models=models))


def model_played(
    lab: Household, notes: NotesServer, *turns: Said, judge: str = "", price: Any = None, **fields: Any
) -> tuple[dict[str, Any], ChatEndpoint]:
    """A run of the model that says these turns; the workflow is given it behind the preflight's back."""
    source = add_source(lab.house, lab.org.id, notes.url)
    with chat_endpoint(*turns) as endpoint:
        house = with_model(lab, endpoint, judge=judge, price=price)
        made = create(lab, source, "```yaml\nsteps: [{tool: x}]\n```\nAdd a note.", **fields)
        play_with(lab, made, "local/small")
        work_off(house)
    return run_of(lab, made), endpoint


def work_until(lab: Household, holds: Any) -> None:
    async def story() -> None:
        async with working(lab.house):
            await asyncio.to_thread(until, holds, "it holds", 20)
        await lab.house.connector.close()
        await lab.house.models.close()

    asyncio.run(story())


def play_with(lab: Household, made: dict[str, Any], model_id: str) -> None:
    change = text("UPDATE runs SET model_id = :model WHERE workflow_id = :id")
    with lab.house.db.write() as tx:
        tx.execute(change, {"model": model_id, "id": made["workflow"]["id"]})


def echoed(secret: str) -> str:
    return plan(
        step("echo", text=secret) | {"saveAs": "one"},
        step("echo", text="{{one.result}} again"),
    )
