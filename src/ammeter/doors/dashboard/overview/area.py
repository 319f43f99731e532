"""The area of the overview: the first page of whoever has a source that is served."""

from __future__ import annotations

from ammeter.doors.dashboard.overview.pages import VIEWS
from ammeter.doors.dashboard.site import Area, Entry

AREA = Area(views=VIEWS, entry=Entry(section="", label="Overview", path="/overview", icon="overview"))
