"""Workflows and their versions; runs, their events and evaluations, and the keys of dispatches."""

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
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    text,
)


def upgrade(op: Operations, distributed: bool) -> None:
    _workflows(op)
    _versions(op)
    _runs(op)
    _beside_runs(op)


def _workflows(op: Operations) -> None:
    op.create_table(
        "workflows",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("description", Text, nullable=False),
        Column("status", Text, nullable=False),
        Column("version_id", Text, nullable=False),
        Column("schedule", JSON),
        Column("schedule_id", Text),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        PrimaryKeyConstraint("id", name="pk_workflows"),
        ForeignKeyConstraint(["org_id"], ["organizations.id"], name="fk_workflows_org_id"),
        ForeignKeyConstraint(["source_id"], ["sources.id"], name="fk_workflows_source_id"),
    )
    op.create_index("ix_workflows_org_id_status_id", "workflows", ["org_id", "status", "id"])


def _versions(op: Operations) -> None:
    op.create_table(
        "workflow_versions",
        Column("id", Text, nullable=False),
        Column("workflow_id", Text, nullable=False),
        Column("number", Integer, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("created_by", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("tester_prompt", Text, nullable=False),
        Column("criteria", JSON, nullable=False),
        Column("targets", JSON, nullable=False),
        Column("auth_profile_id", Text),
        Column("limits", JSON, nullable=False),
        Column("retry_policy", JSON, nullable=False),
        Column("tool_policy", JSON, nullable=False),
        Column("metadata", JSON, nullable=False),
        PrimaryKeyConstraint("id", name="pk_workflow_versions"),
        ForeignKeyConstraint(["workflow_id"], ["workflows.id"], name="fk_workflow_versions_workflow_id"),
        ForeignKeyConstraint(["source_id"], ["sources.id"], name="fk_workflow_versions_source_id"),
        UniqueConstraint("workflow_id", "number", name="uq_workflow_versions_workflow_id_number"),
    )


def _runs(op: Operations) -> None:
    op.create_table(
        "runs",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("workflow_id", Text, nullable=False),
        Column("workflow_name", Text, nullable=False),
        Column("version_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
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
        Column("at", BigInteger, nullable=False),
        Column("queued_at", BigInteger, nullable=False),
        Column("started_at", BigInteger),
        Column("ended_at", BigInteger),
        Column("duration_ms", BigInteger),
        Column("turns", Integer, nullable=False),
        Column("tool_calls", Integer, nullable=False),
        Column("cost_usd", Double),
        Column("input_tokens", BigInteger, nullable=False),
        Column("output_tokens", BigInteger, nullable=False),
        Column("judge_usd", Double),
        Column("verdict", JSON),
        Column("error", Text),
        Column("cancel_requested", Boolean, nullable=False),
        Column("search_text", Text, nullable=False),
        PrimaryKeyConstraint("id", name="pk_runs"),
        ForeignKeyConstraint(["org_id"], ["organizations.id"], name="fk_runs_org_id"),
        ForeignKeyConstraint(["workflow_id"], ["workflows.id"], name="fk_runs_workflow_id"),
        ForeignKeyConstraint(["version_id"], ["workflow_versions.id"], name="fk_runs_version_id"),
        ForeignKeyConstraint(["source_id"], ["sources.id"], name="fk_runs_source_id"),
    )
    op.create_index("ix_runs_org_id_at", "runs", ["org_id", "at", "search_text"])
    op.create_index("ix_runs_org_id_workflow_id_at", "runs", ["org_id", "workflow_id", "at"])
    op.create_index("ix_runs_org_id_status_at", "runs", ["org_id", "status", "at"])
    op.create_index("ix_runs_org_id_classification_at", "runs", ["org_id", "classification", "at"])
    _partial(op, "ix_runs_open", ["workflow_id", "same_key"], "status = 'running'")
    _partial(op, "ix_runs_score", ["org_id", "score", "at"], "score IS NOT NULL")
    _partial(op, "ix_runs_duration_ms", ["org_id", "duration_ms", "at"], "duration_ms IS NOT NULL")
    _partial(op, "ix_runs_cost_usd", ["org_id", "cost_usd", "at"], "cost_usd IS NOT NULL")


def _beside_runs(op: Operations) -> None:
    op.create_table(
        "run_keys",
        Column("workflow_id", Text, nullable=False),
        Column("idempotency_key", Text, nullable=False),
        Column("run_id", Text, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        PrimaryKeyConstraint("workflow_id", "idempotency_key", name="pk_run_keys"),
        ForeignKeyConstraint(["workflow_id"], ["workflows.id"], name="fk_run_keys_workflow_id"),
    )
    op.create_index("ix_run_keys_created_at", "run_keys", ["created_at"])
    op.create_table(
        "run_events",
        Column("run_id", Text, nullable=False),
        Column("seq", Integer, nullable=False),
        Column("at", BigInteger, nullable=False),
        Column("kind", Text, nullable=False),
        Column("body", JSON, nullable=False),
        PrimaryKeyConstraint("run_id", "seq", name="pk_run_events"),
        ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_events_run_id"),
    )
    op.create_table(
        "run_evaluations",
        Column("run_id", Text, nullable=False),
        Column("number", Integer, nullable=False),
        Column("judged_at", BigInteger, nullable=False),
        Column("body", JSON, nullable=False),
        PrimaryKeyConstraint("run_id", "number", name="pk_run_evaluations"),
        ForeignKeyConstraint(["run_id"], ["runs.id"], name="fk_run_evaluations_run_id"),
    )


def _partial(op: Operations, name: str, columns: list[str], where: str) -> None:
    op.create_index(name, "runs", columns, sqlite_where=text(where), postgresql_where=text(where))
