"""What should work and whether it does: workflows, runs, their events and evaluations."""

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
    Table,
    Text,
    UniqueConstraint,
)

from ammeter.engines.db.dialects import partial_index
from ammeter.engines.db.tables.columns import id_column, metadata, org_column
from ammeter.engines.db.types import Instant

workflows = Table(
    "workflows",
    metadata,
    id_column(),
    org_column(),
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
    id_column(),
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
    id_column(),
    org_column(),
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
    Column("bundle_id", Text),
    Index(None, "org_id", "at"),
    # The text along with it: a search reads the index alone.
    Index("ix_runs_search", "org_id", "at", "search_text"),
    Index(None, "org_id", "workflow_id", "at"),
    Index(None, "org_id", "status", "at"),
    Index(None, "org_id", "classification", "at"),
    partial_index("ix_runs_open", "workflow_id", "same_key", where="status = 'running'"),
    partial_index("ix_runs_score", "org_id", "score", "at", where="score IS NOT NULL"),
    partial_index("ix_runs_duration_ms", "org_id", "duration_ms", "at", where="duration_ms IS NOT NULL"),
    partial_index("ix_runs_cost_usd", "org_id", "cost_usd", "at", where="cost_usd IS NOT NULL"),
    partial_index("ix_runs_suite_run", "suite_run_id", where="suite_run_id IS NOT NULL"),
)

# No foreign keys: a count that is 0 may outlive what it counted.
run_counts = Table(
    "run_counts",
    metadata,
    Column("org_id", Text, primary_key=True),
    Column("day", Instant, primary_key=True),
    Column("workflow_id", Text, primary_key=True),
    Column("source_id", Text, primary_key=True),
    Column("status", Text, primary_key=True),
    Column("classification", Text, primary_key=True),
    Column("n", BigInteger, nullable=False),
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
