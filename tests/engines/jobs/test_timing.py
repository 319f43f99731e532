"""Cron lines, intervals, time zones and the nights that daylight saving changes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ammeter.base.clock import parse_rfc3339, rfc3339
from ammeter.engines.jobs.timing import Timing, next_after


def series(timing: Timing, after: str, count: int) -> list[str]:
    at, found = parse_rfc3339(after), []
    for _ in range(count):
        at = next_after(timing, at)
        found.append(rfc3339(at)[:16])
    return found


def test_a_cron_line_is_read_in_its_time_zone() -> None:
    daily = Timing(cron="30 6 * * *", timezone="America/New_York")
    assert series(daily, "2027-01-10T12:00:00Z", 2) == ["2027-01-11T11:30", "2027-01-12T11:30"]
    assert series(daily, "2027-07-10T12:00:00Z", 1) == ["2027-07-11T10:30"]
    assert series(Timing(cron="0 9 * * MON"), "2027-01-10T12:00:00Z", 2) == [
        "2027-01-11T09:00",
        "2027-01-18T09:00",
    ]


def test_the_next_time_is_later_than_now_even_on_the_dot() -> None:
    daily = Timing(cron="0 6 * * *")
    assert series(daily, "2027-01-10T05:59:59.999Z", 1) == ["2027-01-10T06:00"]
    assert series(daily, "2027-01-10T06:00:00Z", 1) == ["2027-01-11T06:00"]


def test_a_time_that_the_spring_night_skips_runs_after_the_gap() -> None:
    # In Berlin, 02:00 to 03:00 of 2027-03-28 does not exist; 03:00 there is 01:00 UTC.
    daily = Timing(cron="30 2 * * *", timezone="Europe/Berlin")
    assert series(daily, "2027-03-27T00:00:00Z", 3) == [
        "2027-03-27T01:30",
        "2027-03-28T01:00",
        "2027-03-29T00:30",
    ]


def test_a_time_that_the_autumn_night_repeats_runs_once() -> None:
    # In Berlin, 02:00 to 03:00 of 2027-10-31 comes twice: at 00:00 and at 01:00 UTC.
    daily = Timing(cron="30 2 * * *", timezone="Europe/Berlin")
    assert series(daily, "2027-10-30T00:00:00Z", 3) == [
        "2027-10-30T00:30",
        "2027-10-31T00:30",
        "2027-11-01T01:30",
    ]
    # Asked in the middle of the second pass, the answer is not in the first one.
    assert series(daily, "2027-10-31T01:10:00Z", 1) == ["2027-11-01T01:30"]


def test_every_instant_of_a_changing_night_has_a_later_next_time() -> None:
    for cron in ["30 2 * * *", "*/20 2 * * *", "*/15 * * * *", "0 */2 * * *"]:
        timing = Timing(cron=cron, timezone="Europe/Berlin")
        for start in [datetime(2027, 3, 27, 23, tzinfo=UTC), datetime(2027, 10, 30, 23, tzinfo=UTC)]:
            for minutes in range(0, 300, 7):
                after = start + timedelta(minutes=minutes)
                assert after < next_after(timing, after) <= after + timedelta(hours=26)


def test_an_interval_keeps_its_phase_over_times_that_were_missed() -> None:
    every = Timing(every_minutes=15)
    slot = datetime(2027, 1, 1, 10, 5, tzinfo=UTC)
    assert next_after(every, slot) == slot + timedelta(minutes=15)
    assert next_after(every, slot + timedelta(minutes=50), slot=slot) == slot + timedelta(minutes=60)
    assert next_after(every, slot, slot=slot) == slot + timedelta(minutes=15)


@pytest.mark.parametrize(
    "cron",
    [
        "",
        "* * * *",
        "0 0 6 * * *",
        "61 * * * *",
        "0 25 * * *",
        "0 0 31 2 *",
        "@daily",
        "*/0 * * * *",
        "a b c d e",
    ],
)
def test_a_bad_cron_line_is_refused_in_words(cron: str) -> None:
    with pytest.raises(ValueError, match="is not a cron line"):
        Timing(cron=cron)


@pytest.mark.parametrize("name", ["", "Mars/Olympus", "../etc/passwd", "Europe", "/etc/localtime"])
def test_an_unknown_time_zone_is_refused_in_words(name: str) -> None:
    with pytest.raises(ValueError, match="is not a known time zone"):
        Timing(cron="0 6 * * *", timezone=name)


def test_an_interval_is_at_least_a_minute_and_stands_alone() -> None:
    for minutes in (0, -5):
        with pytest.raises(ValueError, match="at least 1"):
            Timing(every_minutes=minutes)
    for timing in ({}, {"cron": "0 6 * * *", "every_minutes": 5}):
        with pytest.raises(ValueError, match="either a cron line or every_minutes"):
            Timing(**timing)  # type: ignore[arg-type]
