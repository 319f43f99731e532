"""`/sessions`: agents' sittings, in views and one by one as a conversation of searches and scripts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TypedDict, cast, get_args

from starlette.responses import Response

from ammeter.base.ids import is_id
from ammeter.base.pages import Page
from ammeter.doors.dashboard.insights.asked import RangeChoice, range_of, with_analytics
from ammeter.doors.dashboard.insights.searches import source_names
from ammeter.doors.dashboard.site import View as Address
from ammeter.doors.dashboard.tables import MAX_WORDS, PAGE_SIZE, Listing, Query
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.engines.db.database import Tx
from ammeter.features.insights import service, sessions
from ammeter.features.insights.model import Range, View
from ammeter.features.insights.sessions import ANY, SessionFilter, SessionTrace
from ammeter.features.insights.signals import (
    FLAG_WORDS,
    SIGNAL_WORDS,
    Classification,
    SearchFate,
)
from ammeter.features.orgs.model import Role
from ammeter.features.telemetry.model import Event, Session, SessionPage, SessionPlace, SessionSort

VIEW_WORDS: dict[View, str] = {
    "all": "All",
    "high_frustration": "Strained",
    "repeat": "Repeated",
    "flagged": "Flagged",
}
STATE_WORDS = {
    "missed": ("nothing found", "bad"),
    "used": ("used", "good"),
    "unused": ("found, not used", "warn"),
    "passed": ("scripts did without it", "neutral"),
    "open": ("nothing followed yet", "neutral"),
}
_STEPS = 30
_HIGHLIGHTED = 20_000
"""Characters of a script that are coloured; a longer one is shown whole and plain."""
_CURSOR = re.compile(r"(\d{1,16})\.([0-9a-f-]{36})\.(-?\d{1,9})", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Asked(TypedDict):
    """What the address asks of sessions."""

    within: Range
    view: View
    intent: str | None
    search_miss: str | None
    chosen: SessionFilter
    sort: SessionSort


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionsPage:
    within: RangeChoice
    view: View
    views: Sequence[tuple[str, str, bool]]
    intent: str
    search_miss: str
    chosen: SessionFilter
    sort: SessionSort
    rows: Sequence[Session]
    cut_at: datetime | None
    """Sessions from before it were not looked through."""
    sources: dict[str, str]
    environments: Sequence[str]
    newest: str
    """Address of the first page; empty there."""
    older: str
    """Address of the next page; empty at the end."""

    @property
    def is_filtered(self) -> bool:
        return self.has_words or self.view != "all"

    @property
    def has_words(self) -> bool:
        return bool(self.intent or self.search_miss) or self.chosen != ANY

    @property
    def source_choices(self) -> list[tuple[str, str]]:
        return [("", "Every source"), *sorted(self.sources.items(), key=lambda each: each[1].lower())]

    @property
    def environment_choices(self) -> list[tuple[str, str]]:
        return [("", "Every environment"), *((each, each) for each in self.environments)]

    @property
    def unfiltered(self) -> str:
        """The address without words and filters, in this view."""
        return self.within.address("/sessions", view="" if self.view == "all" else self.view)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One event of the conversation, with what is said of it."""

    event: Event
    fate: SearchFate | None
    state: tuple[str, str] | None
    signals: Sequence[Classification]
    flags: Sequence[Classification]

    @property
    def language(self) -> str:
        return "typescript" if len(self.event.code or "") <= _HIGHLIGHTED else "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPageShown:
    session: Session
    source: str
    listing: Listing[Step]
    next_part: str
    """Address of the next part of a very long session; empty at its end."""
    topics: Sequence[Classification]
    signal_words: Sequence[str]
    flag_words: Sequence[str]
    invented: Sequence[str]


