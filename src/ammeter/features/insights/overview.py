"""The overview: headline figures beside those of the window before, trend lines, and what they rest on.

Everything comes from the roll-ups: hours for 24h and 7d, days for 30d and 90d. A session counts in the bucket
of its first event, everything else in the bucket in which it happened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from ammeter.base.clock import now
from ammeter.engines.db.database import Tx
from ammeter.features.insights.model import Coverage, Kpi, Overview, Point, Range, Window, window_of
from ammeter.features.insights.service import need_analytics
from ammeter.features.orgs.model import Actor, Organization
from ammeter.features.telemetry import store
from ammeter.features.telemetry.tally import DURATIONS, ROLL_UP_COUNTS, Row, median_ms

Sums = Mapping[str, int]

_MOMENT = timedelta(milliseconds=1)


def read_overview(
    tx: Tx, actor: Actor, org: Organization, *, within: Range = "7d", at: datetime | None = None
) -> Overview:
    need_analytics(org)
    window = window_of(within, at or now())
    end = window.until + _MOMENT
    sources = actor.source_ids

    rows = store.sums(tx, org.id, window.bucket, since=window.since, until=end, source_ids=sources)
    earlier = {"since": window.previous_since, "until": window.since}
    mine, before = _added(rows), store.total(tx, org.id, window.bucket, **earlier, source_ids=sources)
    return Overview(
        window=window,
        kpis=_kpis(mine, before),
        points=_points(window, rows),
        coverage=Coverage(
            sessions=mine["sessions"],
            sessions_with_intent=mine["sessions_with_intent"],
            scripts=mine["scripts"],
            scripts_with_frustration=mine["frustration_count"],
            data_since=store.first_day(tx, org.id, source_ids=sources),
        ),
    )


def _added(rows: Sequence[Row]) -> Sums:
    return {name: sum(row[name] for row in rows) for name in ROLL_UP_COUNTS}


def _kpis(mine: Sums, before: Sums) -> dict[str, Kpi]:
    def count(name: str) -> Kpi:
        return Kpi(value=mine[name], previous=before[name], n=mine[name])

    def share(part: str, whole: str) -> Kpi:
        return Kpi(value=_share(mine, part, whole), previous=_share(before, part, whole), n=mine[whole])

    errors = share("script_errors", "scripts")
    return {
        "sessions": count("sessions"),
        "scripts": count("scripts"),
        "searches": count("searches"),
        "script_success_rate": Kpi(value=_rest(errors.value), previous=_rest(errors.previous), n=errors.n),
        "search_miss_rate": share("search_misses", "searches"),
        "first_script_success_rate": share("first_script_successes", "first_scripts"),
        "avg_frustration": share("frustration_sum", "frustration_count"),
        "high_frustration_sessions": Kpi(
            value=mine["strained_sessions"], previous=before["strained_sessions"], n=mine["sessions"]
        ),
        "median_script_ms": Kpi(value=_median(mine), previous=_median(before), n=mine["scripts"]),
        "upstream_calls": count("calls"),
    }


def _share(sums: Sums, part: str, whole: str) -> float | None:
    return sums[part] / sums[whole] if sums[whole] else None


def _rest(share: float | None) -> float | None:
    return None if share is None else 1 - share


def _median(sums: Sums) -> float | None:
    return median_ms([sums[name] for name in DURATIONS])


def _points(window: Window, rows: Sequence[Row]) -> list[Point]:
    told = {row["at"]: row for row in rows}
    empty: Row = dict.fromkeys(ROLL_UP_COUNTS, 0)
    return [_point(at, told.get(at, empty)) for at in window.bucket_starts()]


def _point(at: datetime, row: Row) -> Point:
    return Point(
        at=at,
        sessions=row["sessions"],
        scripts=row["scripts"],
        script_errors=row["script_errors"],
        searches=row["searches"],
        search_misses=row["search_misses"],
        avg_frustration=_share(row, "frustration_sum", "frustration_count"),
    )
