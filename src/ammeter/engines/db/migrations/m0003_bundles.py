"""Bundles of a source, and which one each environment serves."""

from __future__ import annotations

from alembic.operations import Operations
from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
)


def upgrade(op: Operations, distributed: bool) -> None:
    op.create_table(
        "bundles",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
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
        Column("created_at", BigInteger, nullable=False),
        Column("created_by", Text, nullable=False),
        PrimaryKeyConstraint("id", name="pk_bundles"),
        ForeignKeyConstraint(["org_id"], ["organizations.id"], name="fk_bundles_org_id"),
        ForeignKeyConstraint(["source_id"], ["sources.id"], name="fk_bundles_source_id"),
        UniqueConstraint(
            "source_id", "environment", "content_hash", name="uq_bundles_source_id_environment_content_hash"
        ),
    )
    op.create_index("ix_bundles_source_id_environment_id", "bundles", ["source_id", "environment", "id"])
    op.create_table(
        "active_bundles",
        Column("source_id", Text, nullable=False),
        Column("environment", Text, nullable=False),
        Column("bundle_id", Text, nullable=False),
        Column("previous_id", Text),
        Column("promoted_at", BigInteger, nullable=False),
        Column("promoted_by", Text, nullable=False),
        PrimaryKeyConstraint("source_id", "environment", name="pk_active_bundles"),
        ForeignKeyConstraint(["source_id"], ["sources.id"], name="fk_active_bundles_source_id"),
        ForeignKeyConstraint(["bundle_id"], ["bundles.id"], name="fk_active_bundles_bundle_id"),
        ForeignKeyConstraint(["previous_id"], ["bundles.id"], name="fk_active_bundles_previous_id"),
    )
