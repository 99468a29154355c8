"""Schedules of CronJobs: when they fire next."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from bayplan.controllers.batch.cron_schedule import ScheduleError, parse_schedule

#: A Wednesday.
NOW = datetime(2026, 11, 18, 4, 6, 39, tzinfo=UTC)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ("* * * * *", "2026-11-18T04:07"),
        ("*/15 * * * *", "2026-11-18T04:15"),
        ("5 4 * * *", "2026-11-19T04:05"),
        ("0 0 29 2 *", "2028-02-29T00:00"),
        ("30 2 * * 1-5", "2026-11-19T02:30"),
        ("0 12 * * SUN", "2026-11-22T12:00"),
        ("0 12 * * 7", "2026-11-22T12:00"),
        pytest.param("0 0 1 * mon", "2026-11-23T00:00", id="either day, if both are given"),
        ("10-20/5 * * * *", "2026-11-18T04:10"),
        ("@daily", "2026-11-19T00:00"),
        ("@every 1h30m", "2026-11-18T05:36"),
    ],
)
def test_the_next_time(schedule: str, expected: str) -> None:
    found = parse_schedule(schedule).after(NOW)
    assert found is not None
    assert found.strftime("%Y-%m-%dT%H:%M") == expected


def test_a_day_that_never_comes() -> None:
    assert parse_schedule("0 0 30 2 *").after(NOW) is None


@pytest.mark.parametrize(
    "schedule", ["", "* * * *", "60 * * * *", "5-1 * * * *", "*/0 * * * *", "x * * * *", "@every x"]
)
def test_a_schedule_that_cannot_be_read(schedule: str) -> None:
    with pytest.raises(ScheduleError):
        parse_schedule(schedule)
