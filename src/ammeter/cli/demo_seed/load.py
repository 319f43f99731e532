"""Puts the demo's telemetry into the demo organization, with all its sums, in large batches. Doing it again
adds what is missing and nothing else."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event as Signal

from ammeter.base.clock import now
from ammeter.cli.demo_seed.days import Shop, sessions_of_day
from ammeter.cli.demo_seed.wishes import WISHES
from ammeter.cli.first import DEMO_SLUG
from ammeter.cli.house import operator
from ammeter.doors.demo_api.names import DEMO_ORG
from ammeter.engines.db.database import Database, Tx
from ammeter.features.bundles.service import find_active
from ammeter.features.insights.refresh_store import Superseded
from ammeter.features.insights.service import change_topic
from ammeter.features.insights.topic_store import list_topics
from ammeter.features.orgs import service
from ammeter.features.sources.service import get_source
from ammeter.features.telemetry import store
from ammeter.features.telemetry.model import Event
from ammeter.wiring import House

DAYS = 90
FEW_A_DAY = 10
MANY_A_DAY = 60
BATCH = 20_000
SMALL_BATCH = 300

log = logging.getLogger("ammeter.demo_seed")


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


def seed(db: Database, *, days: int = DAYS, a_day: int = MANY_A_DAY, at: datetime | None = None) -> Seeded:
    """All of it at once."""
    sessions = events = 0
    for new in steps(db, days=days, a_day=a_day, at=at or now()):
        sessions += len({event.session_id for event in new})
        events += len(new)
    return Seeded(days=days, sessions=sessions, events=events)


def steps(db: Database, *, days: int, a_day: int, at: datetime, batch: int = BATCH) -> Iterator[list[Event]]:
    """What each batch has added. Sessions that ended before `at`; on weekends there are fewer."""
    shop = demo_shop(db)
    for events in _batches(_sessions(shop, at, days, a_day), batch):
        new = _missing(db, events)
        if new:
            with db.write() as tx:
                store.insert_batch(tx, new)
        yield new


def show_insights(
    house: House, org_id: str, *, name_topics: bool, stopped: Callable[[], bool] = lambda: False
) -> None:
    """Topics and clusters of it, made at once rather than by a worker: only then can topics be called what a
    person calls them. Where a worker's refresh began meanwhile, or the server stops, a worker's goes on."""
    # Imported here: numpy and the embedding are for a demo that has just been filled.
    from ammeter.features.insights.refresh import refresh

    def check(_: Tx) -> None:
        if stopped():
            raise Superseded

    keep_days = house.settings.telemetry_retention_days
    try:
        refresh(house.db, house.blobs, org_id, keep_days=keep_days, check=check)
    except Superseded:
        return
    if name_topics:
        _name_topics(house.db, org_id)


def _name_topics(db: Database, org_id: str) -> None:
    names = {intent: wish.label for wish in WISHES if wish.label for intent in wish.intents}
    with db.write() as tx:
        org = service.get_org(tx, DEMO_ORG)
        for topic in list_topics(tx, org_id, since=now() - timedelta(days=DAYS), limit=200):
            label = next((names[one] for one in topic.example_intents if one in names), None)
            if label is not None:
                change_topic(tx, operator(), org, topic.id, label=label)
                # The largest topic of a wish gets its name, and no other.
                names = {intent: name for intent, name in names.items() if name != label}


async def seed_beside(house: House) -> None:
    """A small part of it, beside a server that runs, unless the demo has telemetry. Batch by batch, so that
    nobody waits long and a stop does not wait for the end; a failure is logged, and the server goes on."""
    stopped = Signal()
    try:
        shop = await house.db.run(demo_shop, house.db)
        if await house.db.run(has_telemetry, house.db, shop.org_id):
            return
        added = steps(house.db, days=DAYS, a_day=FEW_A_DAY, at=now(), batch=SMALL_BATCH)
        count = 0
        while (new := await house.db.run(next, added, None)) is not None:
            count += len(new)
        await house.db.run(show_insights, house, shop.org_id, name_topics=True, stopped=stopped.is_set)
        log.info("the demo has telemetry: %d events of three months", count)
    except Exception:
        log.exception("the demo has no telemetry")
    finally:
        stopped.set()


def _sessions(shop: Shop, at: datetime, days: int, a_day: int) -> Iterator[list[Event]]:
    last = at.date()
    for age in range(days - 1, -1, -1):
        day = last - timedelta(days=age)
        count = a_day if day.weekday() < 5 else a_day * 2 // 5
        made = sessions_of_day(shop, day, count, last_day=last)
        # In the order of their beginnings: whoever states an intent first is no repeat.
        yield from sorted((events for events in made if events[-1].at < at), key=lambda events: events[0].at)


def _batches(sessions: Iterable[list[Event]], size: int) -> Iterator[list[Event]]:
    batch: list[Event] = []
    for events in sessions:
        batch += events
        if len(batch) >= size:
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
