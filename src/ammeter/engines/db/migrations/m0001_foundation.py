"""Organizations, people, keys, audit, secrets, sources, rate buckets, jobs and schedules."""

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
    _identity(op)
    _secrets_and_sources(op)
    _work(op)


def _pk(table: str, *columns: str) -> PrimaryKeyConstraint:
    return PrimaryKeyConstraint(*(columns or ("id",)), name=f"pk_{table}")


def _fk(table: str, column: str, target: str) -> ForeignKeyConstraint:
    return ForeignKeyConstraint([column], [f"{target}.id"], name=f"fk_{table}_{column}")


def _identity(op: Operations) -> None:
    op.create_table(
        "organizations",
        Column("id", Text, nullable=False),
        Column("slug", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("region", Text, nullable=False),
        Column("mcp_analytics", Boolean, nullable=False),
        Column("code_mode", Boolean, nullable=False),
        Column("included_runs", Integer),
        Column("created_at", BigInteger, nullable=False),
        _pk("organizations"),
        UniqueConstraint("slug", name="uq_organizations_slug"),
    )
    op.create_table(
        "run_usage",
        Column("org_id", Text, nullable=False),
        Column("period_start", BigInteger, nullable=False),
        Column("used_runs", Integer, nullable=False),
        _pk("run_usage", "org_id", "period_start"),
        _fk("run_usage", "org_id", "organizations"),
    )
    op.create_table(
        "people",
        Column("id", Text, nullable=False),
        Column("email", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("password_hash", Text),
        Column("created_at", BigInteger, nullable=False),
        _pk("people"),
        UniqueConstraint("email", name="uq_people_email"),
    )
    op.create_table(
        "members",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("person_id", Text, nullable=False),
        Column("role", Text, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        _pk("members"),
        _fk("members", "org_id", "organizations"),
        _fk("members", "person_id", "people"),
        UniqueConstraint("org_id", "person_id", name="uq_members_org_id_person_id"),
    )
    op.create_table(
        "api_keys",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("key_id", Text, nullable=False),
        Column("salt", LargeBinary, nullable=False),
        Column("secret_hash", LargeBinary, nullable=False),
        Column("name", Text, nullable=False),
        Column("role", Text, nullable=False),
        Column("source_ids", JSON),
        Column("created_by", Text, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("expires_at", BigInteger),
        Column("revoked_at", BigInteger),
        Column("last_used_at", BigInteger),
        _pk("api_keys"),
        _fk("api_keys", "org_id", "organizations"),
        UniqueConstraint("key_id", name="uq_api_keys_key_id"),
    )
    op.create_index("ix_api_keys_org_id_id", "api_keys", ["org_id", "id"])
    op.create_table(
        "audit_events",
        Column("id", Text, nullable=False),
        Column("org_id", Text),
        Column("at", BigInteger, nullable=False),
        Column("actor_kind", Text, nullable=False),
        Column("actor", Text, nullable=False),
        Column("origin", Text, nullable=False),
        Column("request_id", Text),
        Column("action", Text, nullable=False),
        Column("target", Text, nullable=False),
        Column("details", JSON, nullable=False),
        _pk("audit_events"),
    )
    op.create_index("ix_audit_events_org_id_id", "audit_events", ["org_id", "id"])


def _secrets_and_sources(op: Operations) -> None:
    op.create_table(
        "org_secrets",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("sealed", LargeBinary, nullable=False),
        Column("sealing_key_id", Text, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        _pk("org_secrets"),
        _fk("org_secrets", "org_id", "organizations"),
        UniqueConstraint("org_id", "name", name="uq_org_secrets_org_id_name"),
    )
    op.create_index("ix_org_secrets_sealing_key_id", "org_secrets", ["sealing_key_id"])
    op.create_table(
        "sources",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("source_slug", Text),
        Column("environment", Text, nullable=False),
        Column("status", Text, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        _pk("sources"),
        _fk("sources", "org_id", "organizations"),
        UniqueConstraint("source_slug", name="uq_sources_source_slug"),
    )
    op.create_index("ix_sources_org_id_id", "sources", ["org_id", "id"])


def _work(op: Operations) -> None:
    op.create_table(
        "rate_buckets",
        Column("policy", Text, nullable=False),
        Column("subject", Text, nullable=False),
        Column("tokens", Double, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        _pk("rate_buckets", "policy", "subject"),
    )
    op.create_index("ix_rate_buckets_updated_at", "rate_buckets", ["updated_at"])
    op.create_table(
        "jobs",
        Column("id", Text, nullable=False),
        Column("org_id", Text),
        Column("kind", Text, nullable=False),
        Column("payload", JSON, nullable=False),
        Column("status", Text, nullable=False),
        Column("priority", Integer, nullable=False),
        Column("run_at", BigInteger, nullable=False),
        Column("attempts", Integer, nullable=False),
        Column("max_attempts", Integer, nullable=False),
        Column("dedup_key", Text),
        Column("token", Text),
        Column("lease_until", BigInteger),
        Column("cancel_requested", Boolean, nullable=False),
        Column("progress", Double, nullable=False),
        Column("progress_message", Text, nullable=False),
        Column("result", JSON),
        Column("error", Text),
        Column("created_at", BigInteger, nullable=False),
        Column("started_at", BigInteger),
        Column("finished_at", BigInteger),
        _pk("jobs"),
    )
    op.create_index("ix_jobs_finished_at", "jobs", ["finished_at"])
    op.create_index("ix_jobs_status_priority_run_at", "jobs", ["status", "priority", "run_at"])
    op.create_index("ix_jobs_status_lease_until", "jobs", ["status", "lease_until"])
    is_open = text("status IN ('queued', 'running')")
    op.create_index(
        "uq_jobs_dedup_key",
        "jobs",
        ["kind", "dedup_key"],
        unique=True,
        sqlite_where=is_open,
        postgresql_where=is_open,
    )
    op.create_table(
        "schedules",
        Column("id", Text, nullable=False),
        Column("org_id", Text),
        Column("kind", Text, nullable=False),
        Column("payload", JSON, nullable=False),
        Column("cron", Text),
        Column("timezone", Text, nullable=False),
        Column("every_minutes", Integer),
        Column("enabled", Boolean, nullable=False),
        Column("next_at", BigInteger, nullable=False),
        Column("last_at", BigInteger),
        _pk("schedules"),
    )
    op.create_index("ix_schedules_enabled_next_at", "schedules", ["enabled", "next_at"])
