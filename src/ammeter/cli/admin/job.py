"""`ammeter admin job`: see the queue, cancel a job, and try whether workers work."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Annotated, Any

import typer

from ammeter.base.errors import Conflict, NotFound
from ammeter.base.pages import DEFAULT_PAGE_SIZE, PageRequest
from ammeter.cli.house import AsJson, PageNumber, PageSize, opened
from ammeter.cli.shown import show, show_page
from ammeter.engines.jobs.port import Job, Status
from ammeter.features.upkeep import check_job
from ammeter.wiring import House

commands = typer.Typer(no_args_is_help=True)

_COLUMNS = ("id", "kind", "status", "progress", "progress_message", "attempts", "error", "created_at")
_OPEN = (Status.QUEUED, Status.RUNNING)
_LOOK_S = 0.2


@commands.command("list")
def list_all(page: PageNumber = 1, page_size: PageSize = DEFAULT_PAGE_SIZE, as_json: AsJson = False) -> None:
    """List jobs, newest first."""
    with opened() as house, house.db.read() as tx:
        found = house.jobs.list(tx, PageRequest(page=page, page_size=page_size))
    show_page(found, _COLUMNS, as_json=as_json)


@commands.command("show")
def show_one(job_id: str, as_json: AsJson = False) -> None:
    """Show one job."""
    with opened() as house:
        show(_read(house, job_id), as_json=as_json)


@commands.command()
def cancel(job_id: str, as_json: AsJson = False) -> None:
    """Cancel a job: a queued one at once, a running one as soon as it looks."""
    with opened() as house, house.db.write() as tx:
        job = house.jobs.cancel(tx, job_id)
    if job is None:
        raise NotFound("job")
    show(job, as_json=as_json, title="Asked the job to stop" if job.status in _OPEN else "")


@commands.command()
def check(
    seconds: Annotated[float, typer.Option(min=0, max=600, help="How long the job takes.")] = 1,
    wait: Annotated[float, typer.Option(min=0, max=3600, help="How long to watch it.")] = 60,
    as_json: AsJson = False,
) -> None:
    """Put a harmless job into the queue and watch it: do workers work?"""
    with opened() as house:
        with house.db.write() as tx:
            job = house.jobs.enqueue(tx, kind=check_job.KIND, payload={"seconds": seconds}).job
        deadline = time.monotonic() + wait
        while (job := _read(house, job.id)).status in _OPEN and time.monotonic() < deadline:
            if not as_json:
                typer.echo(
                    f"\r{job.status:8} {job.progress:4.0%}  {job.progress_message:40}", nl=False, err=True
                )
            time.sleep(_LOOK_S)
        if not as_json:
            typer.echo("", err=True)
    if wait and job.status in _OPEN:
        raise Conflict(f"The job {job.id} is still {job.status} after {wait:g} s; does a worker run?")
    show(_shown(job), as_json=as_json)


def _read(house: House, job_id: str) -> Job:
    with house.db.read() as tx:
        job = house.jobs.find(tx, job_id)
    if job is None:
        raise NotFound("job")
    return job


def _shown(job: Job) -> dict[str, Any]:
    return {name: str(value) if name == "status" else value for name, value in asdict(job).items()}
