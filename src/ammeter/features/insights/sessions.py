"""Sessions as people look them up: in views, by intent or failed search, and one of them whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ammeter.base.clock import now
from ammeter.base.errors import NotFound
from ammeter.base.ids import is_id
from ammeter.engines.db.database import Tx
from ammeter.features.insights.model import Range, View, window_of
from ammeter.features.insights.service import need_analytics
from ammeter.features.insights.signals import Classification, SearchFate, classify, search_fates
from ammeter.features.insights.topic_store import topics_of_session
from ammeter.features.orgs.model import Actor, Organization
from ammeter.features.telemetry import session_store, store
from ammeter.features.telemetry.model import Event, Session, SessionPage, SessionPlace, SessionSort
from ammeter.features.telemetry.sessions import RECENT as OVER_AFTER

MOST_EVENTS = 1_000
MOST_CHARACTERS = 4_000_000
_STEP = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTrace:
    session: Session
    events: Sequence[Event]
    searches: Sequence[SearchFate]
    classifications: Sequence[Classification]
    next_after: str | None
    """Id of the last event told, where there are more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Which sessions are asked for beside a view and words; what is empty is not asked."""

    source_id: str = ""
    environment: str = ""
    client: str = ""
    """A part of its name, in any case."""
    with_failed_search: bool = False


ANY = SessionFilter()


def list_sessions(
    tx: Tx,
    actor: Actor,
    org: Organization,
    *,
    within: Range = "7d",
    view: View = "all",
    intent: str | None = None,
    search_miss: str | None = None,
    chosen: SessionFilter = ANY,
    sort: SessionSort = "latest",
    after: SessionPlace | None = None,
    limit: int = 50,
) -> SessionPage:
    """With an event in the range; `after` is the `next_after` of the page before."""
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
        source_id=chosen.source_id,
        environment=chosen.environment,
        client=chosen.client,
        any_failed_search=chosen.with_failed_search,
        over_before=at - OVER_AFTER,
        sort=sort,
        after=after,
        limit=limit,
    )


def list_environments(tx: Tx, org: Organization) -> list[str]:
    need_analytics(org)
    return session_store.list_environments(tx, org.id)


def get_session(tx: Tx, actor: Actor, org: Organization, session_id: str) -> Session:
    need_analytics(org)
    session = session_store.find_session(tx, org.id, session_id) if is_id(session_id) else None
    if session is None or not (actor.source_ids is None or session.source_id in actor.source_ids):
        raise NotFound("session")
    return session


def list_some(tx: Tx, actor: Actor, org: Organization, session_ids: Sequence[str]) -> list[Session]:
    """Those of them that are still kept, in this order."""
    found = {session.id: session for session in session_store.find_sessions(tx, org.id, session_ids)}
    seen = [found[session_id] for session_id in session_ids if session_id in found]
    return [one for one in seen if actor.source_ids is None or one.source_id in actor.source_ids]


def get_trace(
    tx: Tx, actor: Actor, org: Organization, session_id: str, *, after: str | None = None
) -> SessionTrace:
    """What happened in a session, in order. A very long one comes in parts: `after` is where the last part
    ended. What is classified is told of the events of this part; topics and repeats of the whole session."""
    session = get_session(tx, actor, org, session_id)
    events, more = _events(tx, org.id, session_id, after)
    fates = search_fates(events, over=not more and session.last_event_at < now() - OVER_AFTER)
    return SessionTrace(
        session=session,
        events=events,
        searches=fates,
        classifications=[*classify(events, fates), *_of_the_whole(tx, session)],
        next_after=events[-1].id if more else None,
    )


def _events(tx: Tx, org_id: str, session_id: str, after: str | None) -> tuple[list[Event], bool]:
    """As many as one answer may hold, and whether there are more."""
    events, characters = list[Event](), 0
    while True:
        step = store.list_events(tx, org_id, session_id, after=after, limit=_STEP)
        for each in step:
            characters += len(each.event.code or "") + len(each.event.result or "")
            if events and (len(events) >= MOST_EVENTS or characters > MOST_CHARACTERS):
                return events, True
            events.append(each.event)
        if len(step) < _STEP:
            return events, False
        after = step[-1].event.id


def _of_the_whole(tx: Tx, session: Session) -> list[Classification]:
    found = [
        Classification(kind="topic", label=topic_id, text=label)
        for topic_id, label in topics_of_session(tx, session.org_id, session.id)
    ]
    if session.repeat:
        words = "an earlier session of the same key or client had the same intent"
        found.append(Classification(kind="repeat", label="repeat", text=words))
    return found
