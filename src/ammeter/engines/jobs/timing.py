"""When something that repeats comes next: a cron line in a time zone, or every so many minutes.

Pure: an instant in, the next one out. Daylight saving follows Debian's cron, as cronsim does: a fixed
local time that a spring night skips runs right after the gap, one that an autumn night repeats runs once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

_ANY_INSTANT = datetime(2027, 1, 1, tzinfo=UTC)
_CRON_FIELDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Either a cron line with its time zone or an interval; ValueError, in words, for anything else."""

    cron: str | None = None
    timezone: str = "UTC"
    every_minutes: int | None = None

    def __post_init__(self) -> None:
        if (self.cron is None) == (self.every_minutes is None):
            raise ValueError("A schedule needs either a cron line or every_minutes, and not both.")
        _zone(self.timezone)
        if self.every_minutes is not None and self.every_minutes < 1:
            raise ValueError(f"every_minutes is {self.every_minutes}; it must be at least 1.")
        if self.cron is not None:
            next_after(self, _ANY_INSTANT)


def next_after(timing: Timing, after: datetime, *, slot: datetime | None = None) -> datetime:
    """The first instant later than `after`. `slot`, an earlier instant of an interval, keeps its phase."""
    if timing.every_minutes is not None:
        period = timedelta(minutes=timing.every_minutes)
        start = after if slot is None or slot > after else slot
        return start + ((after - start) // period + 1) * period
    assert timing.cron is not None
    try:
        if len(timing.cron.split()) != _CRON_FIELDS:
            raise CronSimError("it has not five fields")
        ticks = CronSim(timing.cron, after.astimezone(_zone(timing.timezone)))
        # Within the hour that an autumn night repeats, cronsim may answer with the hour's first pass.
        return next(at for tick in ticks if (at := tick.astimezone(UTC)) > after)
    except (CronSimError, StopIteration) as error:
        reason = str(error)[:1].lower() + str(error)[1:] or "it names a day that never comes"
        raise ValueError(
            f"{timing.cron!r} is not a cron line: {reason}."
            ' Write minute, hour, day, month and weekday, as in "0 6 * * 1".'
        ) from None


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(
            f"{name!r} is not a known time zone; use an IANA name such as Europe/Berlin or UTC."
        ) from None
