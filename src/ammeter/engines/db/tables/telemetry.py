"""What happened at hosted endpoints: events, sessions, what is counted of them."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    Table,
    Text,
    false,
)

from ammeter.engines.db.dialects import partial_index
from ammeter.engines.db.tables.columns import id_column, metadata
from ammeter.engines.db.types import Instant

telemetry_events = Table(
    "telemetry_events",
    metadata,
    # No foreign keys: a batch is not refused because one of its sources has gone.
    id_column(),
    Column("org_id", Text, nullable=False),
    Column("source_id", Text, nullable=False),
    Column("environment", Text, nullable=False),
    Column("bundle_id", Text),
    Column("key_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("at", Instant, nullable=False, index=True),
    Column("session_id", Text, nullable=False),
    Column("session_source", Text, nullable=False),
    Column("starts_session", Boolean, nullable=False),
    Column("first_script", Boolean, nullable=False),
    Column("trace_id", Text),
    Column("client_name", Text, nullable=False),
    Column("client_version", Text, nullable=False),
    Column("protocol_version", Text, nullable=False),
    Column("request_id", Text, nullable=False),
    Column("duration_ms", Integer, nullable=False),
    Column("outcome", Text, nullable=False),
    Column("error_class", Text),
    Column("error_message", Text),
    Column("intent", Text),
    Column("context", Text),
    Column("frustration", Integer),
    Column("frustration_text", Text),
    Column("tags", JSON, nullable=False),
    Column("query", Text),
    Column("result_operations", JSON, nullable=False),
    Column("top_score", Double),
    Column("code", Text),
    Column("result", Text),
    Column("logs", JSON, nullable=False),
    Column("calls", JSON, nullable=False),
    Column("invented", JSON, nullable=False),
    Column("cpu_ms", Double),
    Column("bytes_in", BigInteger, nullable=False),
    Column("bytes_out", BigInteger, nullable=False),
    Column("truncated", Boolean, nullable=False),
    Column("secrets_stripped", Integer, nullable=False),
    Column("flags", JSON, nullable=False),
    Column("content_dropped", Boolean, nullable=False),
    Index(None, "org_id", "at"),
    Index(None, "session_id", "id"),
)

telemetry_sessions = Table(
    "telemetry_sessions",
    metadata,
    id_column(),
    Column("org_id", Text, nullable=False),
    Column("source_id", Text, nullable=False),
    Column("environment", Text, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("client_name", Text, nullable=False),
    Column("client_version", Text, nullable=False),
    Column("session_source", Text, nullable=False),
    Column("trace_id", Text),
    Column("started_at", Instant, nullable=False),
    Column("last_event_at", Instant, nullable=False, index=True),
    Column("events", Integer, nullable=False),
    Column("scripts", Integer, nullable=False),
    Column("script_errors", Integer, nullable=False),
    Column("searches", Integer, nullable=False),
    Column("search_misses", Integer, nullable=False),
    Column("errors", Integer, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("frustration_sum", Integer, nullable=False),
    Column("frustration_count", Integer, nullable=False),
    Column("frustration_max", Integer),
    Column("blocked_egress", Integer, nullable=False),
    Column("secret_stripped", Integer, nullable=False),
    Column("unknown_outcome_write", Integer, nullable=False),
    Column("flagged_by_person", Boolean, nullable=False),
    # What its events tell one after another, and what of that is asked for.
    Column("trail", JSON, nullable=False, server_default="{}"),
    Column("has_intent", Boolean, nullable=False, server_default=false()),
    Column("strained", Boolean, nullable=False, server_default=false()),
    Column("repeat", Boolean, nullable=False, server_default=false()),
    Column("flagged", Boolean, nullable=False, server_default=false()),
    # In the bucket of which instant the sums count it; stays when an earlier event comes late.
    Column("counted_at", Instant, nullable=False, server_default="0"),
    Index(None, "org_id", "last_event_at"),
    Index(None, "key_id", "last_event_at"),
    Index("ix_telemetry_sessions_strained", "org_id", "strained", "last_event_at"),
    Index("ix_telemetry_sessions_repeat", "org_id", "repeat", "last_event_at"),
    Index("ix_telemetry_sessions_flagged", "org_id", "flagged", "last_event_at"),
    partial_index("ix_telemetry_sessions_trace_id", "trace_id", where="trace_id IS NOT NULL"),
)

# What the scripts of a session were for; the key is the same for texts that differ in case and spaces.
telemetry_session_intents = Table(
    "telemetry_session_intents",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("intent_key", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Index(None, "org_id", "intent_key"),
)

# Which session of a key or a client was the first with an intent: a later one is a repeat.
telemetry_askers = Table(
    "telemetry_askers",
    metadata,
    Column("source_id", Text, primary_key=True),
    Column("intent_key", Text, primary_key=True),
    Column("asker", Text, primary_key=True),
    Column("session_id", Text, nullable=False),
    Column("at", Instant, nullable=False, index=True),
)

# Searches of a session that no script has used so far.
telemetry_session_searches = Table(
    "telemetry_session_searches",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("query_key", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("state", Text, nullable=False),
    Index(None, "org_id", "query_key"),
)

# Which operations a session has called: each once, so that sessions can be counted without their events.
telemetry_session_operations = Table(
    "telemetry_session_operations",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("operation_id", Text, primary_key=True),
)

telemetry_operation_days = Table(
    "telemetry_operation_days",
    metadata,
    Column("source_id", Text, primary_key=True),
    Column("environment", Text, primary_key=True),
    Column("operation_id", Text, primary_key=True),
    Column("at", Instant, primary_key=True, index=True),
    Column("org_id", Text, nullable=False),
    Column("scripts", Integer, nullable=False),
    Column("sessions", Integer, nullable=False),
    Column("calls", Integer, nullable=False),
    Column("errors", Integer, nullable=False),
)

# Scripts by how long they took: up to so many milliseconds, and more.
DURATION_COLUMNS = (
    "ms_5", "ms_10", "ms_20", "ms_50", "ms_100", "ms_200", "ms_500", "ms_1000", "ms_2000", "ms_5000",
    "ms_10000", "ms_20000", "ms_60000", "ms_more",
)  # fmt: skip


def _roll_up(name: str) -> Table:
    counts = (
        *("sessions", "scripts", "script_errors", "searches", "search_misses", "refused", "calls"),
        *("frustration_sum", "frustration_count", "first_scripts", "first_script_successes"),
        *DURATION_COLUMNS,
    )
    later = ("strained_sessions", "sessions_with_intent")
    return Table(
        name,
        metadata,
        Column("org_id", Text, primary_key=True),
        Column("source_id", Text, primary_key=True),
        Column("environment", Text, primary_key=True),
        Column("at", Instant, primary_key=True, index=True),
        *(Column(count, BigInteger, nullable=False) for count in counts),
        *(Column(count, BigInteger, nullable=False, server_default="0") for count in later),
    )


telemetry_hours = _roll_up("telemetry_hours")
telemetry_days = _roll_up("telemetry_days")
