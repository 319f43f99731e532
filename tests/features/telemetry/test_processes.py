"""A recording process is killed, and one is stopped: at most the last second is lost, and nothing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from sqlalchemy import text

from ammeter.engines.db.database import Database
from ammeter.features.telemetry import session_store, store
from tests.features.telemetry.parts import LONG_AGO

ROOT = Path(__file__).parents[3]


def record_until(db: Database, events: int, end: signal.Signals) -> tuple[dict[str, float], set[str]]:
    """What the process told that it recorded, and when; and what is stored."""
    command = [sys.executable, "-m", "tests.features.telemetry.recording_process", db.url]
    told: dict[str, float] = {}
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if not line.endswith("\n"):
                break
            event_id, at = line.split()
            told[event_id] = float(at)
            if len(told) == events:
                process.send_signal(end)
    with db.read() as tx:
        return told, set(tx.scalars(text("SELECT id FROM telemetry_events")))


def test_a_kill_loses_at_most_the_last_second(db: Database) -> None:
    told, stored = record_until(db, 300, signal.SIGKILL)
    killed_at = max(told.values())
    old = {event_id for event_id, at in told.items() if at < killed_at - 1.0}
    assert old
    assert old <= stored
    with db.read() as tx:
        (session,) = session_store.list_sessions(tx, "o", since=LONG_AGO).rows
        (day, *later) = store.sums(tx, "o", "day", since=LONG_AGO, until=session.last_event_at)
    # Events and sums come and go together.
    assert session.events == day["scripts"] + sum(row["scripts"] for row in later) == len(stored)


def test_a_stop_loses_nothing(db: Database) -> None:
    told, stored = record_until(db, 30, signal.SIGTERM)
    assert len(told) >= 30
    assert told.keys() == stored
