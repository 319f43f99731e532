"""Schedules: rows that enqueue a job whenever their time comes, and the ticker that sees to it.

Rows change on the caller's transaction. Firing is one transaction too: lock the due row, enqueue,
move it on; so each time fires once however many tickers there are. Times that passed while nobody
ticked fire once together, and a schedule whose last job is still open adds no second one. Where a clock was
wrong and is set back, schedules that went ahead with it are counted from now again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import RowMapping, Select, delete, insert, or_, select, update

from ammeter.base.clock import now
from ammeter.base.errors import Unavailable
from ammeter.base.ids import new_id
from ammeter.engines.db.database import Database, Tx
from ammeter.engines.db.tables import schedules
from ammeter.engines.jobs.port import Jobs
from ammeter.engines.jobs.timing import Timing, next_after

log = logging.getLogger(__name__)

_BATCH = 100
_WRONG_CLOCK = timedelta(hours=1)
"""A last time so far ahead was told by a clock that has been set back; nodes do not differ by as much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    id: str
    org_id: str | None
    kind: str
    payload: Mapping[str, Any]
    timing: Timing
    enabled: bool
    next_at: datetime
    last_at: datetime | None


def add_schedule(
    tx: Tx,
    *,
    kind: str,
    payload: Mapping[str, Any],
    timing: Timing,
    org_id: str | None = None,
    enabled: bool = True,
    schedule_id: str | None = None,
) -> Schedule:
    values = {
        "id": schedule_id or new_id(),
        "org_id": org_id,
        "kind": kind,
        "payload": dict(payload),
        "enabled": enabled,
        **_timed(timing),
    }
    return _schedule_of(tx.execute(insert(schedules).values(**values).returning(schedules)).mappings().one())


def update_schedule(
    tx: Tx,
    schedule_id: str,
    *,
    payload: Mapping[str, Any] | None = None,
    timing: Timing | None = None,
    enabled: bool | None = None,
) -> Schedule | None:
    """Change what is given. A new timing, or being enabled again, counts from now: nothing was missed."""
    before = find_schedule(tx, schedule_id, lock=True)
    if before is None:
        return None
    values: dict[str, Any] = {}
    if payload is not None:
        values["payload"] = dict(payload)
    if enabled is not None:
        values["enabled"] = enabled
    if timing is not None or (enabled and not before.enabled):
        values |= _timed(timing or before.timing)
    if not values:
        return before
    changed = update(schedules).where(schedules.c.id == schedule_id).values(**values).returning(schedules)
    return _schedule_of(tx.execute(changed).mappings().one())


def remove_schedule(tx: Tx, schedule_id: str) -> bool:
    return tx.execute(delete(schedules).where(schedules.c.id == schedule_id)).rowcount == 1


def find_schedule(tx: Tx, schedule_id: str, *, lock: bool = False) -> Schedule | None:
    query = select(schedules).where(schedules.c.id == schedule_id)
    row = tx.execute(query.with_for_update() if lock else query).mappings().first()
    return None if row is None else _schedule_of(row)


def fire_due(tx: Tx, jobs: Jobs, at: datetime) -> int:
    """Enqueue the job of every schedule that is due and that no other ticker holds; how many."""
    due = 0
    # Another ticker's rows are skipped, not waited for.
    for row in tx.execute(_due(at).with_for_update(skip_locked=True)).mappings().all():
        changed = update(schedules).where(schedules.c.id == row["id"])
        is_due = row["next_at"] <= at
        due += is_due
        try:
            schedule = _schedule_of(row)
            if is_due:
                _enqueue(tx, jobs, schedule)
            next_at = next_after(schedule.timing, at, slot=schedule.next_at)
        except ValueError:
            # A time zone may vanish from the system's list; the other schedules go on.
            log.exception("a schedule cannot be fired and is disabled", extra={"schedule_id": row["id"]})
            tx.execute(changed.values(enabled=False))
        else:
            tx.execute(changed.values(next_at=next_at, last_at=at))
    return due


class Ticker:
    """Looks every `poll_s` whether a schedule is due; any number of processes may run one."""

    def __init__(self, db: Database, jobs: Jobs, *, poll_s: float = 1.0) -> None:
        self._db = db
        self._jobs = jobs
        self._poll_s = poll_s
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self._task = asyncio.create_task(self._ticking(), name="schedules")

    async def stop(self) -> None:
        self._stopping.set()
        if self._task is not None:
            await self._task

    async def _ticking(self) -> None:
        while not self._stopping.is_set():
            try:
                await self._db.run(self._tick)
            except Unavailable as fault:
                log.warning("schedules are out of reach: %s", fault.message)
            except Exception:
                log.exception("firing schedules failed; the ticker goes on")
            try:
                async with asyncio.timeout(self._poll_s):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    def _tick(self) -> None:
        at = now()
        with self._db.read() as tx:
            if tx.execute(_due(at)).first() is None:
                return
        with self._db.write() as tx:
            fire_due(tx, self._jobs, at)


def _enqueue(tx: Tx, jobs: Jobs, schedule: Schedule) -> None:
    jobs.enqueue(
        tx,
        kind=schedule.kind,
        payload=schedule.payload,
        org_id=schedule.org_id,
        dedup_key=f"schedule:{schedule.id}",
    )


def _due(at: datetime) -> Select[Any]:
    return (
        select(schedules)
        .where(
            schedules.c.enabled,
            or_(schedules.c.next_at <= at, schedules.c.last_at > at + _WRONG_CLOCK),
        )
        .order_by(schedules.c.next_at)
        .limit(_BATCH)
    )


def _timed(timing: Timing) -> dict[str, Any]:
    return {
        "cron": timing.cron,
        "timezone": timing.timezone,
        "every_minutes": timing.every_minutes,
        "next_at": next_after(timing, now()),
    }


def _schedule_of(row: RowMapping) -> Schedule:
    timing = Timing(cron=row["cron"], timezone=row["timezone"], every_minutes=row["every_minutes"])
    names = ("id", "org_id", "kind", "payload", "enabled", "next_at", "last_at")
    return Schedule(timing=timing, **{name: row[name] for name in names})
