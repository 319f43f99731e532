"""What a session's events say of what was wanted and what was not found. Pure: events in, facts out.

Events may come in any order and twice. The same events always give the same facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from ammeter.features.insights.intents import Form, form_of
from ammeter.features.insights.topic_model import MissReason

MAX_EXAMPLE = 500
_MAX_SHOWN = 5
"""Further down in a list a result that nobody uses says nothing against it."""
_SCRIPTS_LOOKED_AT = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEvent:
    """What is read of a stored event."""

    id: str
    kind: str
    at: datetime
    outcome: str
    intent: str | None = None
    frustration: int | None = None
    query: str | None = None
    result_operations: Sequence[str] = ()
    calls: Sequence[Mapping[str, Any]] = ()
    invented: Sequence[str] = ()


@dataclass(slots=True, kw_only=True)
class Wanted:
    """An intent as one session stated it, in any number of scripts."""

    form: Form
    example: str
    first_at: datetime
    last_at: datetime
    scripts: int = 0
    errors: int = 0
    misses: int = 0
    answered: bool = False
    """A script for it ended well, with a call that the API answered."""
    frustrations: list[int] = field(default_factory=list)
    operations: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    event_id: str
    at: datetime
    reason: MissReason
    query: str
    form: Form
    shown: tuple[str, ...]
    later_used: tuple[str, ...]
    """What the next scripts that ended well called: the answer, perhaps, under another name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    wanted: Sequence[Wanted]
    misses: Sequence[Miss]
    shown: Mapping[str, int]
    """How often the session's searches showed an operation among the best."""
    used: frozenset[str]
    invented: Mapping[str, int]


def read_session(events: Sequence[SeenEvent], *, ended: bool) -> SessionFacts:
    """`ended`: nothing more is expected of it, so that a last search without any use was given up."""
    ordered = sorted({event.id: event for event in events}.values(), key=lambda event: (event.at, event.id))
    carried = [event for event in ordered if event.outcome not in ("refused", "busy")]
    misses = _misses(carried, ended)
    wanted = _wanted(carried, misses) or _looked_for(misses)
    scripts = [event for event in carried if event.kind == "script"]
    return SessionFacts(
        wanted=wanted,
        misses=misses,
        shown=Counter(
            operation
            for event in carried
            if event.kind == "search" and event.outcome == "ok"
            for operation in dict.fromkeys(event.result_operations[:_MAX_SHOWN])
        ),
        used=frozenset(operation for event in scripts for operation in called(event)),
        # A script with an invented name may have been refused for it: it counts all the same.
        invented=Counter(name for event in ordered for name in event.invented if name),
    )


def called(event: SeenEvent, *, well: bool = False) -> list[str]:
    """Operations that a script called; with `well`, those that the API answered with success."""
    return [
        call["operationId"]
        for call in event.calls
        if call.get("operationId") and (not well or call.get("outcome") == "ok")
    ]


def _misses(events: Sequence[SeenEvent], ended: bool) -> list[Miss]:
    found: list[Miss] = []
    # From the end: what follows is known when a search is reached.
    later_use: set[str] = set()
    searched_again = script_followed = False
    next_used: list[tuple[str, ...]] = []
    for event in reversed(events):
        if event.kind == "script":
            later_use.update(called(event))
            script_followed = True
            if event.outcome == "ok":
                next_used = [tuple(called(event, well=True)), *next_used][:_SCRIPTS_LOOKED_AT]
        elif event.kind == "search":
            query = (event.query or "").strip()
            hits = tuple(event.result_operations)
            given_up = ended and not script_followed
            reason: MissReason | None = None
            if event.outcome == "miss" or (event.outcome == "ok" and not hits):
                reason = "no_hit"
            elif event.outcome == "ok" and later_use.isdisjoint(hits) and (searched_again or given_up):
                reason = "unused"
            if reason and query:
                used = dict.fromkeys(one for names in next_used for one in names)
                found.append(
                    Miss(
                        event_id=event.id,
                        at=event.at,
                        reason=reason,
                        query=query,
                        form=form_of(query),
                        shown=hits[:_MAX_SHOWN],
                        later_used=tuple(one for one in used if one not in hits)[:_MAX_SHOWN],
                    )
                )
            searched_again = True
    return found[::-1]


def _wanted(events: Sequence[SeenEvent], misses: Sequence[Miss]) -> list[Wanted]:
    found: dict[str, Wanted] = {}
    for event in events:
        text = (event.intent or "").strip()
        if event.kind != "script" or not text:
            continue
        form = form_of(text)
        if not form.spoken:
            continue
        one = found.get(form.text)
        if one is None:
            one = found[form.text] = Wanted(
                form=form, example=text[:MAX_EXAMPLE], first_at=event.at, last_at=event.at
            )
        one.last_at = event.at
        one.scripts += 1
        one.errors += event.outcome == "error"
        well = called(event, well=True)
        one.answered = one.answered or (event.outcome == "ok" and bool(well))
        one.operations.update(set(well))
        if event.frustration is not None:
            one.frustrations.append(event.frustration)
    _blame(list(found.values()), misses)
    return list(found.values())


def _blame(wanted: Sequence[Wanted], misses: Sequence[Miss]) -> None:
    """A failed search belongs to the intent that was stated next; the last ones to the last intent."""
    ordered = sorted(wanted, key=lambda one: one.last_at)
    for miss in misses:
        if ordered:
            next((one for one in ordered if one.last_at >= miss.at), ordered[-1]).misses += 1


def _looked_for(misses: Sequence[Miss]) -> list[Wanted]:
    """Who stated no intent wanted what was searched for in vain: demand that never came to a script."""
    found: dict[str, Wanted] = {}
    for miss in misses:
        if miss.form.spoken:
            one = found.setdefault(
                miss.form.text,
                Wanted(form=miss.form, example=miss.query[:MAX_EXAMPLE], first_at=miss.at, last_at=miss.at),
            )
            one.last_at = miss.at
            one.misses += 1
    return list(found.values())
