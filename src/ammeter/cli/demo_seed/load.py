"""Puts the demo's telemetry into the demo organization, with all its sums, in large batches. Doing it again
adds what is missing and nothing else."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from ammeter.base.clock import now
from ammeter.cli.demo_seed.days import Shop, sessions_of_day
from ammeter.cli.first import DEMO_SLUG
from ammeter.doors.demo_api.names import DEMO_ORG
from ammeter.engines.db.database import Database
from ammeter.features.bundles.service import find_active
from ammeter.features.orgs import service
from ammeter.features.sources.service import get_source
from ammeter.features.telemetry import store
from ammeter.features.telemetry.model import Event

DAYS = 90
FEW_A_DAY = 10
MANY_A_DAY = 60
BATCH = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    days: int
    sessions: int
    events: int


def demo_shop(db: Database) -> Shop:
    """NotFound where there is no demo organization."""
    with db.read() as tx:
        org = service.get_org(tx, DEMO_ORG)
        source = get_source(tx, org.id, DEMO_SLUG)
        active = find_active(tx, source.id, "production")
    keys = [str(uuid.uuid5(uuid.UUID(source.id), f"demo key {number}")) for number in range(12)]
    return Shop(org_id=org.id, source_id=source.id, key_ids=keys, bundle_id=active.id if active else None)


def has_telemetry(db: Database, org_id: str) -> bool:
    with db.read() as tx:
        return store.first_day(tx, org_id) is not None


def seed(
    db: Database,
    *,
    days: int = DAYS,
    a_day: int = MANY_A_DAY,
    at: datetime | None = None,
    told: Callable[[str], None] = lambda words: None,
) -> Seeded:
    """Sessions that ended before now; on weekends there are fewer."""
    at = at or now()
    shop = demo_shop(db)
    sessions = events = 0
    for batch in _batches(_sessions(shop, at, days, a_day)):
        new = _missing(db, batch)
        if new:
            with db.write() as tx:
                store.insert_batch(tx, new)
        sessions += len({event.session_id for event in new})
        events += len(new)
        told(f"{events} events of {sessions} sessions, up to {batch[-1].at:%Y-%m-%d}")
    return Seeded(days=days, sessions=sessions, events=events)


def _sessions(shop: Shop, at: datetime, days: int, a_day: int) -> Iterator[list[Event]]:
    last = at.date()
    for age in range(days - 1, -1, -1):
        day = last - timedelta(days=age)
        count = a_day if day.weekday() < 5 else a_day * 2 // 5
        made = sessions_of_day(shop, day, count, last_day=last)
        # In the order of their beginnings: whoever states an intent first is no repeat.
        yield from sorted((events for events in made if events[-1].at < at), key=lambda events: events[0].at)


def _batches(sessions: Iterable[list[Event]]) -> Iterator[list[Event]]:
    batch: list[Event] = []
    for events in sessions:
        batch += events
        if len(batch) >= BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def _missing(db: Database, events: list[Event]) -> list[Event]:
    """Whole sessions are stored together: their first event tells."""
    firsts = {event.session_id: event.id for event in reversed(events)}
    with db.read() as tx:
        known = store.stored_ids(tx, list(firsts.values()))
    return [event for event in events if firsts[event.session_id] not in known]
