"""The pages beside the failed searches: what else agents met that the description could have spared them."""

from __future__ import annotations

from ammeter.doors.dashboard.insights.asked import RangeChoice

Tab = tuple[str, str, bool]
_TABS = (
    ("Searches", "/failed-searches"),
    ("Invented names", "/failed-searches/invented-names"),
    ("Found, not used", "/failed-searches/unused-results"),
    ("Demand by operation", "/failed-searches/demand"),
)


def search_tabs(within: RangeChoice, here: str) -> tuple[Tab, ...]:
    return tuple((label, within.address(path), path == here) for label, path in _TABS)
