"""What happened at hosted endpoints: events, sessions, and the sums that are kept of them."""

from __future__ import annotations

from alembic.operations import Operations
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    Integer,
    PrimaryKeyConstraint,
    Text,
    text,
)


def upgrade(op: Operations, distributed: bool) -> None:
    _events(op)
    _sessions(op)
    _operations(op)
    _roll_up(op, "telemetry_hours")
    _roll_up(op, "telemetry_days")


def _events(op: Operations) -> None:
    op.create_table(
        "telemetry_events",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("environment", Text, nullable=False),
        Column("bundle_id", Text),
        Column("key_id", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("at", BigInteger, nullable=False),
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
        PrimaryKeyConstraint("id", name="pk_telemetry_events"),
    )
    op.create_index("ix_telemetry_events_at", "telemetry_events", ["at"])
    op.create_index("ix_telemetry_events_org_id_at", "telemetry_events", ["org_id", "at"])
    op.create_index("ix_telemetry_events_session_id_id", "telemetry_events", ["session_id", "id"])


def _sessions(op: Operations) -> None:
    table = "telemetry_sessions"
    op.create_table(
        table,
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("environment", Text, nullable=False),
        Column("key_id", Text, nullable=False),
        Column("client_name", Text, nullable=False),
        Column("client_version", Text, nullable=False),
        Column("session_source", Text, nullable=False),
        Column("trace_id", Text),
        Column("started_at", BigInteger, nullable=False),
        Column("last_event_at", BigInteger, nullable=False),
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
        PrimaryKeyConstraint("id", name="pk_telemetry_sessions"),
    )
    op.create_index(f"ix_{table}_last_event_at", table, ["last_event_at"])
    op.create_index(f"ix_{table}_org_id_last_event_at", table, ["org_id", "last_event_at"])
    op.create_index(f"ix_{table}_key_id_last_event_at", table, ["key_id", "last_event_at"])
    traced = text("trace_id IS NOT NULL")
    op.create_index(f"ix_{table}_trace_id", table, ["trace_id"], sqlite_where=traced, postgresql_where=traced)


def _operations(op: Operations) -> None:
    op.create_table(
        "telemetry_session_operations",
        Column("session_id", Text, nullable=False),
        Column("operation_id", Text, nullable=False),
        PrimaryKeyConstraint("session_id", "operation_id", name="pk_telemetry_session_operations"),
    )
    op.create_table(
        "telemetry_operation_days",
        Column("source_id", Text, nullable=False),
        Column("environment", Text, nullable=False),
        Column("operation_id", Text, nullable=False),
        Column("at", BigInteger, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("scripts", Integer, nullable=False),
        Column("sessions", Integer, nullable=False),
        Column("calls", Integer, nullable=False),
        Column("errors", Integer, nullable=False),
        PrimaryKeyConstraint(
            "source_id", "environment", "operation_id", "at", name="pk_telemetry_operation_days"
        ),
    )
    op.create_index("ix_telemetry_operation_days_at", "telemetry_operation_days", ["at"])


def _roll_up(op: Operations, table: str) -> None:
    op.create_table(
        table,
        Column("org_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("environment", Text, nullable=False),
        Column("at", BigInteger, nullable=False),
        Column("sessions", BigInteger, nullable=False),
        Column("scripts", BigInteger, nullable=False),
        Column("script_errors", BigInteger, nullable=False),
        Column("searches", BigInteger, nullable=False),
        Column("search_misses", BigInteger, nullable=False),
        Column("refused", BigInteger, nullable=False),
        Column("calls", BigInteger, nullable=False),
        Column("frustration_sum", BigInteger, nullable=False),
        Column("frustration_count", BigInteger, nullable=False),
        Column("first_scripts", BigInteger, nullable=False),
        Column("first_script_successes", BigInteger, nullable=False),
        Column("ms_5", BigInteger, nullable=False),
        Column("ms_10", BigInteger, nullable=False),
        Column("ms_20", BigInteger, nullable=False),
        Column("ms_50", BigInteger, nullable=False),
        Column("ms_100", BigInteger, nullable=False),
        Column("ms_200", BigInteger, nullable=False),
        Column("ms_500", BigInteger, nullable=False),
        Column("ms_1000", BigInteger, nullable=False),
        Column("ms_2000", BigInteger, nullable=False),
        Column("ms_5000", BigInteger, nullable=False),
        Column("ms_10000", BigInteger, nullable=False),
        Column("ms_20000", BigInteger, nullable=False),
        Column("ms_60000", BigInteger, nullable=False),
        Column("ms_more", BigInteger, nullable=False),
        PrimaryKeyConstraint("org_id", "source_id", "environment", "at", name=f"pk_{table}"),
    )
    op.create_index(f"ix_{table}_at", table, ["at"])
