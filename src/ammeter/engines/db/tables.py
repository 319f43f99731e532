"""Every table, once. Imported by `store.py` files, `jobs`, `buckets` and `migrate` only.

Migrations are written by hand beside this file; a test holds a migrated database equal to this one.
Ids are text (UUIDv7), instants are milliseconds, JSON is the database's own JSON type.
"""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

from ammeter.engines.db.dialects import partial_index
from ammeter.engines.db.types import Instant

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    }
)


def _id() -> Column[str]:
    return Column("id", Text, primary_key=True)


def _org_id() -> Column[str]:
    return Column("org_id", Text, ForeignKey("organizations.id"), nullable=False)


organizations = Table(
    "organizations",
    metadata,
    _id(),
    Column("slug", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("region", Text, nullable=False),
    Column("mcp_analytics", Boolean, nullable=False),
    Column("code_mode", Boolean, nullable=False),
    Column("included_runs", Integer),
    Column("created_at", Instant, nullable=False),
)

run_usage = Table(
    "run_usage",
    metadata,
    Column("org_id", Text, ForeignKey("organizations.id"), primary_key=True),
    Column("period_start", Instant, primary_key=True),
    Column("used_runs", Integer, nullable=False),
)

people = Table(
    "people",
    metadata,
    _id(),
    Column("email", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("password_hash", Text),
    Column("created_at", Instant, nullable=False),
)

members = Table(
    "members",
    metadata,
    _id(),
    _org_id(),
    Column("person_id", Text, ForeignKey("people.id"), nullable=False),
    Column("role", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    UniqueConstraint("org_id", "person_id"),
)

api_keys = Table(
    "api_keys",
    metadata,
    _id(),
    _org_id(),
    Column("key_id", Text, nullable=False, unique=True),
    Column("salt", LargeBinary, nullable=False),
    Column("secret_hash", LargeBinary, nullable=False),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("source_ids", JSON(none_as_null=True)),
    Column("created_by", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("expires_at", Instant),
    Column("revoked_at", Instant),
    Column("last_used_at", Instant),
    Index(None, "org_id", "id"),
)

audit_events = Table(
    "audit_events",
    metadata,
    _id(),
    Column("org_id", Text),
    Column("at", Instant, nullable=False),
    Column("actor_kind", Text, nullable=False),
    Column("actor", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("request_id", Text),
    Column("action", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("details", JSON, nullable=False),
    Index(None, "org_id", "id"),
)

org_secrets = Table(
    "org_secrets",
    metadata,
    _id(),
    _org_id(),
    Column("name", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("sealing_key_id", Text, nullable=False, index=True),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    UniqueConstraint("org_id", "name"),
)

sources = Table(
    "sources",
    metadata,
    _id(),
    _org_id(),
    Column("name", Text, nullable=False),
    Column("source_slug", Text, unique=True),
    Column("environment", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("viewers_may_execute", Boolean, nullable=False, server_default=false()),
    Column("transport_type", Text, nullable=False, server_default="streamable_http"),
    Column("target_kind", Text, nullable=False, server_default="mcp"),
    Column("base_url", Text),
    Column("connection_config", JSON, nullable=False, server_default=text("'{}'")),
    Column("network_policy", JSON, nullable=False, server_default=text("'{}'")),
    Column("categories", JSON, nullable=False, server_default=text("'[]'")),
    Column("categories_by_person", Boolean, nullable=False, server_default=false()),
    Column("discovery", JSON, nullable=False, server_default=text("'{}'")),
    Column("discovery_job_id", Text),
    Column("provisioning_job_id", Text),
    Index(None, "org_id", "id"),
)

auth_profiles = Table(
    "auth_profiles",
    metadata,
    _id(),
    _org_id(),
    Column("source_id", Text, ForeignKey("sources.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("auth_type", Text, nullable=False),
    Column("auth_config", JSON, nullable=False),
    Column("created_at", Instant, nullable=False),
    Index(None, "source_id", "id"),
)

skills = Table(
    "skills",
    metadata,
    _id(),
    _org_id(),
    Column("source_id", Text, ForeignKey("sources.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    UniqueConstraint("source_id", "name"),
)

skill_versions = Table(
    "skill_versions",
    metadata,
    _id(),
    Column("skill_id", Text, ForeignKey("skills.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("text", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("created_by", Text, nullable=False),
    UniqueConstraint("skill_id", "number"),
)

bundles = Table(
    "bundles",
    metadata,
    _id(),
    _org_id(),
    Column("source_id", Text, ForeignKey("sources.id"), nullable=False),
    Column("environment", Text, nullable=False),
    Column("content_hash", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("openapi_hash", Text, nullable=False),
    Column("overlay_hash", Text),
    Column("size_bytes", Integer, nullable=False),
    Column("operations", Integer, nullable=False),
    Column("findings", JSON, nullable=False),
    Column("repository", Text),
    Column("commit_sha", Text),
    Column("branch", Text),
    Column("pull_request_number", Integer),
    Column("created_at", Instant, nullable=False),
    Column("created_by", Text, nullable=False),
    UniqueConstraint("source_id", "environment", "content_hash"),
    Index(None, "source_id", "environment", "id"),
)

active_bundles = Table(
    "active_bundles",
    metadata,
    Column("source_id", Text, ForeignKey("sources.id"), primary_key=True),
    Column("environment", Text, primary_key=True),
    Column("bundle_id", Text, ForeignKey("bundles.id"), nullable=False),
    Column("previous_id", Text, ForeignKey("bundles.id")),
    Column("promoted_at", Instant, nullable=False),
    Column("promoted_by", Text, nullable=False),
)

telemetry_events = Table(
    "telemetry_events",
    metadata,
    # No foreign keys: a batch is not refused because one of its sources has gone.
    _id(),
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
    _id(),
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
    Index(None, "org_id", "last_event_at"),
    Index(None, "key_id", "last_event_at"),
    # Holds all that sessions are counted by, so that counting reads no row.
    Index(
        "ix_telemetry_sessions_strained",
        *("org_id", "strained", "last_event_at", "started_at", "source_id", "has_intent"),
    ),
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
    return Table(
        name,
        metadata,
        Column("org_id", Text, primary_key=True),
        Column("source_id", Text, primary_key=True),
        Column("environment", Text, primary_key=True),
        Column("at", Instant, primary_key=True, index=True),
        *(Column(count, BigInteger, nullable=False) for count in counts),
    )


telemetry_hours = _roll_up("telemetry_hours")
telemetry_days = _roll_up("telemetry_days")

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
    _id(),
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
    Index(None, "org_id", "last_at"),
    Index(None, "topic_id", "last_at"),
    Index(None, "form_id", "last_at"),
)

insight_topics = Table(
    "insight_topics",
    metadata,
    _id(),
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
    _id(),
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
    Index(None, "org_id", "at"),
    Index(None, "cluster_id", "at"),
    Index(None, "session_id"),
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

rate_buckets = Table(
    "rate_buckets",
    metadata,
    Column("policy", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("tokens", Double, nullable=False),
    Column("updated_at", Instant, nullable=False, index=True),
)

workflows = Table(
    "workflows",
    metadata,
    _id(),
    _org_id(),
    Column("source_id", Text, ForeignKey("sources.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("version_id", Text, nullable=False),
    Column("schedule", JSON(none_as_null=True)),
    Column("schedule_id", Text),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Index(None, "org_id", "status", "id"),
)

workflow_versions = Table(
    "workflow_versions",
    metadata,
    _id(),
    Column("workflow_id", Text, ForeignKey("workflows.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("source_id", Text, ForeignKey("sources.id"), nullable=False),
    Column("tester_prompt", Text, nullable=False),
    Column("criteria", JSON, nullable=False),
    Column("targets", JSON, nullable=False),
    Column("auth_profile_id", Text),
    Column("limits", JSON, nullable=False),
    Column("retry_policy", JSON, nullable=False),
    Column("tool_policy", JSON, nullable=False),
    Column("metadata", JSON, nullable=False),
    UniqueConstraint("workflow_id", "number"),
)

runs = Table(
    "runs",
    metadata,
    _id(),
    _org_id(),
    Column("workflow_id", Text, ForeignKey("workflows.id"), nullable=False),
    Column("workflow_name", Text, nullable=False),
    Column("version_id", Text, ForeignKey("workflow_versions.id"), nullable=False),
    Column("source_id", Text, ForeignKey("sources.id"), nullable=False),
    Column("job_id", Text),
    Column("same_key", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("outcome", Text),
    Column("score", Double),
    Column("classification", Text, nullable=False),
    Column("trigger", Text, nullable=False),
    Column("tags", JSON, nullable=False),
    Column("reason", Text, nullable=False),
    Column("model_id", Text, nullable=False),
    Column("skill_mode", Text, nullable=False),
    Column("skill_version_id", Text),
    Column("attempt", Integer, nullable=False),
    Column("baseline_run_id", Text),
    Column("suite_run_id", Text),
    Column("at", Instant, nullable=False),
    Column("queued_at", Instant, nullable=False),
    Column("started_at", Instant),
    Column("ended_at", Instant),
    Column("duration_ms", BigInteger),
    Column("turns", Integer, nullable=False),
    Column("tool_calls", Integer, nullable=False),
    Column("cost_usd", Double),
    Column("input_tokens", BigInteger, nullable=False),
    Column("output_tokens", BigInteger, nullable=False),
    Column("judge_usd", Double),
    Column("verdict", JSON(none_as_null=True)),
    Column("error", Text),
    Column("cancel_requested", Boolean, nullable=False),
    Column("search_text", Text, nullable=False),
    # The text along with it: a search reads the index alone.
    Index("ix_runs_org_id_at", "org_id", "at", "search_text"),
    Index(None, "org_id", "workflow_id", "at"),
    Index(None, "org_id", "status", "at"),
    Index(None, "org_id", "classification", "at"),
    partial_index("ix_runs_open", "workflow_id", "same_key", where="status = 'running'"),
    partial_index("ix_runs_score", "org_id", "score", "at", where="score IS NOT NULL"),
    partial_index("ix_runs_duration_ms", "org_id", "duration_ms", "at", where="duration_ms IS NOT NULL"),
    partial_index("ix_runs_cost_usd", "org_id", "cost_usd", "at", where="cost_usd IS NOT NULL"),
)

run_keys = Table(
    "run_keys",
    metadata,
    Column("workflow_id", Text, ForeignKey("workflows.id"), primary_key=True),
    Column("idempotency_key", Text, primary_key=True),
    Column("run_id", Text, nullable=False),
    Column("created_at", Instant, nullable=False, index=True),
)

run_events = Table(
    "run_events",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id"), primary_key=True),
    Column("seq", Integer, primary_key=True, autoincrement=False),
    Column("at", Instant, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", JSON, nullable=False),
)

run_evaluations = Table(
    "run_evaluations",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("judged_at", Instant, nullable=False),
    Column("body", JSON, nullable=False),
)

JOB_IS_OPEN = "status IN ('queued', 'running')"

jobs = Table(
    "jobs",
    metadata,
    _id(),
    Column("org_id", Text),
    Column("kind", Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("status", Text, nullable=False),
    Column("priority", Integer, nullable=False),
    Column("run_at", Instant, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("max_attempts", Integer, nullable=False),
    Column("dedup_key", Text),
    Column("token", Text),
    Column("lease_until", Instant),
    Column("cancel_requested", Boolean, nullable=False),
    Column("progress", Double, nullable=False),
    Column("progress_message", Text, nullable=False),
    Column("result", JSON(none_as_null=True)),
    Column("error", Text),
    Column("created_at", Instant, nullable=False),
    Column("started_at", Instant),
    Column("finished_at", Instant, index=True),
    Index(None, "status", "priority", "run_at"),
    Index(None, "status", "lease_until"),
    partial_index("uq_jobs_dedup_key", "kind", "dedup_key", unique=True, where=JOB_IS_OPEN),
)

schedules = Table(
    "schedules",
    metadata,
    _id(),
    Column("org_id", Text),
    Column("kind", Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("cron", Text),
    Column("timezone", Text, nullable=False),
    Column("every_minutes", Integer),
    Column("enabled", Boolean, nullable=False),
    Column("next_at", Instant, nullable=False),
    Column("last_at", Instant),
    Index(None, "enabled", "next_at"),
)
