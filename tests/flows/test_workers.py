"""Workers as processes: a killed one's job is taken over by another and finished, once."""

from __future__ import annotations

import json
from pathlib import Path

from ammeter.base.pages import PageRequest
from ammeter.engines.jobs.port import Job, Status
from ammeter.features.orgs import audit
from ammeter.features.upkeep import check_job
from ammeter.wiring import House
from tests.household import make_settings, opened_house
from tests.server import run_command, running, until


def test_a_killed_workers_job_is_taken_over_and_finished_once(postgres_url: str, tmp_path: Path) -> None:
    with (
        opened_house(make_settings(postgres_url, tmp_path)) as house,
        running(tmp_path, "--role", "web", name="web-1", database_url=postgres_url),
        running(tmp_path, "--role", "web", name="web-2", database_url=postgres_url),
        running(tmp_path, "--role", "worker", name="worker-1", database_url=postgres_url) as first,
    ):
        with house.db.write() as tx:
            job_id = house.jobs.enqueue(tx, kind=check_job.KIND, payload={"seconds": 8}).job.id
        until(lambda: read(house, job_id).progress > 0, "the first worker is in the middle of the job")
        first.kill()
        with running(tmp_path, "--role", "worker", name="worker-2", database_url=postgres_url):
            until(lambda: read(house, job_id).status is Status.SUCCEEDED, "the other worker ends it", 60)
        assert read(house, job_id).attempts == 2
        assert len(checks_written_down(house)) == 1


def test_one_process_works_and_its_queue_can_be_watched(database_url: str, tmp_path: Path) -> None:
    with running(tmp_path, database_url=database_url):
        checked = run_command(
            tmp_path, "admin", "job", "check", "--seconds", "0.5", "--json", database_url=database_url
        )
        assert checked.returncode == 0, checked.stderr
        job = json.loads(checked.stdout)
        assert (job["status"], job["progress"], job["attempts"]) == ("succeeded", 1.0, 1)
    shown = run_command(tmp_path, "admin", "job", "show", job["id"], "--json", database_url=database_url)
    assert json.loads(shown.stdout)["result"] == {"seconds": 0.5}
    listed = run_command(tmp_path, "admin", "job", "list", "--json", database_url=database_url)
    assert job["id"] in [row["id"] for row in json.loads(listed.stdout)["rows"]]


def test_a_job_without_a_worker_waits_and_can_be_cancelled(sqlite_url: str, tmp_path: Path) -> None:
    waited = run_command(tmp_path, "admin", "job", "check", "--wait", "0.3", database_url=sqlite_url)
    assert waited.returncode == 1
    assert "does a worker run?" in waited.stderr
    with opened_house(make_settings(sqlite_url, tmp_path)) as house, house.db.read() as tx:
        [job] = house.jobs.list(tx, PageRequest()).rows
    cancelled = run_command(tmp_path, "admin", "job", "cancel", job.id, "--json", database_url=sqlite_url)
    assert json.loads(cancelled.stdout)["status"] == "cancelled"
    unknown = run_command(tmp_path, "admin", "job", "show", "nothing", database_url=sqlite_url)
    assert (unknown.returncode, unknown.stderr.strip()) == (1, "ammeter: No such job.")


def read(house: House, job_id: str) -> Job:
    with house.db.read() as tx:
        job = house.jobs.find(tx, job_id)
    assert job is not None
    return job


def checks_written_down(house: House) -> list[str]:
    with house.db.read() as tx:
        events = audit.list_all_events(tx, PageRequest()).rows
    return [event.target for event in events if event.action == "jobs.check"]
