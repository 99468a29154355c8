"""Times and durations as text, as Go's time package reads and writes them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

from bayplan.cel.runtime.cel_values import MAX_INT, MIN_INT, Timestamp

_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?(ns|us|µs|μs|ms|s|m|h)")
_TIME = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})"
)
_EPOCH = date(1970, 1, 1).toordinal()
_NANOS = 10**9
#: Digits of a fraction beyond these are below a nanosecond for every unit.
_MAX_FRACTION = 18


def parse_duration(text: str) -> int | None:
    """Nanoseconds of a text such as 1h30m or -1.5s, or None."""
    sign, rest = (-1, text[1:]) if text[:1] == "-" else (1, text.removeprefix("+"))
    if rest == "0":
        return 0
    total = end = 0
    while end < len(rest):
        found = _PART.match(rest, end)
        if found is None or not (found[1] or found[2]):
            return None
        unit = _UNITS[found[3]]
        fraction = (found[2] or "")[:_MAX_FRACTION]
        whole = int(found[1] or "0") if len(found[1]) < _MAX_FRACTION * 2 else MAX_INT
        total += whole * unit + int((int(fraction or "0") * unit) // 10 ** len(fraction))
        end = found.end()
    nanos = sign * total
    return nanos if rest and MIN_INT <= nanos <= MAX_INT else None


def parse_timestamp(text: str) -> Timestamp | None:
    """A time in RFC 3339, or None."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    zone = _zone_seconds(found[8])
    days = _days(year, month, day)
    if zone is None or days is None or hour > 23 or minute > 59 or second > 59:
        return None
    seconds = (days * 24 + hour) * 3600 + minute * 60 + second - zone
    return Timestamp(seconds * _NANOS + int((found[7] or "")[:9].ljust(9, "0")), zone)


def _zone_seconds(text: str) -> int | None:
    if text == "Z":
        return 0
    hours, minutes = int(text[1:3]), int(text[4:])
    if hours > 24 or minutes > 60:
        return None
    return (-1 if text[0] == "-" else 1) * (hours * 60 + minutes) * 60


def _days(year: int, month: int, day: int) -> int | None:
    """Days since 1970; the year 0, which Python does not know, is one of 366 days."""
    try:
        if year == 0:
            return date(4, month, day).toordinal() - _EPOCH - 3 * 365 - 366
        return date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None


def local_datetime(time: Timestamp, zone_seconds: int) -> datetime:
    """The date and time of day in a zone; whole seconds."""
    seconds = time.nanos // _NANOS + zone_seconds
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)


def rfc3339(time: Timestamp) -> str:
    """A time in the zone that it was written in, with as many digits as it needs."""
    local = local_datetime(time, time.zone_seconds)
    fraction = f".{time.nanos % _NANOS:09d}".rstrip("0").rstrip(".")
    day = f"{local.year:04d}-{local.month:02d}-{local.day:02d}"
    return f"{day}T{local:%H:%M:%S}{fraction}{_zone_text(time.zone_seconds)}"


def _zone_text(zone_seconds: int) -> str:
    if zone_seconds == 0:
        return "Z"
    minutes = abs(zone_seconds) // 60
    return f"{'-' if zone_seconds < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def go_time(time: Timestamp) -> str:
    """A time as Go prints it with %v."""
    local = local_datetime(time, time.zone_seconds)
    fraction = f".{time.nanos % _NANOS:09d}".rstrip("0").rstrip(".")
    zone = _zone_text(time.zone_seconds).replace(":", "")
    name, offset = ("UTC", "+0000") if zone == "Z" else (zone, zone)
    return f"{local:%Y-%m-%d %H:%M:%S}{fraction} {offset} {name}"
