"""The areas of insights: topics, failed searches, sessions."""

from __future__ import annotations

from ammeter.doors.dashboard.insights import drafts, operations, searches, sessions, topics
from ammeter.doors.dashboard.site import Area, Entry

TOPICS = Area(
    views=(*topics.VIEWS, *drafts.VIEWS),
    entry=Entry(section="Understand", label="Topics", path="/topics", icon="topic"),
)
FAILED_SEARCHES = Area(
    # Pages with a name stand before those with an id.
    views=(*operations.VIEWS, *searches.VIEWS),
    entry=Entry(section="Understand", label="Failed searches", path="/failed-searches", icon="search"),
)
SESSIONS = Area(
    views=sessions.VIEWS,
    entry=Entry(section="Understand", label="Sessions", path="/sessions", icon="session"),
)
