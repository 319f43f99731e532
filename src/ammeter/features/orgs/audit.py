"""The audit log: every change, by whom, when and from where, in the transaction of the change itself.
It holds names and ids; values of secrets, passwords and keys never come here."""

from __future__ import annotations

from typing import Any

from ammeter.base.clock import now
from ammeter.base.ids import new_id
from ammeter.base.pages import Page, PageRequest
from ammeter.engines.db.database import Tx
from ammeter.features.orgs import audit_store, store
from ammeter.features.orgs.model import Actor, AuditEvent, AuditQuery, Role

ALL = AuditQuery()


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


def list_events(
    tx: Tx, actor: Actor, org_id: str, page: PageRequest, asked: AuditQuery = ALL
) -> Page[AuditEvent]:
    """Newest first, where it is not asked otherwise."""
    actor.need(Role.admin, to="read the audit log")
    return audit_store.list_audit(tx, org_id, asked, page)


def list_actions(tx: Tx, actor: Actor, org_id: str) -> list[str]:
    """The actions that the log has, each once, by name."""
    actor.need(Role.admin, to="read the audit log")
    return audit_store.list_actions(tx, org_id)


def list_all_events(tx: Tx, page: PageRequest) -> Page[AuditEvent]:
    """Of every organization and of the server itself: for the operator."""
    return audit_store.list_audit(tx, None, ALL, page)
