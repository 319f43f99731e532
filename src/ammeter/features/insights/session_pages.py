"""Sessions in pages, for whoever reads on and on: as `sessions.list_sessions`, with a place to go on from."""

from __future__ import annotations

from datetime import datetime

from ammeter.base.clock import now
from ammeter.engines.db.database import Tx
from ammeter.features.insights.model import Range, View, window_of
from ammeter.features.insights.service import need_analytics
from ammeter.features.orgs.model import Actor, Organization
from ammeter.features.telemetry import session_store
from ammeter.features.telemetry.model import SessionPage
from ammeter.features.telemetry.sessions import RECENT as OVER_AFTER


def page_sessions(
    tx: Tx,
    actor: Actor,
    org: Organization,
    *,
    within: Range,
    view: View = "all",
    intent: str | None = None,
    search_miss: str | None = None,
    after: tuple[datetime, str] | None = None,
    limit: int = 25,
) -> SessionPage:
    """With an event in the range, the latest first; `after` is the `next_after` of the page before."""
    need_analytics(org)
    at = now()
    return session_store.list_sessions(
        tx,
        org.id,
        since=window_of(within, at).since,
        source_ids=actor.source_ids,
        strained=view == "high_frustration",
        repeat=view == "repeat",
        flagged=view == "flagged",
        intent=intent,
        failed_search=search_miss,
        over_before=at - OVER_AFTER,
        after=after,
        limit=limit,
    )
