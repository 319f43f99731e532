"""Telemetry of the demo's kind for any organization, and its recount in plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.cli.demo_seed.days import Shop, sessions_of_day
from ammeter.engines.db.database import Database
from ammeter.features.telemetry import store
from ammeter.features.telemetry.model import Event

SPANS = {
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
    "90d": timedelta(days=90),
}
LAST_DAY = date(2026, 3, 5)
AGES = (*range(10), 13, 16, 20, 21, 33, 47, 61, 62, 88, 95, 120, 170)


@dataclass(frozen=True, slots=True)
class Told:
    """Sessions that were stored, each as its events in order; the earliest session first."""

    sessions: Sequence[Sequence[Event]]

    @property
    def events(self) -> list[Event]:
        return [event for session in self.sessions for event in session]

    def started(self, since: datetime, until: datetime) -> list[Sequence[Event]]:
        return [events for events in self.sessions if since <= events[0].at < until]

    def heard_of(self, since: datetime) -> list[Sequence[Event]]:
        """As lists show them: with an event since then, the latest first."""
        found = [events for events in self.sessions if events[-1].at >= since]
        return sorted(found, key=lambda events: (events[-1].at, events[0].session_id), reverse=True)


def tell(db: Database, org_id: str, *, a_day: int = 9, source_ids: Sequence[str] = ()) -> Told:
    """Store some sessions of the last months, spread over the sources."""
    at = now()
    sources = source_ids or (new_id(),)
    keys = [new_id() for _ in range(3)]
    sessions: list[list[Event]] = []
    for age in AGES:
        shop = Shop(org_id=org_id, source_id=sources[age % len(sources)], key_ids=keys)
        sessions += sessions_of_day(shop, LAST_DAY - timedelta(days=age), a_day, last_day=LAST_DAY)
    # Drawn for the same days every time, so that tests find today what they found yesterday.
    shift = timedelta(days=(at.date() - LAST_DAY).days)
    sessions = [_moved(events, shift) for events in sessions if events[-1].at + shift < at]
    sessions.sort(key=lambda events: events[0].at)
    events = [event for session in sessions for event in session]
    for start in range(0, len(events), 400):
        with db.write() as tx:
            store.insert_batch(tx, events[start : start + 400])
    return Told(sessions)


def _moved(events: Sequence[Event], shift: timedelta) -> list[Event]:
    """With ids of their own: in a shared database another test has told the same."""
    session_id = new_id()
    return [replace(event, id=new_id(), session_id=session_id, at=event.at + shift) for event in events]


def since_of(within: str, until: datetime) -> datetime:
    """The whole hour or day that holds the instant so long ago."""
    begun = (until - SPANS[within]).replace(minute=0, second=0, microsecond=0)
    return begun if within in ("24h", "7d") else begun.replace(hour=0)


def scripts(events: Iterable[Event]) -> list[Event]:
    return [event for event in events if event.kind == "script"]


def searches(events: Iterable[Event]) -> list[Event]:
    return [event for event in events if event.kind == "search"]


def signals(events: Sequence[Event]) -> set[str]:
    found = set()
    queries = [(event.query or "").lower() for event in searches(events)]
    if len(set(queries)) < len(queries) or "sss" in _kinds(events):
        found.add("searched_again")
    if len({_failure(event) for event in _failed(events)}) < len(_failed(events)):
        found.add("repeated_failure")
    after_last_script = events[max((i + 1 for i, e in enumerate(events) if e.kind == "script"), default=0) :]
    if any(event.outcome == "miss" for event in after_last_script):
        found.add("gave_up")
    return found


def _kinds(events: Sequence[Event]) -> str:
    return "".join({"search": "s", "script": "x"}.get(event.kind, "") for event in events)


def _failed(events: Sequence[Event]) -> list[Event]:
    return [event for event in scripts(events) if event.outcome == "error"]


def _failure(event: Event) -> tuple[object, ...]:
    calls = {(c["operationId"], c["status"], c["outcome"]) for c in event.calls if c["outcome"] != "ok"}
    return tuple(sorted(calls, key=str)) or (event.error_class, event.error_message)


def strained(events: Sequence[Event]) -> bool:
    return bool(signals(events)) or any((event.frustration or 0) >= 7 for event in events)


def repeats(told: Told) -> set[str]:
    """Sessions with an intent that an earlier one of the same source and key or client had."""
    found, seen = set(), set[tuple[str, ...]]()
    for events in told.sessions:
        first = events[0]
        askers = (first.key_id, f"{first.client_name} {first.client_version}")
        mine = {
            (first.source_id, asker, event.intent.lower())
            for event in events
            if event.intent
            for asker in askers
        }
        if mine & seen:
            found.add(first.session_id)
        seen |= mine
    return found


def failed_searches(events: Sequence[Event], *, over: bool) -> set[str]:
    """By the rule: no good hit; or no later script uses a hit, and the agent searches again or gives up."""
    found = set()
    for place, event in enumerate(events):
        if event.kind != "search":
            continue
        later = events[place + 1 :]
        used = any(
            call["operationId"] in event.result_operations for each in scripts(later) for call in each.calls
        )
        again, gave_up = bool(searches(later)), over and not scripts(later)
        if event.outcome == "miss" or (not used and (again or gave_up)):
            found.add(event.query or "")
        else:
            found.discard(event.query or "")
    return found
