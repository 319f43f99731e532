"""The area of the first steps; no entry leads there, the first page does."""

from __future__ import annotations

from ammeter.doors.dashboard.site import Area
from ammeter.doors.dashboard.start.pages import VIEWS

AREA = Area(views=VIEWS)
