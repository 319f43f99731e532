"""Time as the interface speaks it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from ammeter.base.clock import from_millis, month_of, now, parse_rfc3339, rfc3339, to_millis

NEW_YORK_IN_WINTER = timezone(timedelta(hours=-5))


def test_now_is_utc_in_whole_milliseconds() -> None:
    at = now()
    assert at.tzinfo is UTC
    assert at.microsecond % 1000 == 0
    assert abs(at - datetime.now(UTC)) < timedelta(seconds=5)


def test_an_instant_is_written_with_milliseconds_and_z() -> None:
    assert rfc3339(datetime(2026, 7, 1, 12, 30, tzinfo=UTC)) == "2026-07-01T12:30:00.000Z"
    assert rfc3339(datetime(2026, 7, 1, 12, 30, 1, 999_999, tzinfo=UTC)) == "2026-07-01T12:30:01.999Z"
    assert rfc3339(datetime(2026, 12, 31, 22, tzinfo=NEW_YORK_IN_WINTER)) == "2027-01-01T03:00:00.000Z"


def test_what_is_written_reads_back_the_same() -> None:
    for at in (now(), from_millis(0), from_millis(-1), datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)):
        assert parse_rfc3339(rfc3339(at)) == at
        assert from_millis(to_millis(at)) == at


def test_an_instant_of_another_time_zone_reads_as_utc_and_loses_what_is_below_a_millisecond() -> None:
    read = parse_rfc3339("2026-07-01T12:30:00.123456+02:00")
    assert read == datetime(2026, 7, 1, 10, 30, 0, 123_000, tzinfo=UTC)
    assert read.tzinfo is UTC


def test_an_instant_without_a_time_zone_is_refused_and_told_how_to_write_it() -> None:
    with pytest.raises(ValueError, match=r"'2027-01-31T00:00:00' has no time zone; write it as .*Z"):
        parse_rfc3339("2027-01-31T00:00:00")


@pytest.mark.parametrize(
    "text", ["", "soon", "2027-02-30T00:00:00Z", "2027-01-31T25:00:00Z", "1e9", "0001-01-01T00:00:00+01:00"]
)
def test_what_is_no_instant_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_rfc3339(text)


@pytest.mark.parametrize(
    ("at", "start", "end"),
    [
        ("2026-07-15T12:00:00Z", "2026-07-01", "2026-08-01"),
        ("2026-12-31T23:59:59.999Z", "2026-12-01", "2027-01-01"),
        ("2027-01-01T00:00:00Z", "2027-01-01", "2027-02-01"),
        ("2028-02-29T08:00:00Z", "2028-02-01", "2028-03-01"),
        ("2026-11-30T23:59:59.999Z", "2026-11-01", "2026-12-01"),
    ],
)
def test_a_month_is_the_calendar_month_up_to_the_next_ones_first_instant(
    at: str, start: str, end: str
) -> None:
    midnight = "T00:00:00Z"
    assert month_of(parse_rfc3339(at)) == (parse_rfc3339(start + midnight), parse_rfc3339(end + midnight))


def test_a_month_is_utcs_whatever_the_time_zone_of_the_instant() -> None:
    new_year_in_utc = datetime(2026, 12, 31, 22, tzinfo=NEW_YORK_IN_WINTER)
    assert month_of(new_year_in_utc)[0] == datetime(2027, 1, 1, tzinfo=UTC)
