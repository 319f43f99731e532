"""What every page of insights takes from its address: the range; and the page in place of all of them where
MCP Analytics is off."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypedDict, cast

from starlette.responses import Response

from ammeter.doors.dashboard.tables import Query
from ammeter.doors.dashboard.visit import Me, Visit
from ammeter.features.insights.model import SPANS, Range, Window
from ammeter.features.insights.service import window_for

DEFAULT_RANGE: Range = "7d"
RANGE_WORDS: dict[Range, str] = {
    "24h": "last 24 hours",
    "7d": "last 7 days",
    "30d": "last 30 days",
    "90d": "last 90 days",
}
BEFORE_WORDS: dict[Range, str] = {
    "24h": "the 24 hours before",
    "7d": "the 7 days before",
    "30d": "the 30 days before",
    "90d": "the 90 days before",
}
_LEAST_DAYS = timedelta(days=14)

Handle = Callable[[Visit], Awaitable[Response]]


class Scope(TypedDict):
    """What a reader looks at: a window, and the sources they may see."""

    since: datetime
    until: datetime
    source_ids: tuple[str, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeChoice:
    """The range that is shown, and the addresses of the others."""

    range: Range
    query: Query

    @property
    def words(self) -> str:
        return RANGE_WORDS[self.range]

    @property
    def before(self) -> str:
        return BEFORE_WORDS[self.range]

    def links(self) -> list[tuple[Range, str, bool]]:
        return [(each, self.query.to(range=each, after=None), each == self.range) for each in SPANS]

    def address(self, path: str, **params: object) -> str:
        """Of another page, with the same range."""
        given = {} if self.range == DEFAULT_RANGE else {"range": self.range}
        return Query(path=path, params=given).to(**params)


@dataclass(frozen=True, slots=True, kw_only=True)
class OffPage:
    org_slug: str


def range_of(query: Query) -> RangeChoice:
    return RangeChoice(range=cast(Range, query.get("range", SPANS, DEFAULT_RANGE)), query=query)


def scope_of(me: Me, window: Window) -> Scope:
    return {"since": window.since, "until": window.until, "source_ids": me.actor.source_ids}


def scope_for(me: Me, within: Range) -> Scope:
    return scope_of(me, window_for(me.org, within))


def days_of(scope: Scope) -> Scope:
    """The same, reaching back far enough for a line by day."""
    return {**scope, "since": min(scope["since"], scope["until"] - _LEAST_DAYS)}


def with_analytics(handle: Handle) -> Handle:
    """The page, or what to do where MCP Analytics is off."""

    async def show(visit: Visit) -> Response:
        if not visit.me.org.mcp_analytics:
            page = OffPage(org_slug=visit.me.org.slug)
            return visit.page("insights/templates/off.html", page, title="Insights are off")
        return await handle(visit)

    return show
