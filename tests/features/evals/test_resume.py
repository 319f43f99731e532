"""A run cut off after any of its events goes on from there: no call is made twice, and it comes to an end."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import text

from ammeter.base.ids import new_id
from ammeter.engines.mcp_client.port import Tool, ToolResult
from ammeter.engines.models.scripted import ScriptedModel, parse_plan
from ammeter.features.evals import store, sweep_job
from ammeter.features.evals.events import CallBegan, CallEnded, Event, Row
from ammeter.features.evals.model import Run
from ammeter.features.evals.story import Story, told
from ammeter.features.evals.tester import Setting, close_open_call, play
from ammeter.features.workflows.model import Limits, ToolPolicy
from tests.evaluating import add_source, create, list_runs, plan, step, work_off
from tests.household import Household
from tests.notes_server import NotesServer

PROMPT = plan(
    step("add_note", title="a", text="x") | {"saveAs": "made"},
    step("get_note", title="{{made.title}}"),
    step("add_note", title="b", text="y"),
    answer="{{made.id}}",
)


class Memory:
    """A `Notebook` that keeps events in a list."""

    def __init__(self, events: list[Event]) -> None:
        self.events = list(events)
        self._story = told(PROMPT, events)

    @property
    def story(self) -> Story:
        return self._story

    def note(self, event: Event) -> None:
        self.events.append(event)
        self._story.apply(event)

    async def flush(self) -> None:
        return


class Shelf:
    """A `Connection` that keeps notes and counts what it is asked."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, Any]]] = []

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], timeout_s: float | None = None
    ) -> ToolResult:
        self.calls.append((name, dict(arguments)))
        value = {"id": "n1", "title": arguments["title"]}
        return ToolResult(content=(), structured=value, is_error=False, raw_text="")


def go_on(events: list[Event], shelf: Shelf) -> Memory:
    notebook = Memory(events)
    close_open_call(notebook)
    tools = [
        Tool(name=name, title=None, description=None, input_schema={}) for name in ("add_note", "get_note")
    ]
    setting = Setting(
        model=ScriptedModel(parse_plan(PROMPT)),
        connection=shelf,  # type: ignore[arg-type]
        tools=tools,
        system="",
        limits=Limits(),
        policy=ToolPolicy(),
        deadline=float("inf"),
        cancelled=asyncio.Event(),
    )

    async def story() -> None:
        assert await play(notebook, setting) is None

    asyncio.run(story())
    return notebook


def test_a_run_goes_on_from_each_of_its_events() -> None:
    shelf = Shelf()
    whole = go_on([], shelf)
    assert whole.story.final == "n1"
    assert len(shelf.calls) == 3
    for cut in range(len(whole.events) + 1):
        before = whole.events[:cut]
        later = Shelf()
        resumed = go_on(before, later)
        begun = [e for e in resumed.events if isinstance(e, CallBegan)]
        ended = [e for e in resumed.events if isinstance(e, CallEnded)]
        assert len(begun) == len(ended), "every call has its answer"
        already = [(e.tool, e.arguments) for e in before if isinstance(e, CallBegan)]
        assert len(already) + len(later.calls) == len(begun)
        for made in already:
            assert made not in later.calls, f"made twice after event {cut}"
        interrupted = [e for e in ended if e.interrupted]
        was_open = bool(before) and isinstance(before[-1], CallBegan)
        assert len(interrupted) == was_open
        assert resumed.story.is_over
        if not was_open:
            assert resumed.story.final == "n1"
            assert [type(e) for e in resumed.events] == [type(e) for e in whole.events]


def test_stored_runs_are_taken_over_after_each_of_their_events(lab: Household, notes: NotesServer) -> None:
    source = add_source(lab.house, lab.org.id, notes.url)
    made = create(lab, source, PROMPT)
    work_off(lab)
    [run] = list_runs(lab, made["workflow"]["id"])
    with lab.house.db.read() as tx:
        whole = store.read_events(tx, run["id"])
        first = store.find_run(tx, run["id"])
    assert first is not None
    notes.calls.clear()
    expected, still_to_make = {}, 0
    for cut in range(len(whole) + 1):
        copy = replace(first, id=new_id(), status="running", phase="testing", outcome=None, score=None)
        was_open = cut > 0 and isinstance(whole[cut - 1].event, CallBegan)
        begun = sum(isinstance(row.event, CallBegan) for row in whole[:cut])
        still_to_make += 0 if was_open else 3 - begun
        expected[copy.id] = "fail" if was_open else "pass"
        _left_behind(lab, copy, whole[:cut])
    work_off(lab)
    ended = {row["id"]: row["status"] for row in list_runs(lab, made["workflow"]["id"])}
    assert {run_id: ended[run_id] for run_id in expected} == expected
    assert len(notes.calls) == still_to_make
    for run_id in expected:
        assert lab.call("GET", f"/runs/{run_id}/evaluation").status_code == 200


def _left_behind(lab: Household, run: Run, rows: Sequence[Row]) -> None:
    """A run as a worker left it that died after these events; a job that goes on with it."""
    with lab.house.db.write() as tx:
        payload = {"run_id": run.id}
        job = lab.house.jobs.enqueue(tx, kind="evals.run", payload=payload, org_id=lab.org.id).job
        store.insert_run(tx, replace(run, job_id=job.id))
        store.append_events(tx, run.id, rows)


@pytest.mark.parametrize("job_is", ["gone", "failed"])
def test_no_run_stays_running_for_ever(lab: Household, notes: NotesServer, job_is: str) -> None:
    source = add_source(lab.house, lab.org.id, notes.url)
    made = create(lab, source, PROMPT)
    [run] = list_runs(lab, made["workflow"]["id"])
    with lab.house.db.write() as tx:
        job_id = tx.scalar(text("SELECT job_id FROM runs WHERE id = :id"), {"id": run["id"]})
        if job_is == "gone":
            tx.execute(text("DELETE FROM jobs WHERE id = :id"), {"id": job_id})
        else:
            tx.execute(text("UPDATE jobs SET status = 'failed' WHERE id = :id"), {"id": job_id})
        lab.house.jobs.enqueue(tx, kind=sweep_job.KIND, payload={})
    work_off(lab, [run["id"]])
    ended = lab.call("GET", f"/runs/{run['id']}").json()
    assert (ended["status"], ended["outcome"], ended["classification"]) == ("fail", "Errored", "internal")
    assert notes.calls == []
