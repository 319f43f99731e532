"""Suites, their cases and suite runs; runs are found by the suite run they belong to, and may be played
against a bundle that is not promoted."""

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
    text,
)


def upgrade(op: Operations, distributed: bool) -> None:
    op.create_table(
        "suites",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("description", Text, nullable=False),
        Column("status", Text, nullable=False),
        Column("gate", JSON, nullable=False),
        Column("repeats", Integer, nullable=False),
        Column("created_at", BigInteger, nullable=False),
        Column("created_by", Text, nullable=False),
        Column("updated_at", BigInteger, nullable=False),
        PrimaryKeyConstraint("id", name="pk_suites"),
        ForeignKeyConstraint(["org_id"], ["organizations.id"], name="fk_suites_org_id"),
    )
    _partial(op, "uq_suites_name", "suites", ["org_id", "name"], "status = 'active'", unique=True)
    op.create_table(
        "suite_cases",
        Column("suite_id", Text, nullable=False),
        Column("position", Integer, nullable=False),
        Column("workflow_id", Text, nullable=False),
        PrimaryKeyConstraint("suite_id", "position", name="pk_suite_cases"),
        ForeignKeyConstraint(["suite_id"], ["suites.id"], name="fk_suite_cases_suite_id"),
        ForeignKeyConstraint(["workflow_id"], ["workflows.id"], name="fk_suite_cases_workflow_id"),
    )
    op.create_table(
        "suite_runs",
        Column("id", Text, nullable=False),
        Column("org_id", Text, nullable=False),
        Column("suite_id", Text),
        Column("name", Text, nullable=False),
        Column("gate", JSON, nullable=False),
        Column("repeats", Integer, nullable=False),
        Column("cases", JSON, nullable=False),
        Column("baseline_id", Text),
        Column("bundle_id", Text),
        Column("trigger", Text, nullable=False),
        Column("reason", Text, nullable=False),
        Column("idempotency_key", Text),
        Column("cancelled_at", BigInteger),
        Column("created_at", BigInteger, nullable=False),
        Column("created_by", Text, nullable=False),
        PrimaryKeyConstraint("id", name="pk_suite_runs"),
        ForeignKeyConstraint(["org_id"], ["organizations.id"], name="fk_suite_runs_org_id"),
        ForeignKeyConstraint(["suite_id"], ["suites.id"], name="fk_suite_runs_suite_id"),
    )
    op.create_index("ix_suite_runs_org_id_id", "suite_runs", ["org_id", "id"])
    op.create_index("ix_suite_runs_suite_id_id", "suite_runs", ["suite_id", "id"])
    known = "idempotency_key IS NOT NULL"
    _partial(op, "uq_suite_runs_key", "suite_runs", ["org_id", "idempotency_key"], known, unique=True)
    op.add_column("runs", Column("bundle_id", Text))
    _partial(op, "ix_runs_suite_run", "runs", ["suite_run_id"], "suite_run_id IS NOT NULL")


def _partial(
    op: Operations, name: str, table: str, columns: list[str], where: str, *, unique: bool = False
) -> None:
    op.create_index(
        name, table, columns, unique=unique, sqlite_where=text(where), postgresql_where=text(where)
    )
