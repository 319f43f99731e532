"""The audit log: every change, by whom, when and from where, in the transaction of the change itself.
It holds names and ids; values of secrets, passwords and keys never come here."""

from __future__ import annotations

from typing import Any

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import store
from ammeter.features.orgs.model import Actor, AuditEvent, Role


def record(tx: Tx, actor: Actor, org_id: str | None, action: str, target: str, **details: Any) -> None:
    store.insert_audit(
        tx,
        AuditEvent(
            id=new_id(),
            org_id=org_id,
            at=now(),
            actor_kind=actor.kind,
            actor=actor.name,
            origin=actor.origin,
            request_id=actor.request_id,
            action=action,
            target=target,
            details=details,
        ),
    )


def list_events(tx: Tx, actor: Actor, org_id: str, page: PageRequest) -> Page[AuditEvent]:
    actor.need(Role.admin, to="read the audit log")
    return store.list_audit(tx, org_id, page)


def list_all_events(tx: Tx, page: PageRequest) -> Page[AuditEvent]:
    """Of every organization and of the server itself: for the operator."""
    return store.list_audit(tx, None, page)
