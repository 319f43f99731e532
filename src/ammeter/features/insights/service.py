"""What people say about what was seen: a session's flag, a topic's label; and who may look at all."""

from __future__ import annotations

from ammeter.base.clock import now
from ammeter.base.errors import FeatureDisabled, NotFound
from ammeter.base.ids import is_id
from ammeter.engines.db.database import Tx
from ammeter.features.insights import topic_store
from ammeter.features.insights.model import Range, Window, window_of
from ammeter.features.orgs import audit
from ammeter.features.orgs.model import Actor, Organization, Role
from ammeter.features.telemetry import session_store
from ammeter.features.telemetry.model import Session


def need_analytics(org: Organization) -> None:
    if not org.mcp_analytics:
        raise FeatureDisabled("MCP Analytics is off for this organization; its operator switches it on.")


def window_for(org: Organization, within: Range) -> Window:
    """The range as it is counted now, for those who may look."""
    need_analytics(org)
    return window_of(within, now())


def flag_session(tx: Tx, actor: Actor, org: Organization, session: Session, *, flagged: bool) -> None:
    need_analytics(org)
    actor.need(Role.editor, to="flag a session")
    if not session_store.flag_session(tx, org.id, session.id, flagged=flagged):
        raise NotFound("session")
    audit.record(tx, actor, org.id, "session.flag" if flagged else "session.unflag", session.id)


def change_topic(
    tx: Tx,
    actor: Actor,
    org: Organization,
    topic_id: str,
    *,
    label: str | None = None,
    is_unmet_demand: bool | None = None,
    archived: bool | None = None,
) -> None:
    """What is None stays. A topic whose sessions the actor may not see is unknown to it."""
    need_analytics(org)
    actor.need(Role.editor, to="change a topic")
    if not is_id(topic_id):
        raise NotFound("topic")
    if actor.source_ids is not None:
        topic_store.get_topic(tx, org.id, topic_id, since=org.created_at, source_ids=actor.source_ids)
    changed = {"label": label, "is_unmet_demand": is_unmet_demand, "archived": archived}
    told = {name: value for name, value in changed.items() if value is not None}
    if not topic_store.patch_topic(
        tx, org.id, topic_id, label=label, is_unmet_demand=is_unmet_demand, archived=archived
    ):
        raise NotFound("topic")
    audit.record(tx, actor, org.id, "topic.change", topic_id, **told)
