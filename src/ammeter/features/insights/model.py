"""What insights speak of, as values: ranges and their windows, session views, KPIs, trend points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from ammeter.features.telemetry.tally import WIDTH, Bucket, bucket_start

Range = Literal["24h", "7d", "30d", "90d"]
View = Literal["all", "high_frustration", "repeat", "flagged"]

SPANS: dict[Range, timedelta] = {
    "24h": timedelta(hours=24),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
    "90d": timedelta(days=90),
}
BUCKETS: dict[Range, Bucket] = {"24h": "hour", "7d": "hour", "30d": "day", "90d": "day"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A range as it is counted. It begins with the whole bucket that holds the instant so long ago, so
    that everything within the range is in it, and ends now; the one before is as long as the range says."""

    range: Range
    bucket: Bucket
    since: datetime
    """Included."""
    until: datetime
    """Now; included."""

    @property
    def previous_since(self) -> datetime:
        return self.since - SPANS[self.range]

    def bucket_starts(self) -> list[datetime]:
        """Every bucket of the window, empty ones too."""
        last, width = bucket_start(self.until, self.bucket), WIDTH[self.bucket]
        return [self.since + width * number for number in range((last - self.since) // width + 1)]


def window_of(within: Range, at: datetime) -> Window:
    bucket = BUCKETS[within]
    return Window(range=within, bucket=bucket, since=bucket_start(at - SPANS[within], bucket), until=at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kpi:
    value: float | None
    """None where there is nothing to tell it from."""
    previous: float | None
    """Of the window before."""
    n: int
    """How many observations the value is made of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    at: datetime
    sessions: int
    scripts: int
    script_errors: int
    searches: int
    search_misses: int
    avg_frustration: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """How much of what happened the figures can speak of."""

    sessions: int
    sessions_with_intent: int
    scripts: int
    scripts_with_frustration: int
    data_since: datetime | None
    """Start of the first day that has telemetry; None where there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    window: Window
    kpis: dict[str, Kpi]
    points: Sequence[Point]
    coverage: Coverage
