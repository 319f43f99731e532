"""Runs go after the days the operator set, with all that belongs to them, and no other."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import text

from ammeter.base.clock import now
from ammeter.base.ids import first_id_at, new_id
from ammeter.engines.db.database import Tx
from ammeter.features.evals import retention
from tests.evaluating import add_source, create, list_runs, plan, step, work_off
from tests.household import Household
from tests.notes_server import NotesServer


def test_old_runs_go_with_their_events_and_evaluations(lab: Household, notes: NotesServer) -> None:
    source = add_source(lab.house, lab.org.id, notes.url)
    made = create(lab, source, plan(step("list_notes")))
    work_off(lab)
    [ended] = list_runs(lab, made["workflow"]["id"])
    [waiting] = lab.call("POST", f"/workflows/{made['workflow']['id']}/runs", json={}).json()["runIds"]
    checked = []

    def prune(days: int, later: timedelta) -> int:
        def check(tx: Tx) -> None:
            checked.append(tx)

        return retention.prune(lab.house.db, keep_days=days, at=now() + later, check=check, batch=1)

    assert prune(0, timedelta(days=4_000)) == 0
    assert prune(30, timedelta(days=29)) == 0
    assert prune(30, timedelta(days=31)) >= 1
    assert checked
    assert lab.call("GET", f"/runs/{ended['id']}").status_code == 404
    assert lab.call("GET", f"/runs/{waiting}").json()["status"] == "running"
    with lab.house.db.read() as tx:
        for table in ("run_events", "run_evaluations"):
            left = text(f"SELECT count(*) FROM {table} WHERE run_id = :id")
            assert tx.scalar(left, {"id": ended["id"]}) == 0
    work_off(lab)


def test_ids_sort_around_an_instant() -> None:
    before = new_id()
    assert before >= first_id_at(now() - timedelta(seconds=1))
    assert before < first_id_at(now() + timedelta(seconds=1))
