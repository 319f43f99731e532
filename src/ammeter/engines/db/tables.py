"""Every table, once. Imported by `store.py` files, `jobs`, `buckets` and `migrate` only.

Migrations are written by hand beside this file; a test holds a migrated database equal to this one.
Ids are text (UUIDv7), instants are milliseconds, JSON is the database's own JSON type.
"""

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
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    false,
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
    Index(None, "org_id", "id"),
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

rate_buckets = Table(
    "rate_buckets",
    metadata,
    Column("policy", Text, primary_key=True),
    Column("subject", Text, primary_key=True),
    Column("tokens", Double, nullable=False),
    Column("updated_at", Instant, nullable=False, index=True),
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
