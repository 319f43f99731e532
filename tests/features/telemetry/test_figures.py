"""What the recorder counts is shown to whoever watches the server."""

from __future__ import annotations

from prometheus_client import generate_latest

from ammeter.doors.http.metrics import HttpMetrics
from ammeter.engines.db.database import Database
from ammeter.features.orgs.model import Organization
from tests.features.telemetry.parts import make_event, record_all


def test_the_recorders_figures_stand_among_the_metrics(shared_db: Database, org: Organization) -> None:
    events = [make_event(org.id, intent="password=hunter2"), make_event(org.id, kind="search")]
    recorder = record_all(shared_db, events)
    recorder.record(make_event(org.id))
    metrics = HttpMetrics()
    metrics.watch_telemetry(recorder.figures)
    shown = generate_latest(metrics.registry).decode().splitlines()
    told = [line for line in shown if line.startswith("ammeter_telemetry_")]
    assert told == [
        'ammeter_telemetry_events_total{kind="initialize"} 0.0',
        'ammeter_telemetry_events_total{kind="search"} 1.0',
        'ammeter_telemetry_events_total{kind="script"} 1.0',
        'ammeter_telemetry_dropped_events_total{kind="script",reason="stopped"} 1.0',
        "ammeter_telemetry_content_dropped_events_total 0.0",
        "ammeter_telemetry_secrets_stripped_total 1.0",
        "ammeter_telemetry_failed_writes_total 0.0",
        "ammeter_telemetry_buffered_events 0.0",
        "ammeter_telemetry_buffered_bytes 0.0",
    ]
