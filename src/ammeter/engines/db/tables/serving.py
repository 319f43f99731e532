"""What is tested or served: sources, their auth profiles and skills, bundles."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    false,
    text,
)

from ammeter.engines.db.tables.columns import id_column, metadata, org_column
from ammeter.engines.db.types import Instant

sources = Table(
    "sources",
    metadata,
    id_column(),
    org_column(),
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
    id_column(),
    org_column(),
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
    id_column(),
    org_column(),
    Column("source_id", Text, ForeignKey("sources.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("created_at", Instant, nullable=False),
    UniqueConstraint("source_id", "name"),
)

skill_versions = Table(
    "skill_versions",
    metadata,
    id_column(),
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
    id_column(),
    org_column(),
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
