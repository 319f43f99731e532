"""The audit log by actor, by action and by target, each in the order of time."""

from __future__ import annotations

from alembic.operations import Operations


def upgrade(op: Operations, distributed: bool) -> None:
    for name in ("actor", "action", "target"):
        op.create_index(f"ix_audit_events_org_id_{name}_id", "audit_events", ["org_id", name, "id"])
