"""The counts by day say what the runs say, whatever becomes of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import text

from ammeter.base.clock import now
from ammeter.engines.db.database import Database
from ammeter.engines.db.migrate import migrate
from ammeter.features.evals import retention, store
from tests.evaluating import LOOPBACK, add_source, create, list_runs, plan, step, work_off
from tests.household import Household, make_client, make_household, make_settings, opened_house
from tests.notes_server import NotesServer

_NAMES = "workflow_id, source_id, status, classification"


@pytest.fixture
def alone(database_url: str, tmp_path: Path) -> Iterator[Household]:
    """A household on a database of its own: all runs in it are this test's."""
    settings = make_settings(database_url, tmp_path, **LOOPBACK)
    with opened_house(settings) as house, make_client(house) as client:
        yield make_household(house, client)


def counted(db: Database) -> dict[tuple[object, ...], int]:
    """The counts, after a check that they are those of the runs."""
    with db.read() as tx:
        kept = tx.execute(text(f"SELECT day, {_NAMES}, n FROM run_counts WHERE n <> 0")).all()
        true = tx.execute(
            text(f"SELECT at / 86400000 * 86400000, {_NAMES}, count(*) FROM runs GROUP BY 1, 2, 3, 4, 5")
        ).all()
    assert {tuple(row[:-1]): row[-1] for row in kept} == {tuple(row[:-1]): row[-1] for row in true}
    return {tuple(row[1:-1]): row[-1] for row in kept}


def test_counts_follow_the_life_of_runs(alone: Household, notes: NotesServer) -> None:
    db = alone.house.db
    source = add_source(alone.house, alone.org.id, notes.url)
    good = create(alone, source, plan(step("list_notes")))["workflow"]["id"]
    bad = create(alone, source, plan(step("get_note", title="none")), name="Bad")["workflow"]["id"]
    assert counted(db) == {(one, source.id, "running", "none"): 1 for one in (good, bad)}
    work_off(alone)
    done = {(good, source.id, "pass", "none"): 1, (bad, source.id, "fail", "criteria_failed"): 1}
    assert counted(db) == done

    [run] = list_runs(alone, good)
    assert alone.call("POST", f"/runs/{run['id']}/rejudge").status_code == 202
    [waiting] = alone.call("POST", f"/workflows/{good}/runs", json={}).json()["runIds"]
    assert alone.call("POST", f"/runs/{waiting}/cancel").status_code == 200
    work_off(alone)
    assert counted(db) == done | {(good, source.id, "fail", "cancelled"): 1}

    with db.write() as tx:
        store.update_run(tx, run["id"], {"at": now() - timedelta(days=3)})
    counted(db)
    gone = retention.prune(db, keep_days=1, at=now() + timedelta(days=5), check=lambda tx: None, batch=2)
    assert gone == 3
    assert counted(db) == {}
    with db.read() as tx:
        assert tx.scalar(text("SELECT count(*) FROM run_counts")) == 0


def test_runs_from_before_there_were_counts_are_counted(alone: Household, notes: NotesServer) -> None:
    db = alone.house.db
    source = add_source(alone.house, alone.org.id, notes.url)
    made = create(alone, source, plan(step("list_notes")))["workflow"]["id"]
    work_off(alone)
    assert alone.call("POST", f"/workflows/{made}/runs", json={}).status_code == 202
    before = counted(db)
    assert len(before) == 2
    with db.write() as tx:
        tx.execute(text("DROP TABLE run_counts"))
        tx.execute(text("DELETE FROM schema_migrations WHERE name = 'm0014_run_counts'"))
    assert migrate(db) == ("m0014_run_counts",)
    assert counted(db) == before
    work_off(alone)
