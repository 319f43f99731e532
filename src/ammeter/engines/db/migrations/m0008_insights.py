"""Insights: forms, intents, topics and their lineage; failed searches and their clusters."""

from __future__ import annotations

from alembic.operations import Operations
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKeyConstraint,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    text,
)


def upgrade(op: Operations, distributed: bool) -> None:
    _sessions_and_forms(op)
    _topics(op)
    _searches(op)
    _states(op)


def _sessions_and_forms(op: Operations) -> None:
    op.create_table(
        "insight_sessions",
        Column("session_id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("events", Integer, nullable=False),
        Column("settled", Boolean, nullable=False),
        Column("last_event_at", BigInteger, nullable=False),
        PrimaryKeyConstraint("session_id", name="pk_insight_sessions"),
    )
    op.create_index(
        "ix_insight_sessions_org_id_last_event_at", "insight_sessions", ["org_id", "last_event_at"]
    )
    op.create_table(
        "insight_forms",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("scope", Text, nullable=False),
        Column("hash", Text, nullable=False),
        Column("text", Text, nullable=False),
        Column("group_id", Text),
        Column("last_seen", BigInteger, nullable=False),
        PrimaryKeyConstraint("id", name="pk_insight_forms"),
        UniqueConstraint("org_id", "kind", "scope", "hash", name="uq_insight_forms_org_id_kind_scope_hash"),
    )
    op.create_index("ix_insight_forms_group_id_last_seen", "insight_forms", ["group_id", "last_seen"])
    op.create_index("ix_insight_forms_org_id_last_seen", "insight_forms", ["org_id", "last_seen"])
    op.create_index(
        "ix_insight_forms_pending",
        "insight_forms",
        ["org_id", "kind", "last_seen"],
        sqlite_where=text("group_id IS NULL"),
        postgresql_where=text("group_id IS NULL"),
    )
    op.create_table(
        "insight_intents",
        Column("session_id", Text, nullable=False),
        Column("form_id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("topic_id", Text),
        Column("source_id", Text, nullable=False),
        Column("environment", Text, nullable=False),
        Column("key_id", Text, nullable=False),
        Column("first_at", BigInteger, nullable=False),
        Column("last_at", BigInteger, nullable=False),
        Column("scripts", Integer, nullable=False),
        Column("errors", Integer, nullable=False),
        Column("misses", Integer, nullable=False),
        Column("answered", Boolean, nullable=False),
        Column("frustration_sum", Integer, nullable=False),
        Column("frustration_count", Integer, nullable=False),
        Column("frustration_max", Integer),
        Column("operations", JSON, nullable=False),
        Column("example", Text, nullable=False),
        PrimaryKeyConstraint("session_id", "form_id", name="pk_insight_intents"),
    )
    op.create_index("ix_insight_intents_form_id_last_at", "insight_intents", ["form_id", "last_at"])
    op.create_index("ix_insight_intents_org_id_last_at", "insight_intents", ["org_id", "last_at"])
    op.create_index("ix_insight_intents_topic_id_last_at", "insight_intents", ["topic_id", "last_at"])


def _topics(op: Operations) -> None:
    op.create_table(
        "insight_topics",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("label", Text, nullable=False),
        Column("person_label", Text),
        Column("unmet_proposed", Boolean, nullable=False),
        Column("unmet_by_person", Boolean),
        Column("archived", Boolean, nullable=False),
        Column("merged_into", Text),
        Column("centre", LargeBinary, nullable=False),
        Column("members", Integer, nullable=False),
        Column("radius", Double, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("last_seen", BigInteger, nullable=False),
        PrimaryKeyConstraint("id", name="pk_insight_topics"),
    )
    op.create_index("ix_insight_topics_org_id_id", "insight_topics", ["org_id", "id"])
    op.create_table(
        "insight_lineage",
        Column("topic_id", Text, nullable=False),
        Column("kind", Text, nullable=False),
        Column("other_id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("at", BigInteger, nullable=False),
        PrimaryKeyConstraint("topic_id", "kind", "other_id", name="pk_insight_lineage"),
    )
    op.create_index("ix_insight_lineage_other_id", "insight_lineage", ["other_id"])


def _searches(op: Operations) -> None:
    op.create_table(
        "insight_clusters",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("environment", Text, nullable=False),
        Column("label", Text, nullable=False),
        Column("centre", LargeBinary, nullable=False),
        Column("members", Integer, nullable=False),
        Column("gap_kind", Text),
        Column("suggestion", JSON, nullable=False),
        Column("judged_by", Text),
        Column("created_at", BigInteger, nullable=False),
        Column("last_seen", BigInteger, nullable=False),
        PrimaryKeyConstraint("id", name="pk_insight_clusters"),
    )
    op.create_index("ix_insight_clusters_org_id_last_seen", "insight_clusters", ["org_id", "last_seen"])
    op.create_index("ix_insight_clusters_source_id", "insight_clusters", ["source_id"])
    op.create_table(
        "insight_misses",
        Column("event_id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("cluster_id", Text, nullable=False),
        Column("session_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("environment", Text, nullable=False),
        Column("at", BigInteger, nullable=False),
        Column("reason", Text, nullable=False),
        Column("query", Text, nullable=False),
        Column("shown", JSON, nullable=False),
        Column("later_used", JSON, nullable=False),
        PrimaryKeyConstraint("event_id", name="pk_insight_misses"),
    )
    op.create_index("ix_insight_misses_cluster_id_at", "insight_misses", ["cluster_id", "at"])
    op.create_index("ix_insight_misses_org_id_at", "insight_misses", ["org_id", "at"])
    op.create_index("ix_insight_misses_session_id", "insight_misses", ["session_id"])
    op.create_table(
        "insight_shown",
        Column("session_id", Text, nullable=False),
        Column("operation_id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("at", BigInteger, nullable=False),
        Column("shown", Integer, nullable=False),
        Column("used", Boolean, nullable=False),
        PrimaryKeyConstraint("session_id", "operation_id", name="pk_insight_shown"),
    )
    op.create_index("ix_insight_shown_org_id_at", "insight_shown", ["org_id", "at"])
    op.create_table(
        "insight_names",
        Column("session_id", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("at", BigInteger, nullable=False),
        Column("uses", Integer, nullable=False),
        PrimaryKeyConstraint("session_id", "name", name="pk_insight_names"),
    )
    op.create_index("ix_insight_names_org_id_at", "insight_names", ["org_id", "at"])


def _states(op: Operations) -> None:
    op.create_table(
        "insight_states",
        Column("org_id", Text, nullable=False),
        Column("writer", Text, nullable=False),
        Column("refreshed_at", BigInteger),
        Column("figures", JSON, nullable=False),
        PrimaryKeyConstraint("org_id", name="pk_insight_states"),
        ForeignKeyConstraint(["org_id"], ["organizations.id"], name="fk_insight_states_org_id"),
    )
