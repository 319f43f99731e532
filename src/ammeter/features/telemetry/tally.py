"""What a batch of events adds to the sums: counters of sessions, hours, days and operations. Pure.

`Counts` are column by column what is added; the store adds them to what is there. The same functions
count what is stored anew, so that the sums can be checked.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, Literal

from ammeter.base.clock import from_millis, to_millis
from ammeter.features.telemetry.model import FLAGS, Event

Counts = dict[str, int]
Row = dict[str, Any]
Bucket = Literal["hour", "day"]

DURATION_BOUNDS_MS = (5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 60_000)
DURATIONS = (*(f"ms_{bound}" for bound in DURATION_BOUNDS_MS), "ms_more")
WIDTH: dict[Bucket, timedelta] = {"hour": timedelta(hours=1), "day": timedelta(days=1)}

_SHARED = ("scripts", "script_errors", "searches", "search_misses", "calls")
_STATED = ("frustration_sum", "frustration_count")
SESSION_COUNTS = ("events", *_SHARED, "errors", *_STATED, *FLAGS)
ROLL_UP_COUNTS = (
    *("sessions", "strained_sessions", "sessions_with_intent"),
    *("refused", "first_scripts", "first_script_successes"),
    *_SHARED,
    *_STATED,
    *DURATIONS,
)
_PLACE = ("org_id", "source_id", "environment", "at")
_NOT_CARRIED_OUT = ("refused", "busy")
_HOUR_MS = 3_600_000
_DAY_MS = 24 * _HOUR_MS
USE_COUNTS = ("scripts", "sessions", "calls", "errors")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionChange:
    """What events made of a session, as far as the bucket that it is counted in tells it: one more or one
    less."""

    place: tuple[str, str, str]
    counted_at: datetime
    strained: int
    with_intent: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """Events in the order in which they happened, and the ids of those that come first in their session."""

    events: Sequence[Event]
    starting: Set[str]
    first_scripts: Set[str]


def bucket_start(at: datetime, bucket: Bucket) -> datetime:
    width = WIDTH[bucket] // timedelta(milliseconds=1)
    return from_millis(to_millis(at) // width * width)


def was_carried_out(event: Event) -> bool:
    return event.outcome not in _NOT_CARRIED_OUT


def ran_script(event: Event) -> bool:
    return event.kind == "script" and event.outcome not in _NOT_CARRIED_OUT


def _count(row: Row, event: Event, script: bool) -> None:
    """What a session's and a bucket's counters have in common."""
    outcome = event.outcome
    if script:
        row["scripts"] += 1
        row["script_errors"] += outcome == "error"
    elif event.kind == "search" and was_carried_out(event):
        row["searches"] += 1
        row["search_misses"] += outcome == "miss"
    if event.calls:
        row["calls"] += len(event.calls)
    if event.frustration is not None:
        row["frustration_sum"] += event.frustration
        row["frustration_count"] += 1


def tally_sessions(events: Sequence[Event]) -> list[Row]:
    """A row for each session, in the order of ids: whoever locks several rows does so in one order."""
    rows: dict[str, Row] = {}
    for event in events:
        row = rows.get(event.session_id)
        if row is None:
            row = rows[event.session_id] = _new_session(event)
        _count(row, event, ran_script(event))
        row["events"] += 1
        row["errors"] += event.outcome == "error"
        for flag in event.flags:
            row[flag] += 1
        if event.at < row["started_at"]:
            row["started_at"] = row["counted_at"] = event.at
        row["last_event_at"] = max(row["last_event_at"], event.at)
        if event.frustration is not None:
            row["frustration_max"] = max(event.frustration, row["frustration_max"] or 0)
    return [rows[session_id] for session_id in sorted(rows)]


def _new_session(event: Event) -> Row:
    return {
        "id": event.session_id,
        "org_id": event.org_id,
        "source_id": event.source_id,
        "environment": event.environment,
        "key_id": event.key_id,
        "client_name": event.client_name,
        "client_version": event.client_version,
        "session_source": event.session_source,
        "trace_id": event.trace_id,
        "started_at": event.at,
        "last_event_at": event.at,
        "counted_at": event.at,
        "frustration_max": None,
        "flagged_by_person": False,
        **dict.fromkeys(SESSION_COUNTS, 0),
    }


def placed(events: Iterable[Event], before: Mapping[str, tuple[int, int]]) -> Placed:
    """`before`: how many events and scripts a session had."""
    in_order = sorted(events, key=attrgetter("at", "id"))
    without_events = {session_id for session_id, (count, _) in before.items() if not count}
    without_scripts = {session_id for session_id, (_, scripts) in before.items() if not scripts}
    starting, first_scripts = set[str](), set[str]()
    for event in in_order:
        session_id = event.session_id
        if session_id in without_events:
            without_events.remove(session_id)
            starting.add(event.id)
        if session_id in without_scripts and ran_script(event):
            without_scripts.remove(session_id)
            first_scripts.add(event.id)
    return Placed(events=in_order, starting=starting, first_scripts=first_scripts)


def tally_hours(placed: Placed, became: Iterable[SessionChange] = ()) -> list[Row]:
    rows: dict[tuple[str, str, str, int], Counts] = {}

    def counts_of(place: tuple[str, str, str], at: datetime) -> Counts:
        key = (*place, to_millis(at) // _HOUR_MS)
        return rows.get(key) or rows.setdefault(key, dict.fromkeys(ROLL_UP_COUNTS, 0))

    for event in placed.events:
        script = ran_script(event)
        counts = counts_of((event.org_id, event.source_id, event.environment), event.at)
        _count(counts, event, script)
        counts["sessions"] += event.id in placed.starting
        if script:
            counts[duration_column(event.duration_ms)] += 1
            if event.id in placed.first_scripts:
                counts["first_scripts"] += 1
                counts["first_script_successes"] += event.outcome == "ok"
        elif not was_carried_out(event):
            counts["refused"] += 1
    for change in became:
        counts = counts_of(change.place, change.counted_at)
        counts["strained_sessions"] += change.strained
        counts["sessions_with_intent"] += change.with_intent
    return [
        dict(zip(_PLACE, (*place, from_millis(hour * _HOUR_MS)), strict=True)) | counts
        for (*place, hour), counts in sorted(rows.items())
    ]


def tally_days(hours: Iterable[Row]) -> list[Row]:
    rows: dict[tuple[str, ...], Row] = {}
    for hour in hours:
        day: Row = {**hour, "at": bucket_start(hour["at"], "day")}
        key = tuple(day[name] for name in _PLACE)
        if key in rows:
            _add(rows[key], {name: day[name] for name in ROLL_UP_COUNTS})
        else:
            rows[key] = day
    return [rows[key] for key in sorted(rows)]


def duration_column(duration_ms: int) -> str:
    return DURATIONS[bisect_left(DURATION_BOUNDS_MS, duration_ms)]


def session_operations(events: Iterable[Event]) -> list[tuple[str, str]]:
    """Which session called which operation, each pair once."""
    return sorted(
        {
            (event.session_id, name)
            for event in events
            for call in event.calls
            if (name := call.get("operationId"))
        }
    )


def tally_use(events: Iterable[Event], new_pairs: set[tuple[str, str]]) -> list[Row]:
    """Use of operations by day. A session counts on the day on which it first called the operation:
    `new_pairs` are the sessions and operations that were not there before."""
    rows: dict[tuple[str, str, str, int], Row] = {}
    left = set(new_pairs)
    for event in events:
        if not event.calls:
            continue
        day = to_millis(event.at) // _DAY_MS
        seen: set[str] = set()
        for call in event.calls:
            name = call.get("operationId")
            if not name:
                continue
            key = (event.source_id, event.environment, name, day)
            row = rows.get(key)
            if row is None:
                row = rows[key] = {"org_id": event.org_id, **dict.fromkeys(USE_COUNTS, 0)}
            row["calls"] += 1
            row["errors"] += call.get("outcome") != "ok"
            if name not in seen:
                seen.add(name)
                row["scripts"] += 1
                if (event.session_id, name) in left:
                    left.remove((event.session_id, name))
                    row["sessions"] += 1
    names = ("source_id", "environment", "operation_id", "at")
    return [
        dict(zip(names, (*place, from_millis(day * _DAY_MS)), strict=True)) | row
        for (*place, day), row in sorted(rows.items(), key=lambda item: item[0])
    ]


def _add(row: Row, counts: Counts) -> None:
    for name, count in counts.items():
        row[name] += count


def median_ms(counts: Sequence[int]) -> float | None:
    """The median that a histogram with our bounds tells of, taken to lie evenly within its bucket."""
    total = sum(counts)
    below = 0
    for count, low, high in zip(counts, (0, *DURATION_BOUNDS_MS), (*DURATION_BOUNDS_MS, None), strict=True):
        if count and 2 * (below + count) >= total:
            return float(low) if high is None else low + (high - low) * (total / 2 - below) / count
        below += count
    return None
