"""What a session's events tell one after another: intents, searches that led nowhere, signs of trouble. Pure.

A Trail is what must be remembered of a session to go on when more of its events come; it is small,
whatever the session's length, and is kept beside the session's counters. Events are followed in the order
in which they are stored.

A search is `missed` without a good hit; with hits it is `open` until something follows, `passed` once a
script followed that uses none of them, `unused` once the agent searches again. A script that uses one of
the hits settles it. What counts as a failed search is told by `FAILED` and, for a session that is over,
`FAILED_AT_THE_END`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from functools import lru_cache
from hashlib import blake2b
from typing import Any, Literal

from ammeter.features.telemetry.model import Event
from ammeter.features.telemetry.tally import was_carried_out

SearchState = Literal["missed", "open", "passed", "unused", "used"]
FAILED: tuple[SearchState, ...] = ("missed", "unused")
FAILED_AT_THE_END: SearchState = "open"
SEARCHES_IN_A_ROW = 3
"""So many without a script between them are a sign of trouble."""

_MOST_INTENTS = 20
_MOST_REMEMBERED = 50
_MOST_WAITING = 10


@dataclass(slots=True, kw_only=True)
class Waiting:
    """A search whose hits no script has used yet."""

    key: str
    operations: list[str]
    state: SearchState


@dataclass(slots=True, kw_only=True)
class Trail:
    intents: list[str] = field(default_factory=list)
    """As the agent wrote them, each once, the first ones."""
    searched_again: bool = False
    """The same query twice, or several searches in a row without a script."""
    repeated_failure: bool = False
    """A script failed as an earlier one of the session had."""
    gave_up: bool = False
    """A search missed, and nothing but searches came after it so far."""
    searches_in_a_row: int = 0
    queries: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    waiting: list[Waiting] = field(default_factory=list)


_KEPT = tuple(each.name for each in fields(Trail) if each.name != "waiting")


@dataclass(slots=True, kw_only=True)
class Followed:
    """What the events of a batch add to a session."""

    trail: Trail
    new_intents: dict[str, str] = field(default_factory=dict)
    """By key, as the agent wrote them."""
    searches: dict[str, tuple[str, SearchState]] = field(default_factory=dict)
    """By key: the text where it is known from this batch, else empty, and what has become of it."""


@lru_cache(maxsize=4_096)
def key_of(words: str) -> str:
    """The same for texts that differ in case and spaces only."""
    return blake2b(" ".join(words.casefold().split()).encode(), digest_size=12).hexdigest()


def exact_key_of(words: str) -> str:
    return blake2b(words.encode(), digest_size=12).hexdigest()


def follow(trail: Trail, events: Iterable[Event]) -> Followed:
    """The trail after these events, which are in order; the one given is changed."""
    followed = Followed(trail=trail)
    for event in events:
        if event.intent and len(trail.intents) < _MOST_INTENTS:
            _note_intent(followed, event.intent)
        if not was_carried_out(event):
            continue
        if event.kind == "search":
            _search(followed, event)
        elif event.kind == "script":
            _script(followed, event)
    return followed


def _note_intent(followed: Followed, intent: str) -> None:
    trail, key = followed.trail, key_of(intent)
    if intent not in trail.intents and all(key_of(known) != key for known in trail.intents):
        trail.intents.append(intent)
        followed.new_intents[key] = intent


def _search(followed: Followed, event: Event) -> None:
    trail, query = followed.trail, event.query or ""
    trail.searches_in_a_row += 1
    same = key_of(query)
    trail.searched_again |= same in trail.queries or trail.searches_in_a_row >= SEARCHES_IN_A_ROW
    _remember(trail.queries, same)
    for waiting in trail.waiting:
        if waiting.state != "unused":
            waiting.state = "unused"
            _settle(followed, waiting.key, waiting.state)
    missed = event.outcome == "miss"
    trail.gave_up |= missed
    if not query or event.outcome not in ("ok", "miss"):
        return
    key = exact_key_of(query)
    followed.searches[key] = (query, "missed" if missed else "open")
    if not missed:
        trail.waiting.append(Waiting(key=key, operations=list(event.result_operations), state="open"))
        del trail.waiting[:-_MOST_WAITING]


def _script(followed: Followed, event: Event) -> None:
    trail = followed.trail
    trail.searches_in_a_row, trail.gave_up = 0, False
    called = {name for call in event.calls if (name := call.get("operationId"))}
    for waiting in trail.waiting:
        if not called.isdisjoint(waiting.operations):
            waiting.state = "used"
            _settle(followed, waiting.key, "used")
        elif waiting.state == "open":
            waiting.state = "passed"
            _settle(followed, waiting.key, "passed")
    trail.waiting = [waiting for waiting in trail.waiting if waiting.state != "used"]
    if event.outcome == "error":
        failure = failure_of(event)
        trail.repeated_failure |= failure in trail.failures
        _remember(trail.failures, failure)


def failure_of(event: Event) -> str:
    """Two scripts fail alike if the same calls failed with the same status, or, where no call failed, with
    the same message."""
    calls = sorted(
        {
            f"{call.get('operationId')} {call.get('status')} {call.get('outcome')}"
            for call in event.calls
            if call.get("outcome") != "ok"
        }
    )
    return key_of("\n".join(calls) if calls else f"{event.error_class} {event.error_message}")


def _settle(followed: Followed, key: str, state: SearchState) -> None:
    words = followed.searches.get(key, ("", state))[0]
    followed.searches[key] = (words, state)


def _remember(keys: list[str], key: str) -> None:
    if key not in keys:
        keys.append(key)
        del keys[:-_MOST_REMEMBERED]


def to_json(trail: Trail) -> dict[str, Any]:
    """Without what is as it was at the beginning."""
    kept = {name: value for name in _KEPT if (value := getattr(trail, name))}
    if trail.waiting:
        kept["waiting"] = [[each.key, each.operations, each.state] for each in trail.waiting]
    return kept


def from_json(kept: dict[str, Any]) -> Trail:
    waiting = [
        Waiting(key=key, operations=operations, state=state)
        for key, operations, state in kept.get("waiting", ())
    ]
    return Trail(**{**kept, "waiting": waiting})
