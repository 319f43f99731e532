"""What the server keeps for itself: rate buckets, jobs, schedules."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    Boolean,
    Column,
    Double,
    Index,
    Integer,
    Table,
    Text,
)

from ammeter.engines.db.dialects import partial_index
from ammeter.engines.db.tables.columns import id_column, metadata
from ammeter.engines.db.types import Instant

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
    id_column(),
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
    id_column(),
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
