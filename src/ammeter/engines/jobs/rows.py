"""The `jobs` row and every change it goes through, on a transaction of the caller, for both queues.

A change to a running job is fenced: it happens only where the row still carries the claim's token.
How a job is found and how a dead worker is noticed is absent: that differs between the queues.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, assert_never

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    Select,
    Update,
    and_,
    bindparam,
    delete,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.base.logs import blank_secrets
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.bulk import Bulk, column_names
from ammeter.engines.db.database import Tx
from ammeter.engines.db.paging import fetch_page
from ammeter.engines.db.tables import jobs
from ammeter.engines.db.types import Instant
from ammeter.engines.jobs.port import Enqueued, Job, JobLost, Pace, Status

# Procrastinate notifies on a channel that ends in the kind, and a channel has 63 bytes.
_KIND = re.compile(r"[a-z][a-z0-9_.-]{0,39}")
_MESSAGE_CHARS = 1_000
_DEDUP_TRIES = 5
_FIELDS = [jobs.c[name] for name in Job.__dataclass_fields__]
_IS_HELD = and_(
    jobs.c.id == bindparam("job"),
    jobs.c.token == bindparam("holder"),
    jobs.c.status == Status.RUNNING.value,
)
_ONE_JOB = update(jobs).where(jobs.c.id == bindparam("job"))
_COLUMNS = column_names(jobs)
_INSERT = Bulk(_COLUMNS, lambda _: insert(jobs))
_EXPIRED = select(*_FIELDS).where(
    jobs.c.status == Status.RUNNING.value, jobs.c.lease_until < bindparam("at", type_=Instant)
)
_EXPIRED_LOCKED = _EXPIRED.with_for_update()
_HELD = select(jobs.c.id).where(_IS_HELD).with_for_update()
_HELD_WHOLE = select(*_FIELDS).where(_IS_HELD).with_for_update()


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    job: Job
    token: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    result: object


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Ended for good."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Broke:
    """Ended badly; tried again while attempts are left."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled:
    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenBack:
    """Not ended at all: the worker stops, and the attempt does not count."""


Outcome = Succeeded | Failed | Broke | Cancelled | GivenBack


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What became of jobs while they run."""

    cancelled: frozenset[str] = frozenset()
    lost: frozenset[str] = frozenset()


def enqueue(
    tx: Tx,
    *,
    kind: str,
    payload: Mapping[str, Any],
    org_id: str | None,
    dedup_key: str | None,
    delay_s: float,
    priority: int,
    max_attempts: int,
) -> Enqueued:
    if not _KIND.fullmatch(kind):
        raise ValueError(
            f"{kind!r} is no job kind: use at most 40 of a-z, 0-9, '_', '.' and '-', a letter first."
        )
    at = now()
    values = {
        "id": new_id(),
        "org_id": org_id,
        "kind": kind,
        "payload": dict(payload),
        "status": Status.QUEUED.value,
        "priority": priority,
        "run_at": at + timedelta(milliseconds=round(delay_s * 1_000)),
        "attempts": 0,
        "max_attempts": max_attempts,
        "dedup_key": dedup_key,
        "cancel_requested": False,
        "progress": 0.0,
        "progress_message": "",
        "created_at": at,
    }
    if dedup_key is None:
        return Enqueued(job=_insert(tx, values), is_new=True)
    for tries_left in reversed(range(_DEDUP_TRIES)):
        if (open_job := _find_open(tx, kind, dedup_key)) is not None:
            return Enqueued(job=open_job, is_new=False)
        try:
            with tx.begin_nested():
                return Enqueued(job=_insert(tx, values), is_new=True)
        except IntegrityError:
            # Another transaction's job came in between; by the next look it may even have ended.
            if not tries_left:
                raise
    raise AssertionError("the loop returns or raises")


def find(tx: Tx, job_id: str, *, lock: bool = False) -> Job | None:
    query = select(*_FIELDS).where(jobs.c.id == job_id)
    row = tx.execute(query.with_for_update() if lock else query).mappings().first()
    return None if row is None else job_of(row)


def list_jobs(tx: Tx, page: PageRequest) -> Page[Job]:
    return fetch_page(tx, select(*_FIELDS).order_by(jobs.c.id.desc()), page, job_of)


def cancel(tx: Tx, job_id: str) -> Job | None:
    job = find(tx, job_id, lock=True)
    if job is None:
        return None
    match job.status:
        case Status.QUEUED:
            return _change(tx, job, status=Status.CANCELLED.value, finished_at=now())
        case Status.RUNNING:
            return _change(tx, job, cancel_requested=True)
        case Status.SUCCEEDED | Status.FAILED | Status.CANCELLED:
            return job
        case _:
            assert_never(job.status)


def prune(tx: Tx, before: datetime) -> int:
    return tx.execute(delete(jobs).where(jobs.c.finished_at < before)).rowcount


def claiming(which: ColumnElement[bool]) -> Update:
    """The statement for `claim`: of the queued rows that `which` holds for."""
    return (
        update(jobs)
        .where(which, jobs.c.status == Status.QUEUED.value)
        .values(
            status=Status.RUNNING.value,
            token=bindparam("holder"),
            lease_until=bindparam("until", type_=Instant),
            attempts=jobs.c.attempts + 1,
            progress=0.0,
            progress_message="",
            started_at=bindparam("at", type_=Instant),
        )
        .returning(*_FIELDS)
    )


def claim(
    tx: Tx, statement: Update, *, token: str, lease_until: datetime | None = None, **chosen: Any
) -> list[Claim]:
    """Make rows this token's, in the order they should run; `chosen` is what else the statement asks for."""
    given = {"holder": token, "until": lease_until, "at": now(), **chosen}
    rows = tx.execute(statement, given).mappings()
    claimed = sorted((job_of(row) for row in rows), key=lambda job: (-job.priority, job.run_at, job.id))
    return [Claim(job=job, token=token) for job in claimed]


