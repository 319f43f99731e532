"""A narrow index for counting the runs of a time; the one with their texts is for searching them."""

from __future__ import annotations

from alembic.operations import Operations


def upgrade(op: Operations, distributed: bool) -> None:
    op.drop_index("ix_runs_org_id_at", table_name="runs")
    op.create_index("ix_runs_search", "runs", ["org_id", "at", "search_text"])
    # Last: of two indexes that would do, SQLite takes the younger.
    op.create_index("ix_runs_org_id_at", "runs", ["org_id", "at"])
