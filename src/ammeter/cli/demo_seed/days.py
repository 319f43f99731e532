"""The demo's telemetry: a date and a number in, the events of one session out, always the same. Pure.

Each session is drawn with a number of its own, so that a smaller data set is a part of a larger one and a
later one holds an earlier one: whatever is there already need not be written again. The first of a day is a
program's, at night; all others are people's agents.
"""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from ammeter.base.clock import to_millis
from ammeter.cli.demo_seed.wishes import (
    CLIENTS,
    CONTEXTS,
    FAILURES,
    NIGHTLY,
    OPERATIONS,
    PROGRAM,
    WISHES,
    Wish,
)
from ammeter.features.telemetry.model import Call, Event, Flag, SessionSource

_SEED = "harbour books"
_SOURCES: tuple[SessionSource, ...] = ("header", "header", "header", "header", "handle", "recent")
# A delivery failed and a best-seller was sold out: for a week, orders fail more often than not.
_BAD_WEEK = range(17, 24)
_DAYS = 90
_NIGHT = time(2, 30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shop:
    """Where the demo's events happen."""

    org_id: str
    source_id: str
    key_ids: Sequence[str]
    bundle_id: str | None = None
    environment: str = "production"


def sessions_of_day(
    shop: Shop, day: date, count: int, *, last_day: date, tasks: float = 1.6, first: int = 0
) -> Iterator[list[Event]]:
    """The events of so many sessions of a day, each in order. `last_day` is the end of the three months,
    towards which some wishes grow; `tasks`: how many a session has on average. The same numbers, which begin
    at `first`, give the same sessions."""
    for number in range(first, first + count):
        yield _Session(shop, day, number, last_day, tasks).events()


class _Session:
    def __init__(self, shop: Shop, day: date, number: int, last_day: date, tasks: float) -> None:
        self._draw = random.Random(f"{_SEED}/{day}/{number}")  # noqa: S311 - made to be repeatable
        self._shop, self._day = shop, day
        self._age = max(0, (last_day - day).days)
        self._more = 1 - 1 / tasks
        self._is_program = number == 0
        name, version, _ = self._draw.choices(CLIENTS, [weight for *_, weight in CLIENTS])[0]
        self._client = PROGRAM if self._is_program else (name, version)
        self._key = shop.key_ids[0] if self._is_program else self._draw.choice(shop.key_ids)
        self._at = self._start()
        self._id = self._new_id()
        self._source = self._draw.choice(_SOURCES)
        self._events: list[Event] = []
        self._mood = 0

    def events(self) -> list[Event]:
        self._add(kind="initialize", outcome="ok", duration_ms=self._draw.randint(2, 20))
        if self._is_program:
            self._task(NIGHTLY)
            return self._events
        while True:
            self._task(self._wish())
            if self._draw.random() >= self._more:
                return self._events

    def _start(self) -> datetime:
        """By day rather than by night; a program's by the clock, some seconds late."""
        if self._is_program:
            late = timedelta(milliseconds=self._draw.randrange(20_000))
            return datetime.combine(self._day, _NIGHT, UTC) + late
        hour = min(23, max(0, round(self._draw.gauss(13.5, 4))))
        minute, second, ms = (self._draw.randrange(60), self._draw.randrange(60), self._draw.randrange(1000))
        return datetime.combine(self._day, time(hour, minute, second, ms * 1000), UTC)

    def _wish(self) -> Wish:
        passed = 1 - self._age / _DAYS
        weights = [wish.weight * (1 + (wish.growth - 1) * max(0.0, passed)) for wish in WISHES]
        return self._draw.choices(WISHES, weights)[0]

    def _task(self, wish: Wish) -> None:
        intent = self._draw.choice(wish.intents)
        if not wish.operations:
            self._in_vain(wish, intent)
            return
        if wish.missed and self._draw.random() < 0.6:
            for query in self._draw.sample(wish.missed, self._draw.randint(1, 2)):
                self._mood = min(10, self._mood + 1)
                self._search(query, ())
        if self._draw.random() < 0.75:
            self._search(self._draw.choice(wish.queries), (*wish.operations, *wish.shown))
        if len(wish.operations) > 1 and self._draw.random() < 0.25:
            self._search(self._draw.choice(wish.queries), (*wish.operations[1:], *wish.shown))
        fails = wish.fails
        if self._age in _BAD_WEEK and "createOrder" in wish.operations:
            fails = 0.65
        failure = self._draw.choice(FAILURES[:3] if self._draw.random() < 0.8 else FAILURES[3:])
        for attempt in range(4):
            if self._draw.random() >= fails:
                self._script(wish, intent, None)
                self._mood = max(0, self._mood - 3)
                return
            self._mood = min(10, self._mood + 2 + attempt)
            self._script(wish, intent, failure)

    def _in_vain(self, wish: Wish, intent: str) -> None:
        """What is not to be had: searches that miss, sometimes a detour, sometimes a name that is made up."""
        for query in self._draw.sample(wish.queries, self._draw.randint(1, len(wish.queries))):
            self._mood = min(10, self._mood + 2)
            hits = wish.shown if wish.shown and self._draw.random() < 0.4 else ()
            self._search(query, hits)
        if self._draw.random() < 0.35:
            name = "shop.orders." + intent.split(maxsplit=1)[0].lower()
            self._add_script(
                intent,
                calls=(),
                failure=("UnknownName", f"The SDK has no {name}", None),
                invented=(name,),
            )

    def _search(self, query: str, hits: Sequence[str]) -> None:
        self._wait(4, 40)
        self._add(
            kind="search",
            outcome="ok" if hits else "miss",
            duration_ms=self._draw.randint(1, 9),
            query=query,
            result_operations=tuple(hits),
            top_score=round(self._draw.uniform(0.55, 0.95), 3) if hits else 0.11,
            bytes_out=400 + 600 * len(hits),
        )

    def _script(self, wish: Wish, intent: str, failure: tuple[str, str, int | None] | None) -> None:
        names = list(wish.operations)
        if failure is None and self._draw.random() < 0.3:
            names += [names[-1]] * self._draw.randint(1, 4)
        calls = [self._call(name) for name in names]
        if failure is not None:
            status = failure[2]
            kind = "error" if status else "timeout" if failure[0] == "Deadline" else "ok"
            calls[-1] = Call(**{**calls[-1], "status": status or calls[-1]["status"], "outcome": kind})
        self._add_script(intent, calls=calls, failure=failure)

    def _add_script(
        self,
        intent: str,
        *,
        calls: Sequence[Call],
        failure: tuple[str, str, int | None] | None,
        invented: Sequence[str] = (),
    ) -> None:
        self._wait(8, 90)
        told = self._is_program or self._draw.random() < 0.85
        context = self._draw.choice(CONTEXTS)
        code = _code(intent if told else "", context, self._mood, calls)
        result = failure[1] if failure else _result(self._draw, calls)
        slow = 30_000 if failure and failure[0] == "Deadline" else 0
        self._add(
            kind="script",
            outcome="error" if failure else "ok",
            duration_ms=slow or sum(call["durationMs"] for call in calls) + self._draw.randint(3, 30),
            error_class=failure[0] if failure else None,
            error_message=failure[1] if failure else None,
            intent=intent if told else None,
            context=context or None if told else None,
            frustration=self._mood if told else None,
            tags={"channel": self._draw.choice(("chat", "till", "nightly"))},
            code=code,
            result=result,
            logs=[{"level": "log", "text": f"{len(calls)} calls"}] if self._draw.random() < 0.3 else (),
            calls=calls,
            invented=invented,
            cpu_ms=round(self._draw.uniform(0.8, 6), 2),
            bytes_in=len(code),
            bytes_out=len(result),
            flags=self._flags(calls),
        )

    def _flags(self, calls: Sequence[Call]) -> tuple[Flag, ...]:
        if any(call["outcome"] == "timeout" and call["isWrite"] for call in calls):
            return ("unknown_outcome_write",)
        lot = self._draw.random()
        return ("blocked_egress",) if lot < 0.004 else ("secret_stripped",) if lot < 0.009 else ()

    def _call(self, name: str) -> Call:
        sdk_name, method, path = OPERATIONS[name]
        return Call(
            operationId=name,
            sdkName=sdk_name,
            method=method,
            path=path,
            status=201 if name.startswith("create") else 200,
            durationMs=min(9_000, round(self._draw.lognormvariate(3.3, 0.8))),
            outcome="ok",
            isWrite=method != "GET",
            bytes=self._draw.randint(200, 6_000),
        )

    def _wait(self, least_s: int, most_s: int) -> None:
        self._at += timedelta(milliseconds=self._draw.randint(least_s * 1000, most_s * 1000))

    def _add(self, **facts: object) -> None:
        given = {
            "id": self._new_id(),
            "org_id": self._shop.org_id,
            "source_id": self._shop.source_id,
            "environment": self._shop.environment,
            "bundle_id": self._shop.bundle_id,
            "key_id": self._key,
            "at": self._at,
            "session_id": self._id,
            "session_source": self._source,
            "client_name": self._client[0],
            "client_version": self._client[1],
            "protocol_version": "2025-11-25",
            "request_id": f"demo-{self._draw.getrandbits(48):012x}",
        }
        self._events.append(Event(**given | facts))  # type: ignore[arg-type]

    def _new_id(self) -> str:
        """A UUIDv7 of the session's time, drawn like everything else."""
        millis, lot = to_millis(self._at), self._draw.getrandbits(74)
        return str(
            uuid.UUID(int=millis << 80 | 0x7 << 76 | (lot >> 62) << 64 | 0x2 << 62 | lot & (2**62 - 1))
        )


def _code(intent: str, context: str, mood: int, calls: Sequence[Call]) -> str:
    header = f"/**\n * @intent {intent}\n * @context {context}\n * @frustration_level {mood}\n */\n"
    lines = [
        f"const answer{number} = await shop.{call['sdkName']}({{}});" for number, call in enumerate(calls)
    ]
    return (header if intent else "") + "\n".join([*lines, "return answer0;" if calls else "return null;"])


def _result(draw: random.Random, calls: Sequence[Call]) -> str:
    rows = ",".join(
        f'{{"id":"bk_{draw.randrange(200):04}","price_cents":{draw.randrange(600, 4900)}}}'
        for _ in range(draw.randint(1, 12))
    )
    return f'{{"calls":{len(calls)},"result":{{"items":[{rows}]}}}}'
