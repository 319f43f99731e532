"""Who: organizations, people, keys, secrets, the audit log."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
)

from ammeter.engines.db.tables.columns import id_column, metadata, org_column
from ammeter.engines.db.types import Instant

organizations = Table(
    "organizations",
    metadata,
    id_column(),
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
    id_column(),
    Column("email", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("password_hash", Text),
    Column("created_at", Instant, nullable=False),
)

members = Table(
    "members",
    metadata,
    id_column(),
    org_column(),
    Column("person_id", Text, ForeignKey("people.id"), nullable=False),
    Column("role", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    UniqueConstraint("org_id", "person_id"),
)

web_sessions = Table(
    "web_sessions",
    metadata,
    id_column(),
    Column("token_hash", LargeBinary, nullable=False, unique=True),
    Column("person_id", Text, ForeignKey("people.id"), nullable=False, index=True),
    Column("org_id", Text, ForeignKey("organizations.id")),
    Column("created_at", Instant, nullable=False),
    Column("seen_at", Instant, nullable=False, index=True),
)

api_keys = Table(
    "api_keys",
    metadata,
    id_column(),
    org_column(),
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
    id_column(),
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
    Index(None, "org_id", "actor", "id"),
    Index(None, "org_id", "action", "id"),
    Index(None, "org_id", "target", "id"),
)

org_secrets = Table(
    "org_secrets",
    metadata,
    id_column(),
    org_column(),
    Column("name", Text, nullable=False),
    Column("sealed", LargeBinary, nullable=False),
    Column("sealing_key_id", Text, nullable=False, index=True),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    UniqueConstraint("org_id", "name"),
)
