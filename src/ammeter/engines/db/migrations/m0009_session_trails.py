"""What events of a session tell one after another: intents, searches that led nowhere, signs of trouble."""

from __future__ import annotations

from alembic.operations import Operations
from sqlalchemy import JSON, BigInteger, Boolean, Column, PrimaryKeyConstraint, Text, false


def upgrade(op: Operations, distributed: bool) -> None:
    _sessions(op)
    op.create_table(
        "telemetry_session_intents",
        Column("session_id", Text, nullable=False),
        Column("intent_key", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        PrimaryKeyConstraint("session_id", "intent_key", name="pk_telemetry_session_intents"),
    )
    op.create_index(
        "ix_telemetry_session_intents_org_id_intent_key",
        "telemetry_session_intents",
        ["org_id", "intent_key"],
    )
    op.create_table(
        "telemetry_askers",
        Column("source_id", Text, nullable=False),
        Column("intent_key", Text, nullable=False),
        Column("asker", Text, nullable=False),
        Column("session_id", Text, nullable=False),
        Column("at", BigInteger, nullable=False),
        PrimaryKeyConstraint("source_id", "intent_key", "asker", name="pk_telemetry_askers"),
    )
    op.create_index("ix_telemetry_askers_at", "telemetry_askers", ["at"])
    op.create_table(
        "telemetry_session_searches",
        Column("session_id", Text, nullable=False),
        Column("query_key", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("query", Text, nullable=False),
        Column("state", Text, nullable=False),
        PrimaryKeyConstraint("session_id", "query_key", name="pk_telemetry_session_searches"),
    )
    op.create_index(
        "ix_telemetry_session_searches_org_id_query_key",
        "telemetry_session_searches",
        ["org_id", "query_key"],
    )


def _sessions(op: Operations) -> None:
    table = "telemetry_sessions"
    op.add_column(table, Column("trail", JSON, nullable=False, server_default="{}"))
    for name in ("has_intent", "strained", "repeat", "flagged"):
        op.add_column(table, Column(name, Boolean, nullable=False, server_default=false()))
    op.execute(
        "UPDATE telemetry_sessions SET flagged = (flagged_by_person OR blocked_egress > 0"
        " OR secret_stripped > 0 OR unknown_outcome_write > 0),"
        " strained = (COALESCE(frustration_max, 0) >= 7)"
    )
    op.create_index(
        "ix_telemetry_sessions_strained",
        table,
        ["org_id", "strained", "last_event_at", "started_at", "source_id", "has_intent"],
    )
    op.create_index("ix_telemetry_sessions_repeat", table, ["org_id", "repeat", "last_event_at"])
    op.create_index("ix_telemetry_sessions_flagged", table, ["org_id", "flagged", "last_event_at"])
