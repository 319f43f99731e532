"""Time as the interface speaks it: UTC, whole milliseconds, RFC 3339 with `Z`."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def now() -> datetime:
    return from_millis(time.time_ns() // 1_000_000)


def to_millis(at: datetime) -> int:
    return (at - _EPOCH) // _MILLISECOND


def from_millis(millis: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=millis)


def rfc3339(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def parse_rfc3339(text: str) -> datetime:
    """An instant from text; ValueError where it has no time zone or is no date."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone; write it as 2027-01-31T00:00:00Z")
    try:
        return from_millis(to_millis(at.astimezone(UTC)))
    except OverflowError:
        raise ValueError(f"{text!r} is out of range") from None


def month_of(at: datetime) -> tuple[datetime, datetime]:
    """The calendar month, UTC, that holds `at`: its first instant and the next month's first."""
    at = at.astimezone(UTC)
    start = datetime(at.year, at.month, 1, tzinfo=UTC)
    end = datetime(at.year + at.month // 12, at.month % 12 + 1, 1, tzinfo=UTC)
    return start, end
