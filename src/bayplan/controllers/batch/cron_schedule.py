"""Schedules of CronJobs: five fields (`*/15 2 * * 1-5`), names (`@daily`), periods (`@every 1h30m`). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple

_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS: Final = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_NAMED: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_PERIOD: Final = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?")
#: 29 February may be eight years away.
_HORIZON_DAYS: Final = 366 * 9


class ScheduleError(ValueError):
    """A schedule that cannot be read."""


class CronSchedule(NamedTuple):
    """The minutes, hours, days of the month, months and days of the week (0 is Sunday) at which it fires."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    #: A day must match both fields if one of them is `*`, otherwise one of them.
    any_day: bool

    def after(self, moment: datetime) -> datetime | None:
        """The first time after *moment*; None if there is none."""
        start = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
        day = start.replace(hour=0, minute=0)
        for _ in range(_HORIZON_DAYS):
            if self._fires_on(day):
                first = max(day, start)
                for hour in sorted(each for each in self.hours if each >= first.hour):
                    least = first.minute if hour == first.hour else 0
                    minute = min((each for each in self.minutes if each >= least), default=None)
                    if minute is not None:
                        return day.replace(hour=hour, minute=minute)
            day += timedelta(days=1)
        return None

    def _fires_on(self, day: datetime) -> bool:
        in_month = day.day in self.days
        in_week = day.isoweekday() % 7 in self.weekdays
        in_both = (in_month or in_week) if self.any_day else (in_month and in_week)
        return day.month in self.months and in_both


class PeriodicSchedule(NamedTuple):
    """Fires after each period."""

    period: timedelta

    def after(self, moment: datetime) -> datetime | None:
        return moment.replace(microsecond=0) + self.period


def parse_schedule(text: str) -> CronSchedule | PeriodicSchedule:
    """Raises ScheduleError."""
    text = text.strip()
    if text.startswith("@every "):
        return _periodic(text.removeprefix("@every ").strip())
    fields = _NAMED.get(text, text).split()
    if len(fields) != 5:
        raise ScheduleError(f"expected exactly 5 fields, found {len(fields)}: {fields}")
    minutes, hours, days, months, weekdays = fields
    return CronSchedule(
        _values(minutes, 0, 59),
        _values(hours, 0, 23),
        _values(days, 1, 31),
        _values(months, 1, 12, _MONTHS, 1),
        frozenset(each % 7 for each in _values(weekdays, 0, 7, _DAYS)),
        any_day=not (days.startswith(("*", "?")) or weekdays.startswith(("*", "?"))),
    )


def _periodic(text: str) -> PeriodicSchedule:
    found = _PERIOD.fullmatch(text)
    if not text or found is None:
        raise ScheduleError(f"failed to parse duration {text!r}")
    hours, minutes, seconds = (int(part or 0) for part in found.groups())
    period = timedelta(hours=hours, minutes=minutes, seconds=seconds)
    return PeriodicSchedule(max(period, timedelta(seconds=1)))


def _values(field: str, least: int, most: int, names: Sequence[str] = (), offset: int = 0) -> frozenset[int]:
    values: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        if span in ("*", "?"):
            low, high = least, most
        else:
            low = _number(first, names, offset)
            high = _number(last, names, offset) if dash else most if step else low
        if not least <= low <= high <= most or (step and (not step.isdigit() or int(step) == 0)):
            raise ScheduleError(f"{part!r} is not a value, a range or a step between {least} and {most}")
        values.update(range(low, high + 1, int(step or 1)))
    return frozenset(values)


def _number(text: str, names: Sequence[str], offset: int) -> int:
    if text.isdigit():
        return int(text)
    if text.lower() in names:
        return names.index(text.lower()) + offset
    raise ScheduleError(f"failed to parse number: {text!r}")