async def show_list(visit: Visit) -> Response:
    query, within = visit.query, range_of(visit.query)
    view = cast(View, query.get("view", get_args(View), "all"))
    intent, miss = (query.params.get(name, "")[: 10 * MAX_WORDS] for name in ("intent", "search_miss"))
    chosen = SessionFilter(
        source_id=query.get("source"),
        environment=query.get("environment"),
        client=query.get("client"),
        with_failed_search=query.get("failed") == "yes",
    )
    sort = cast(SessionSort, query.get("sort", get_args(SessionSort), "latest"))
    after = _read_cursor(query)
    asked = Asked(
        within=within.range,
        view=view,
        intent=intent or None,
        search_miss=miss or None,
        chosen=chosen,
        sort=sort,
    )
    found, names, environments = await visit.read(_list, asked, after)
    page = SessionsPage(
        within=within,
        view=view,
        views=[
            (words, query.to(view=None if name == "all" else name, after=None), name == view)
            for name, words in VIEW_WORDS.items()
        ],
        intent=intent,
        search_miss=miss,
        chosen=chosen,
        sort=sort,
        rows=found.rows,
        cut_at=found.cut_at,
        sources=names,
        environments=environments,
        newest=query.to(after=None) if after else "",
        older=query.to(after=_cursor(found.next_after)) if found.next_after else "",
    )
    return visit.page("insights/templates/sessions.html", page, title="Sessions")


async def show_session(visit: Visit) -> Response:
    query = visit.query
    after = query.get("after")
    trace, names = await visit.read(_trace, visit.part("id"), after if is_id(after) else None)
    steps, start = _steps(trace), query.page * _STEPS - _STEPS
    shown = Page(rows=steps[start : start + _STEPS], page=query.page, page_size=_STEPS, total=len(steps))
    session = trace.session
    page = SessionPageShown(
        session=session,
        source=names.get(session.source_id, "A source that is gone"),
        listing=Listing(query=query, page=shown),
        next_part=query.to(after=trace.next_after) if trace.next_after and not shown.has_more else "",
        topics=[each for each in trace.classifications if each.kind == "topic"],
        signal_words=[SIGNAL_WORDS[signal] for signal in session.signals],
        flag_words=[FLAG_WORDS[flag] for flag in session.flags],
        invented=list(dict.fromkeys(name for event in trace.events for name in event.invented)),
    )
    return visit.page("insights/templates/session.html", page, title="Session")


async def flag(visit: Visit) -> Response:
    flagged = (await visit.form()).flag("flagged")
    await visit.write(_flag, visit.part("id"), flagged)
    told = "The session is flagged." if flagged else "Your flag is taken back."
    return visit.go(f"/sessions/{visit.part('id')}", said=told)


def _list(
    tx: Tx, me: Me, asked: Asked, after: SessionPlace | None
) -> tuple[SessionPage, dict[str, str], list[str]]:
    found = sessions.list_sessions(tx, me.actor, me.org, **asked, after=after, limit=PAGE_SIZE)
    return found, source_names(tx, me), sessions.list_environments(tx, me.org)


def _trace(tx: Tx, me: Me, session_id: str, after: str | None) -> tuple[SessionTrace, dict[str, str]]:
    return sessions.get_trace(tx, me.actor, me.org, session_id, after=after), source_names(tx, me)


def _flag(tx: Tx, me: Me, session_id: str, flagged: bool) -> None:
    session = sessions.get_session(tx, me.actor, me.org, session_id)
    service.flag_session(tx, me.actor, me.org, session, flagged=flagged)


def _steps(trace: SessionTrace) -> list[Step]:
    fates = {fate.event.id: fate for fate in trace.searches}
    said: dict[str | None, list[Classification]] = {}
    for each in trace.classifications:
        said.setdefault(each.event_id, []).append(each)
    made = []
    for event in trace.events:
        fate = fates.get(event.id)
        here = said.get(event.id, ())
        made.append(
            Step(
                event=event,
                fate=fate,
                state=STATE_WORDS[fate.state] if fate else None,
                signals=[each for each in here if each.kind == "signal"],
                flags=[each for each in here if each.kind == "flag"],
            )
        )
    return made


def _cursor(place: SessionPlace) -> str:
    return f"{(place.at - _EPOCH) // _MICROSECOND}.{place.id}.{place.value}"


def _read_cursor(query: Query) -> SessionPlace | None:
    """Where the page begins; an address that nobody gave out begins at the first."""
    found = _CURSOR.fullmatch(query.get("after"))
    if found is None:
        return None
    try:
        at = _EPOCH + int(found[1]) * _MICROSECOND
        return SessionPlace(at=at, id=found[2], value=int(found[3]))
    except OverflowError:
        return None


VIEWS = (
    Address(path="/sessions", handle=with_analytics(show_list)),
    Address(path="/sessions/{id}", handle=with_analytics(show_session)),
    Address(path="/sessions/{id}/flag", method="POST", handle=flag, role=Role.editor, to="flag a session"),
)
