"""Sessions of people who are signed in to the dashboard."""

from __future__ import annotations

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKeyConstraint,
    LargeBinary,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
)


def upgrade(op: Operations, distributed: bool) -> None:
    op.create_table(
        "web_sessions",
        Column("id", Text, nullable=False),
        Column("token_hash", LargeBinary, nullable=False),
        Column("person_id", Text, nullable=False),
        Column("org_id", Text),
        Column("created_at", BigInteger, nullable=False),
        Column("seen_at", BigInteger, nullable=False),
        PrimaryKeyConstraint("id", name="pk_web_sessions"),
        ForeignKeyConstraint(["person_id"], ["people.id"], name="fk_web_sessions_person_id"),
        ForeignKeyConstraint(["org_id"], ["organizations.id"], name="fk_web_sessions_org_id"),
        UniqueConstraint("token_hash", name="uq_web_sessions_token_hash"),
    )
    op.create_index("ix_web_sessions_person_id", "web_sessions", ["person_id"])
    op.create_index("ix_web_sessions_seen_at", "web_sessions", ["seen_at"])
