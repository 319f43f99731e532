"""What it means: topics, clusters of failed searches, and what they were made from."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
)

from ammeter.engines.db.dialects import partial_index
from ammeter.engines.db.tables.columns import id_column, metadata
from ammeter.engines.db.types import Instant

# What is known of each session: how many of its events were read, and whether it has ended since. A
# session whose count is another now is read anew, and all its rows below are replaced.
insight_sessions = Table(
    "insight_sessions",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("events", Integer, nullable=False),
    Column("settled", Boolean, nullable=False),
    Column("last_event_at", Instant, nullable=False),
    Index(None, "org_id", "last_event_at"),
)

# Intents and queries without their values. `scope` is the organization for intents, the source for queries;
# `group_id` the topic or cluster, once it has one.
insight_forms = Table(
    "insight_forms",
    metadata,
    id_column(),
    Column("org_id", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("scope", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("group_id", Text),
    Column("last_seen", Instant, nullable=False),
    UniqueConstraint("org_id", "kind", "scope", "hash"),
    Index(None, "group_id", "last_seen"),
    Index(None, "org_id", "last_seen"),
    partial_index("ix_insight_forms_pending", "org_id", "kind", "last_seen", where="group_id IS NULL"),
)

# What a session wanted: one row for each form of an intent that it stated.
insight_intents = Table(
    "insight_intents",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("form_id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("topic_id", Text),
    Column("source_id", Text, nullable=False),
    Column("environment", Text, nullable=False),
    Column("key_id", Text, nullable=False),
    Column("first_at", Instant, nullable=False),
    Column("last_at", Instant, nullable=False),
    Column("scripts", Integer, nullable=False),
    Column("errors", Integer, nullable=False),
    Column("misses", Integer, nullable=False),
    Column("answered", Boolean, nullable=False),
    Column("frustration_sum", Integer, nullable=False),
    Column("frustration_count", Integer, nullable=False),
    Column("frustration_max", Integer),
    Column("operations", JSON, nullable=False),
    Column("example", Text, nullable=False),
    # `last_at` again, where the rows of the session lie on more than one day: see insight_topic_days.
    Column("spread_at", Instant),
    Index(None, "org_id", "last_at"),
    Index(None, "topic_id", "last_at"),
    Index(None, "topic_id", "first_at"),
    Index(None, "form_id", "last_at"),
    partial_index("ix_insight_intents_spread", "org_id", "spread_at", where="spread_at IS NOT NULL"),
)

insight_topics = Table(
    "insight_topics",
    metadata,
    id_column(),
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
    Column("created_at", Instant, nullable=False),
    Column("last_seen", Instant, nullable=False),
    Index(None, "org_id", "id"),
)

insight_lineage = Table(
    "insight_lineage",
    metadata,
    Column("topic_id", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("other_id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Index(None, "other_id"),
)

insight_clusters = Table(
    "insight_clusters",
    metadata,
    id_column(),
    Column("org_id", Text, nullable=False),
    Column("source_id", Text, nullable=False),
    Column("environment", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("centre", LargeBinary, nullable=False),
    Column("members", Integer, nullable=False),
    Column("gap_kind", Text),
    Column("suggestion", JSON, nullable=False),
    Column("judged_by", Text),
    Column("created_at", Instant, nullable=False),
    Column("last_seen", Instant, nullable=False),
    Index(None, "org_id", "last_seen"),
    Index(None, "source_id"),
)

insight_misses = Table(
    "insight_misses",
    metadata,
    Column("event_id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("cluster_id", Text, nullable=False),
    Column("session_id", Text, nullable=False),
    Column("source_id", Text, nullable=False),
    Column("environment", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("reason", Text, nullable=False),
    Column("query", Text, nullable=False),
    Column("shown", JSON, nullable=False),
    Column("later_used", JSON, nullable=False),
    Column("spread_at", Instant),
    Index(None, "org_id", "at"),
    Index(None, "cluster_id", "at"),
    Index(None, "session_id"),
    partial_index("ix_insight_misses_spread", "org_id", "spread_at", where="spread_at IS NOT NULL"),
)

# Sums of the rows above by day (UTC), so that a long range is read without them. `sessions` are those whose
# rows lie on one day alone: the sums of several days add up. The few others are counted from their rows,
# which `spread_at` finds. An intent without a topic is counted under the empty id.
insight_topic_days = Table(
    "insight_topic_days",
    metadata,
    Column("org_id", Text, primary_key=True),
    Column("at", Instant, primary_key=True),
    Column("topic_id", Text, primary_key=True),
    Column("source_id", Text, primary_key=True),
    Column("intents", Integer, nullable=False),
    Column("sessions", Integer, nullable=False),
    Column("scripts", Integer, nullable=False),
    Column("frustration_sum", Integer, nullable=False),
    Column("frustration_count", Integer, nullable=False),
)

insight_cluster_days = Table(
    "insight_cluster_days",
    metadata,
    Column("org_id", Text, primary_key=True),
    Column("at", Instant, primary_key=True),
    Column("cluster_id", Text, primary_key=True),
    Column("source_id", Text, primary_key=True),
    Column("searches", Integer, nullable=False),
    Column("sessions", Integer, nullable=False),
)

# Failed searches of sessions that had an intent of the topic; sessions of one day alone.
insight_topic_clusters = Table(
    "insight_topic_clusters",
    metadata,
    Column("org_id", Text, primary_key=True),
    Column("topic_id", Text, primary_key=True),
    Column("at", Instant, primary_key=True),
    Column("cluster_id", Text, primary_key=True),
    Column("source_id", Text, primary_key=True),
    Column("searches", Integer, nullable=False),
)

# Per session: what its searches showed of an operation, and whether a script called it.
insight_shown = Table(
    "insight_shown",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("operation_id", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("source_id", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("shown", Integer, nullable=False),
    Column("used", Boolean, nullable=False),
    Index(None, "org_id", "at"),
)

# Names on the client that scripts used and that do not exist.
insight_names = Table(
    "insight_names",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("org_id", Text, nullable=False),
    Column("source_id", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("uses", Integer, nullable=False),
    Index(None, "org_id", "at"),
)

# Whose refresh writes at present, and when one last came to its end.
insight_states = Table(
    "insight_states",
    metadata,
    Column("org_id", Text, ForeignKey("organizations.id"), primary_key=True),
    Column("writer", Text, nullable=False),
    Column("refreshed_at", Instant),
    Column("figures", JSON, nullable=False),
)
