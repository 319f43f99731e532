"""How a source is met and what was found there; its auth profiles and its skills."""

from __future__ import annotations

from alembic.operations import Operations
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    false,
    text,
)


def upgrade(op: Operations, distributed: bool) -> None:
    empty_object, empty_list = text("'{}'"), text("'[]'")
    for column in (
        Column("transport_type", Text, nullable=False, server_default="streamable_http"),
        Column("target_kind", Text, nullable=False, server_default="mcp"),
        Column("base_url", Text),
        Column("connection_config", JSON, nullable=False, server_default=empty_object),
        Column("network_policy", JSON, nullable=False, server_default=empty_object),
        Column("categories", JSON, nullable=False, server_default=empty_list),
        Column("categories_by_person", Boolean, nullable=False, server_default=false()),
        Column("discovery", JSON, nullable=False, server_default=empty_object),
        Column("discovery_job_id", Text),
        Column("provisioning_job_id", Text),
    ):
        op.add_column("sources", column)
    op.create_table(
        "auth_profiles",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("auth_type", Text, nullable=False),
        Column("auth_config", JSON, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        PrimaryKeyConstraint("id", name="pk_auth_profiles"),
        ForeignKeyConstraint(["org_id"], ["organizations.id"], name="fk_auth_profiles_org_id"),
        ForeignKeyConstraint(["source_id"], ["sources.id"], name="fk_auth_profiles_source_id"),
    )
    op.create_index("ix_auth_profiles_source_id_id", "auth_profiles", ["source_id", "id"])
    op.create_table(
        "skills",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        PrimaryKeyConstraint("id", name="pk_skills"),
        ForeignKeyConstraint(["org_id"], ["organizations.id"], name="fk_skills_org_id"),
        ForeignKeyConstraint(["source_id"], ["sources.id"], name="fk_skills_source_id"),
        UniqueConstraint("source_id", "name", name="uq_skills_source_id_name"),
    )
    op.create_table(
        "skill_versions",
        Column("id", Text, nullable=False),
        Column("skill_id", Text, nullable=False),
        Column("number", Integer, nullable=False),
        Column("text", Text, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("created_by", Text, nullable=False),
        PrimaryKeyConstraint("id", name="pk_skill_versions"),
        ForeignKeyConstraint(["skill_id"], ["skills.id"], name="fk_skill_versions_skill_id"),
        UniqueConstraint("skill_id", "number", name="uq_skill_versions_skill_id_number"),
    )
