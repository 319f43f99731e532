"""How many runs there are, by day; counted once from those that are there."""

from __future__ import annotations

from alembic.operations import Operations
from sqlalchemy import BigInteger, Column, PrimaryKeyConstraint, Text, text

_DAY_MS = 86_400_000


def upgrade(op: Operations, distributed: bool) -> None:
    names = ["org_id", "day", "workflow_id", "source_id", "status", "classification"]
    op.create_table(
        "run_counts",
        Column("org_id", Text, nullable=False),
        Column("day", BigInteger, nullable=False),
        Column("workflow_id", Text, nullable=False),
        Column("source_id", Text, nullable=False),
        Column("status", Text, nullable=False),
        Column("classification", Text, nullable=False),
        Column("n", BigInteger, nullable=False),
        PrimaryKeyConstraint(*names, name="pk_run_counts"),
    )
    op.get_bind().execute(
        text(
            f"INSERT INTO run_counts ({', '.join(names)}, n)"  # noqa: S608  names of our own
            f" SELECT org_id, at / {_DAY_MS} * {_DAY_MS}, workflow_id, source_id, status, classification,"
            " count(*) FROM runs GROUP BY 1, 2, 3, 4, 5, 6"
        )
    )
