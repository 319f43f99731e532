"""Every area of the dashboard, in the order of the navigation. An area that is not here does not exist."""

from __future__ import annotations

from ammeter.doors.dashboard.bundles.area import AREA as BUNDLES
from ammeter.doors.dashboard.evals.area import CASES, RUNS, SUITES
from ammeter.doors.dashboard.insights.area import FAILED_SEARCHES, SESSIONS, TOPICS
from ammeter.doors.dashboard.overview.area import AREA as OVERVIEW
from ammeter.doors.dashboard.playground.pages import AREA as PLAYGROUND
from ammeter.doors.dashboard.settings.area import AREA as SETTINGS
from ammeter.doors.dashboard.site import Area
from ammeter.doors.dashboard.sources.area import AREA as SOURCES
from ammeter.doors.dashboard.start.area import AREA as START

AREAS: tuple[Area, ...] = (
    START,
    OVERVIEW,
    SOURCES,
    BUNDLES,
    PLAYGROUND,
    CASES,
    SUITES,
    RUNS,
    TOPICS,
    FAILED_SEARCHES,
    SESSIONS,
    SETTINGS,
)
