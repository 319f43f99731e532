"""Telemetry on SQLite: events a second through the recorder, and what one costs on the way.

    python -m benchmarks.telemetry [--events 20000]

One process, a fresh file on this machine's disk, `synchronous=FULL` as served. Events hold a script of 500
characters, a result of 2,000, two upstream calls and one known secret; 200 sessions.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable, Sequence

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.engines.db.database import Database
from ammeter.engines.db.migrate import migrate
from ammeter.engines.redact.redactor import Redactor
from ammeter.features.telemetry import store
from ammeter.features.telemetry.content import Prepared, storable
from ammeter.features.telemetry.model import Call, Event
from ammeter.features.telemetry.recorder import Recorder
from benchmarks.machine import machine

SECRETS = ("Zm9v-bar/known+secret_value==",)
BATCH = 500


def make_event(number: int) -> Event:
    calls = [
        Call(
            operationId=f"invoices.op{number % 7 + i}",
            sdkName=f"client.invoices.op{i}",
            method="GET",
            path=f"/v1/invoices/{number}",
            status=200,
            durationMs=12,
            outcome="ok",
            isWrite=False,
            bytes=900,
        )
        for i in range(2)
    ]
    return Event(
        id=new_id(),
        org_id="org",
        source_id=f"source {number % 3}",
        environment="production",
        key_id="key",
        kind="script",
        at=now(),
        session_id=f"session {number % 200}",
        session_source="header",
        outcome="ok",
        duration_ms=number % 400,
        client_name="agent",
        client_version="1.0",
        protocol_version="2025-11-25",
        request_id=new_id(),
        intent="List the open invoices of a customer",
        context="The user asked for a summary",
        frustration=number % 5,
        code="const page = await client.invoices.list({ limit: 100 });\n" * 9,
        result='{"id":"in_1","customer":"cus_9","total":1200,"status":"open"},' * 32,
        calls=calls,
    )


def cpu_us(work: Callable[[], object], count: int) -> float:
    begun = time.process_time()
    work()
    return (time.process_time() - begun) / count * 1e6


def through_the_recorder(db: Database, events: Sequence[Event]) -> tuple[float, float]:
    """Microseconds that `record` takes, and events a second until all are stored."""
    recorder = Recorder(db, capacity=len(events), capacity_bytes=2**32)

    def record_all() -> None:
        for event in events:
            recorder.record(event, SECRETS)

    record_us = cpu_us(record_all, len(events))
    begun = time.perf_counter()
    recorder.start()
    asyncio.run(recorder.stop())
    assert recorder.figures().stored == {"script": len(events)}
    return record_us, len(events) / (time.perf_counter() - begun)


def insert_all(db: Database, events: Sequence[Event]) -> None:
    for start in range(0, len(events), BATCH):
        with db.write() as tx:
            store.insert_batch(tx, events[start : start + BATCH])


def redaction_ms(text: str) -> float:
    redactor = Redactor(SECRETS)
    return min(cpu_us(lambda: redactor.text(text), 1) for _ in range(20)) / 1e3


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--events", type=int, default=20_000)
    count = options.parse_args().events
    with tempfile.TemporaryDirectory() as folder:
        db = Database(f"sqlite:///{folder}/ammeter.db")
        migrate(db)
        record_us, per_second = through_the_recorder(db, [make_event(number) for number in range(count)])
        few = [make_event(number) for number in range(5 * BATCH)]
        prepared: Prepared = {}
        strip_us = cpu_us(lambda: [storable(event, SECRETS, prepared) for event in few], len(few))
        insert_us = cpu_us(lambda: insert_all(db, few), len(few))
        db.close()
    event = make_event(1)
    print(machine())
    print(f"{count} events of {len(event.code or '') + len(event.result or '')} characters\n")
    print(f"stored                     {per_second:10.0f} events/s, batches of {BATCH}")
    print(f"record, on the event loop  {record_us:10.1f} µs CPU an event")
    print(f"secrets out, in the thread {strip_us:10.1f} µs CPU an event")
    print(f"stored, in the thread      {insert_us:10.1f} µs CPU an event, sums included")
    for name, text in (("code", event.code), ("JSON", event.result)):
        large = ((text or "") * 60)[:30_000]
        print(f"secrets out of 30 KB {name:6}{redaction_ms(large):10.2f} ms CPU")


if __name__ == "__main__":
    main()
