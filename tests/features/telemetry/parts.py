"""Events to record, and what is stored of them."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import text

from ammeter.base.clock import from_millis, now, to_millis
from ammeter.base.ids import new_id
from ammeter.engines.db.database import Database
from ammeter.features.telemetry import store
from ammeter.features.telemetry.model import Call, Event, StoredEvent
from ammeter.features.telemetry.recorder import Recorder

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
TABLES = (
    "telemetry_events",
    "telemetry_sessions",
    "telemetry_session_operations",
    "telemetry_operation_days",
    "telemetry_hours",
    "telemetry_days",
)


def make_event(org_id: str, **facts: Any) -> Event:
    given: dict[str, Any] = {
        "id": new_id(),
        "org_id": org_id,
        "source_id": f"source of {org_id}",
        "environment": "production",
        "key_id": f"key of {org_id}",
        "kind": "script",
        "at": now(),
        "session_id": f"session of {org_id}",
        "session_source": "header",
        "outcome": "ok",
        "duration_ms": 12,
    }
    return Event(**given | facts)


def call(operation: str, outcome: str = "ok") -> Call:
    return Call(
        operationId=operation,
        sdkName=operation,
        method="GET",
        path=f"/{operation}",
        status=200 if outcome == "ok" else 500,
        durationMs=3,
        outcome=outcome,
        isWrite=False,
        bytes=20,
    )


def random_events(org_id: str, count: int, seed: int) -> list[Event]:
    """Of some sessions, sources and days, with everything that the sums count."""
    draw = random.Random(seed)
    start = to_millis(now()) - 3 * 86_400_000
    events = []
    for _ in range(count):
        kind = draw.choice(["initialize", "search", "script", "script"])
        outcomes = {"initialize": ["ok", "refused"], "search": ["ok", "miss", "error"]}
        events.append(
            make_event(
                org_id,
                kind=kind,
                source_id=f"{org_id} {draw.randrange(2)}",
                environment=draw.choice(["production", "staging"]),
                session_id=f"{org_id} {draw.randrange(12)}",
                at=from_millis(start + draw.randrange(3 * 86_400_000)),
                outcome=draw.choice(outcomes.get(kind, ["ok", "ok", "error", "busy", "refused"])),
                duration_ms=round(10 ** draw.uniform(0, 5.5)),
                frustration=draw.choice([None, None, 0, 3, 8]),
                calls=[
                    call(f"op{draw.randrange(4)}", draw.choice(["ok", "error"]))
                    for _ in range(draw.randrange(4))
                ],
                flags=draw.choice([(), (), ("blocked_egress",)]),
            )
        )
    return events


def record_all(
    db: Database, events: Iterable[Event], known_secrets: Sequence[str] = (), **options: Any
) -> Recorder:
    """A recorder that has stored these and is stopped."""
    recorder = Recorder(db, **options)
    recorder.start()
    for event in events:
        recorder.record(event, known_secrets)
    asyncio.run(recorder.stop())
    return recorder


def stored_events(db: Database, org_id: str, session_id: str = "") -> list[StoredEvent]:
    with db.read() as tx:
        return store.list_events(tx, org_id, session_id or f"session of {org_id}", limit=10_000)


def every_row(db: Database) -> str:
    """All that telemetry has stored, as one text."""
    with db.read() as tx:
        return "\n".join(str(row) for table in TABLES for row in tx.execute(text(f"SELECT * FROM {table}")))


def minutes(count: float) -> timedelta:
    return timedelta(minutes=count)
