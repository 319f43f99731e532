"""The area of sources."""

from __future__ import annotations

from ammeter.doors.dashboard.site import Area, Entry
from ammeter.doors.dashboard.sources import detail, listing

AREA = Area(
    entry=Entry(section="Build", label="Sources", path="/sources", icon="source"),
    views=(*listing.VIEWS, *detail.VIEWS),
)
