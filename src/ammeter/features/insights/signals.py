"""What the events of one session say about how it fared: stated frustration, behaviour, flags. Pure.

What an agent says of its frustration and what it does are kept apart: either may be there without the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from ammeter.features.telemetry.model import HIGH_FRUSTRATION, SIGNALS, Event, Flag, Signal
from ammeter.features.telemetry.trail import (
    FAILED,
    FAILED_AT_THE_END,
    SearchState,
    Trail,
    exact_key_of,
    follow,
)

ClassificationKind = Literal["frustration", "signal", "failed_search", "flag", "repeat", "topic"]

SIGNAL_WORDS: dict[Signal, str] = {
    "searched_again": "searched for the same again, or three times without running a script",
    "repeated_failure": "a script failed in the same way as one before it",
    "gave_up": "no script came after a search without a good hit",
}
FLAG_WORDS: dict[Flag, str] = {
    "blocked_egress": "a call to a host other than the API's was blocked",
    "secret_stripped": "a secret was taken out of what the agent sent or saw",
    "unknown_outcome_write": "nobody knows whether a write was carried out",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    kind: ClassificationKind
    label: str
    text: str
    event_id: str | None = None
    """Where it first holds; None where it is said of the whole session."""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchFate:
    """What became of a search: `missed`, `used`, `unused`, `passed` (scripts did without it) or `open`."""

    event: Event
    state: SearchState
    failed: bool


def classify(events: Sequence[Event], searches: Sequence[SearchFate]) -> list[Classification]:
    found = [*_stated(events), *_behaviour(events), *_flags(events)]
    found += [
        Classification(
            kind="failed_search",
            label=fate.state,
            text=fate.event.query or "",
            event_id=fate.event.id,
            at=fate.event.at,
        )
        for fate in searches
        if fate.failed
    ]
    order = {event.id: number for number, event in enumerate(events)}
    return sorted(found, key=lambda each: order[each.event_id or ""])


def search_fates(events: Sequence[Event], *, over: bool) -> list[SearchFate]:
    """Of each search that was carried out; `over`: nothing more is expected of the session."""
    trail, states = Trail(), dict[str, SearchState]()
    for event in events:
        for key, (_, state) in follow(trail, [event]).searches.items():
            states[key] = state
    searches = [event for event in events if event.kind == "search" and event.outcome in ("ok", "miss")]
    fates = []
    for event in searches:
        state = states.get(exact_key_of(event.query or ""), "open")
        failed = state in FAILED or (over and state == FAILED_AT_THE_END)
        fates.append(SearchFate(event=event, state=state, failed=failed))
    return fates


def _stated(events: Sequence[Event]) -> list[Classification]:
    return [
        Classification(
            kind="frustration",
            label="high" if event.frustration >= HIGH_FRUSTRATION else "stated",
            text=f"the agent stated a frustration of {event.frustration} of 10",
            event_id=event.id,
            at=event.at,
        )
        for event in events
        if event.frustration is not None
    ]


def _behaviour(events: Sequence[Event]) -> list[Classification]:
    trail, since = Trail(), dict[Signal, Event]()
    for event in events:
        follow(trail, [event])
        for signal in SIGNALS:
            if not getattr(trail, signal):
                since.pop(signal, None)
            elif signal not in since:
                since[signal] = event
    return [
        Classification(kind="signal", label=signal, text=SIGNAL_WORDS[signal], event_id=event.id, at=event.at)
        for signal, event in since.items()
    ]


def _flags(events: Sequence[Event]) -> list[Classification]:
    return [
        Classification(kind="flag", label=flag, text=FLAG_WORDS[flag], event_id=event.id, at=event.at)
        for event in events
        for flag in event.flags
    ]
