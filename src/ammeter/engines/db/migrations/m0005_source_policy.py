"""Whether viewers may run scripts at a source's hosted endpoint."""

from __future__ import annotations

from alembic.operations import Operations
from sqlalchemy import Boolean, Column, false


def upgrade(op: Operations, distributed: bool) -> None:
    op.add_column("sources", Column("viewers_may_execute", Boolean, nullable=False, server_default=false()))