def check_held(tx: Tx, claim: Claim) -> None:
    """Lock the row until `tx` ends; JobLost where the claim no longer has it."""
    _held(tx, claim, _HELD)


def hold(tx: Tx, claim: Claim) -> Job:
    """The same, and the row."""
    return job_of(_held(tx, claim, _HELD_WHOLE))


def progress(tx: Tx, claim: Claim, fraction: float, message: str) -> Job:
    job = hold(tx, claim)
    return _change(tx, job, progress=min(max(fraction, 0.0), 1.0), progress_message=storable(message))


def look(tx: Tx, claims: Sequence[Claim]) -> Seen:
    ids = [claim.job.id for claim in claims]
    query = select(jobs.c.id, jobs.c.token, jobs.c.cancel_requested).where(jobs.c.id.in_(ids))
    rows = {row.id: row for row in tx.execute(query)}
    held = {claim.job.id for claim in claims if (row := rows.get(claim.job.id)) and row.token == claim.token}
    return Seen(
        cancelled=frozenset(job_id for job_id in held if rows[job_id].cancel_requested),
        lost=frozenset(set(ids) - held),
    )


def extend(tx: Tx, claims: Sequence[Claim], lease_until: datetime) -> None:
    for one in claims:
        tx.execute(update(jobs).where(_IS_HELD), {**_holder(one), "lease_until": lease_until})


def settle(tx: Tx, claim: Claim, outcome: Outcome, pace: Pace) -> Job:
    """End the claim's attempt; the row comes back queued where it is to be tried again."""
    job = hold(tx, claim)
    match outcome:
        case Succeeded(result=result):
            return _end(tx, job, Status.SUCCEEDED, result=result, progress=1.0, error=None)
        case Failed(message=message):
            return _end(tx, job, Status.FAILED, error=storable(message))
        case Cancelled():
            return _end(tx, job, Status.CANCELLED)
        case Broke(message=message) if job.cancel_requested:
            return _end(tx, job, Status.CANCELLED, error=storable(message))
        case Broke(message=message) if job.attempts >= job.max_attempts:
            return _end(tx, job, Status.FAILED, error=storable(message))
        case Broke(message=message):
            run_at = now() + timedelta(seconds=pace.backoff_s(job.attempts))
            return _requeue(tx, job, run_at=run_at, error=storable(message))
        case GivenBack() if job.cancel_requested:
            return _end(tx, job, Status.CANCELLED)
        case GivenBack():
            return _requeue(tx, job, run_at=now(), attempts=job.attempts - 1)
        case _:
            assert_never(outcome)


def take_back(tx: Tx, job: Job) -> Job:
    """A running job from a worker that fell silent; the caller holds the row's lock."""
    if job.cancel_requested:
        return _end(tx, job, Status.CANCELLED)
    if job.attempts >= job.max_attempts:
        error = f"The worker stopped answering during attempt {job.attempts} of {job.max_attempts}."
        return _end(tx, job, Status.FAILED, error=error)
    return _requeue(tx, job, run_at=now(), error="The worker stopped answering; the job was taken over.")


def list_expired(tx: Tx, at: datetime, *, lock: bool) -> list[Job]:
    return [job_of(row) for row in tx.execute(_EXPIRED_LOCKED if lock else _EXPIRED, {"at": at}).mappings()]


def storable(text: str) -> str:
    """Text that both databases take: no secret, no NUL, no lone surrogate, not endless."""
    clean = blank_secrets(text).encode("utf-8", "replace").decode().replace("\0", "")
    return clean if len(clean) <= _MESSAGE_CHARS else clean[: _MESSAGE_CHARS - 1] + "…"


def job_of(row: Mapping[Any, Any]) -> Job:
    return Job(**{**row, "status": Status(row["status"])})


def _held(tx: Tx, claim: Claim, chosen: Select[Any]) -> RowMapping:
    row = tx.execute(chosen, _holder(claim)).mappings().first()
    if row is None:
        raise JobLost(f"Job {claim.job.id} was taken over by another worker.")
    return row


def _holder(claim: Claim) -> dict[str, str]:
    return {"job": claim.job.id, "holder": claim.token}


def _find_open(tx: Tx, kind: str, dedup_key: str) -> Job | None:
    is_open = jobs.c.status.in_([Status.QUEUED.value, Status.RUNNING.value])
    query = select(*_FIELDS).where(jobs.c.kind == kind, jobs.c.dedup_key == dedup_key, is_open)
    row = tx.execute(query).mappings().first()
    return None if row is None else job_of(row)


def _insert(tx: Tx, values: Mapping[str, Any]) -> Job:
    _INSERT.run(tx, [tuple(values.get(name) for name in _COLUMNS)])
    return job_of({field.name: values.get(field.name) for field in _FIELDS})


def _change(tx: Tx, job: Job, **values: Any) -> Job:
    """The caller holds the row's lock, and `job` is what stands there."""
    tx.execute(_ONE_JOB, {**values, "job": job.id})
    told = {field.name: values.get(field.name, getattr(job, field.name)) for field in _FIELDS}
    return job_of(told)


def _end(tx: Tx, job: Job, status: Status, **values: Any) -> Job:
    return _change(tx, job, status=status.value, token=None, lease_until=None, finished_at=now(), **values)


def _requeue(tx: Tx, job: Job, *, run_at: datetime, **values: Any) -> Job:
    return _change(tx, job, status=Status.QUEUED.value, token=None, lease_until=None, run_at=run_at, **values)
