"""Workers are killed in the middle of runs: others carry on, no call is made twice, each run ends once."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import text

from tests.evaluating import LOOPBACK, add_source, create, list_runs, plan, step, work_off
from tests.flows.outage import postgres_away
from tests.household import make_client, make_household, make_settings, opened_house
from tests.notes_server import notes_server
from tests.server import running, until

RUNS = int(os.environ.get("AMMETER_TEST_KILLED_RUNS", "20"))


def test_killed_workers_runs_go_on_elsewhere_without_a_repeated_call(
    postgres_url: str, tmp_path: Path
) -> None:
    loopback = {"allow_private_networks": "127.0.0.0/8", "database_url": postgres_url, "job_concurrency": "6"}
    settings = make_settings(postgres_url, tmp_path, **LOOPBACK)
    with notes_server() as notes, opened_house(settings) as house, make_client(house) as client:
        household = make_household(house, client)
        source = add_source(house, household.org.id, notes.url)
        for number in range(RUNS):
            steps = [step("echo", text=f"{number}-{i}") for i in range(3)]
            prompt = plan(*steps[:2], step("wait", name=str(number)), steps[2])
            create(household, source, prompt, name=f"Case {number}")
        with running(tmp_path, "--role", "worker", name="first", **loopback) as first:
            until(lambda: len(notes.made("wait")) >= 4, "calls are under way", 60)
            with running(tmp_path, "--role", "worker", name="second", **loopback):
                first.kill()
                notes.gate.set()

                def is_over() -> bool:
                    return bool(household.call("GET", "/runs?status=running").json()["total"] == 0)

                until(is_over, "every run has ended", 90)
        rows = household.call("GET", "/runs?pageSize=200").json()["rows"]
        assert len(rows) == RUNS
        made = [tuple(sorted(arguments.items())) for _, arguments in notes.calls]
        assert len(made) == len(set(made)), "a call was made twice"
        assert {row["outcome"] for row in rows} == {"Passed", "Failed"}
        interrupted = 0
        for row in rows:
            spans = household.call("GET", f"/runs/{row['id']}/trace").json()["spans"]
            statuses = [span["status"] for span in spans if span["kind"] == "tool_call"]
            assert "running" not in statuses
            interrupted += "interrupted" in statuses
            assert (row["outcome"] == "Failed") == ("interrupted" in statuses)
        assert interrupted >= 4
        with house.db.read() as tx:
            evaluations = tx.scalar(text("SELECT count(*) FROM run_evaluations"))
        assert evaluations == RUNS


def test_runs_under_way_wait_for_a_database_that_goes_away(postgres_url: str, tmp_path: Path) -> None:
    loopback = {"allow_private_networks": "127.0.0.0/8", "database_url": postgres_url}
    settings = make_settings(postgres_url, tmp_path, **LOOPBACK)
    with notes_server() as notes, opened_house(settings) as house, make_client(house) as client:
        household = make_household(house, client)
        source = add_source(house, household.org.id, notes.url)
        made = [
            create(household, source, plan(step("wait", name=name), step("echo", text=name)), name=name)
            for name in ("one", "two")
        ]
        with running(tmp_path, "--role", "worker", **loopback) as worker:
            until(lambda: len(notes.made("wait")) == len(made), "calls are under way", 60)
            with postgres_away(postgres_url):
                notes.gate.set()
                until(lambda: "the database" in worker.log.read_text(), "the worker has noticed", 30)

            def is_over() -> bool:
                return bool(household.call("GET", "/runs?status=running").json()["total"] == 0)

            until(is_over, "every run has ended", 90)
        for one in made:
            [run] = list_runs(household, one["workflow"]["id"])
            assert (run["status"], run["toolCalls"], run["error"]) == ("pass", 2, None)
        assert len(notes.made("wait")) == len(notes.made("echo")) == len(made)


def test_one_process_plays_a_workflow_on_its_schedule_once(sqlite_url: str, tmp_path: Path) -> None:
    settings = make_settings(sqlite_url, tmp_path, **LOOPBACK)
    with notes_server() as notes, opened_house(settings) as house, make_client(house) as client:
        household = make_household(house, client)
        source = add_source(house, household.org.id, notes.url)
        made = create(household, source, plan(step("list_notes")), schedule={"everyMinutes": 5})
        work_off(household)
        # As if nobody had ticked for an hour.
        with house.db.write() as tx:
            tx.execute(
                text("UPDATE schedules SET next_at = next_at - 3600000 WHERE kind = 'evals.scheduled'")
            )
        loopback = {"allow_private_networks": "127.0.0.0/8", "database_url": sqlite_url}
        with running(tmp_path, "--role", "worker", **loopback):

            def statuses() -> list[str]:
                return [run["status"] for run in list_runs(household, made["workflow"]["id"])]

            until(lambda: len(statuses()) == 2 and "running" not in statuses(), "both runs have ended", 60)
        runs = list_runs(household, made["workflow"]["id"])
        assert sorted(run["trigger"] for run in runs) == ["initial", "schedule"]
        assert {run["status"] for run in runs} == {"pass"}
