"""Eval cases and runs for the pages of evals: made over REST, ended as a worker ends them, without one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ammeter.base.clock import now
from ammeter.features.evals import history, store
from ammeter.features.evals.events import Event
from ammeter.features.evals.finish import finish
from ammeter.features.evals.marks import decide
from ammeter.features.evals.model import Evidence, Mark, MarkWord, Run
from ammeter.features.sources.model import Source
from tests.evaluating import add_source, create, plan, step
from tests.features.evals.stories import call, rows_of, turn
from tests.household import OPERATOR, Household

PROMPT = plan(step("get_note", title="milk"), answer="There is milk.")


def notes(tenant: Household, **more: Any) -> Source:
    return add_source(tenant.house, tenant.org.id, "https://notes.example/mcp", **more)


def a_case(tenant: Household, source: Source, name: str = "Notes are read", **fields: Any) -> str:
    """Its id; its first run waits for ever, since nobody works here."""
    case_id: str = create(tenant, source, PROMPT, name=name, **fields)["workflow"]["id"]
    return case_id


def a_run(tenant: Household, case_id: str, **fields: Any) -> str:
    answer = tenant.call("POST", f"/workflows/{case_id}/runs", json={"forceNewRun": True} | fields)
    assert answer.status_code == 202, answer.text
    run_id: str = answer.json()["runIds"][0]
    return run_id


def a_mark(text: str, word: MarkWord | None = "pass", *evidence: tuple[str, str], **more: Any) -> Mark:
    given: dict[str, Any] = {"is_required": True, "reasoning": f"It is a {word}.", "judged_by": "assertion"}
    places = tuple(Evidence(span_id=span, excerpt=excerpt) for span, excerpt in evidence)
    return Mark(criterion_id=text, criterion_text=text, mark=word, evidence=places, **(given | more))


def happened(result: str = '{"title":"milk","litres":2}') -> list[Event]:
    """One call and last words: spans turn-1, call-2, turn-4."""
    return [*call("get_note", result, title="milk"), turn("There is milk.")]


def end(
    tenant: Household, run_id: str, marks: Sequence[Mark], events: Sequence[Event] = (), **counts: Any
) -> Run:
    """What a worker leaves behind at the end of a run."""
    with tenant.house.db.write() as tx:
        run = history.get_run(tx, OPERATOR, tenant.org.id, run_id)
        store.append_events(tx, run.id, rows_of(events or happened()))
        verdict = decide(marks)
        given = {"tool_calls": 1, "turns": 2, "cost_usd": 0.0123, "input_tokens": 20, "output_tokens": 10}
        finish(tx, run, verdict, marks=marks, counts=given | counts)
    with tenant.house.db.read() as tx:
        return history.get_run(tx, OPERATOR, tenant.org.id, run_id)


def waiting_run(tenant: Household, case_id: str) -> str:
    """The first run of a case."""
    with tenant.house.db.read() as tx:
        return store.last_runs(tx, tenant.org.id, [case_id])[case_id].id


def set_run(tenant: Household, run_id: str, **changes: Any) -> None:
    with tenant.house.db.write() as tx:
        store.update_run(tx, run_id, {"at": now()} | changes)
