"""Suites of workflows, their cases, and the times they were run. What became of a suite run is not here: it
is told by its runs."""

from __future__ import annotations

from sqlalchemy import JSON, Column, ForeignKey, Index, Integer, Table, Text

from ammeter.engines.db.dialects import partial_index
from ammeter.engines.db.tables.columns import id_column, metadata, org_column
from ammeter.engines.db.types import Instant

suites = Table(
    "suites",
    metadata,
    id_column(),
    org_column(),
    Column("name", Text, nullable=False),
    Column("description", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("gate", JSON, nullable=False),
    Column("repeats", Integer, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("updated_at", Instant, nullable=False),
    partial_index("uq_suites_name", "org_id", "name", unique=True, where="status = 'active'"),
)

suite_cases = Table(
    "suite_cases",
    metadata,
    Column("suite_id", Text, ForeignKey("suites.id"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("workflow_id", Text, ForeignKey("workflows.id"), nullable=False),
)

suite_runs = Table(
    "suite_runs",
    metadata,
    id_column(),
    org_column(),
    Column("suite_id", Text, ForeignKey("suites.id")),
    Column("name", Text, nullable=False),
    Column("gate", JSON, nullable=False),
    Column("repeats", Integer, nullable=False),
    Column("cases", JSON, nullable=False),
    Column("baseline_id", Text),
    Column("bundle_id", Text),
    Column("trigger", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("idempotency_key", Text),
    Column("cancelled_at", Instant),
    Column("created_at", Instant, nullable=False),
    Column("created_by", Text, nullable=False),
    Index(None, "org_id", "id"),
    Index(None, "suite_id", "id"),
    partial_index(
        "uq_suite_runs_key",
        "org_id",
        "idempotency_key",
        unique=True,
        where="idempotency_key IS NOT NULL",
    ),
)
