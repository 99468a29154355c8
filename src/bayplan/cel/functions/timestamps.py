"""Parts of times and durations: `.getHours()`, `.getFullYear("Europe/Berlin")`."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from bayplan.cel.cel_errors import EvaluationError
from bayplan.cel.checking.declarations import Library
from bayplan.cel.functions.quoting import go_quote
from bayplan.cel.functions.time_text import local_datetime
from bayplan.cel.runtime.cel_values import Duration, Timestamp

_NUMBER = re.compile(r"[+-]?[0-9]+")
_NANOS = 10**9

_PARTS: dict[str, tuple[str, Callable[[datetime], int]]] = {
    "getFullYear": ("timestamp_to_year", lambda time: time.year),
    "getMonth": ("timestamp_to_month", lambda time: time.month - 1),
    "getDayOfYear": ("timestamp_to_day_of_year", lambda time: time.timetuple().tm_yday - 1),
    "getDayOfMonth": ("timestamp_to_day_of_month", lambda time: time.day - 1),
    "getDate": ("timestamp_to_day_of_month_1_based", lambda time: time.day),
    "getDayOfWeek": ("timestamp_to_day_of_week", lambda time: time.isoweekday() % 7),
    "getHours": ("timestamp_to_hours", lambda time: time.hour),
    "getMinutes": ("timestamp_to_minutes", lambda time: time.minute),
    "getSeconds": ("timestamp_to_seconds", lambda time: time.second),
}
_SPANS = {
    "getHours": ("duration_to_hours", 3600 * _NANOS),
    "getMinutes": ("duration_to_minutes", 60 * _NANOS),
    "getSeconds": ("duration_to_seconds", _NANOS),
    "getMilliseconds": ("duration_to_milliseconds", 10**6),
}


def _in_zone(time: Timestamp, zone: str) -> datetime:
    if ":" in zone:
        return local_datetime(time, _offset_seconds(zone))
    return local_datetime(time, _named_zone_seconds(time, zone))


def _offset_seconds(zone: str) -> int:
    hours_text, _, minutes_text = zone.partition(":")
    for text in (hours_text, minutes_text):
        if not _NUMBER.fullmatch(text):
            raise EvaluationError(f"strconv.Atoi: parsing {go_quote(text)}: invalid syntax")
    hours, minutes = int(hours_text), int(minutes_text)
    return (hours * 60 - minutes if zone[0] == "-" else hours * 60 + minutes) * 60


def _named_zone_seconds(time: Timestamp, zone: str) -> int:
    if zone in ("", "UTC"):
        return 0
    if zone == "Local" or ".." in zone or zone[0] in "/\\" or "\\" in zone:
        raise EvaluationError("time: invalid location name")
    try:
        offset = local_datetime(time, 0).astimezone(ZoneInfo(zone)).utcoffset()
    except (ZoneInfoNotFoundError, ValueError, OSError, OverflowError):
        raise EvaluationError(f"unknown time zone {zone}") from None
    return 0 if offset is None else int(offset.total_seconds())


def _part(read: Callable[[datetime], int]) -> Callable[..., int]:
    def get(time: Timestamp, zone: str = "UTC") -> int:
        return read(_in_zone(time, zone))

    return get


def _milliseconds(time: Timestamp, zone: str = "UTC") -> int:
    _in_zone(time, zone)
    return time.nanos % _NANOS // 10**6


def _span(size: int) -> Callable[[Duration], int]:
    def get(duration: Duration) -> int:
        whole = abs(duration.nanos) // size
        return -whole if duration.nanos < 0 else whole

    return get


def declare_timestamps() -> Library:
    """Functions on times and durations."""
    library = Library()
    functions: dict[str, tuple[str, Callable[..., Any]]] = {
        name: (id, _part(read)) for name, (id, read) in _PARTS.items()
    }
    functions["getMilliseconds"] = ("timestamp_to_milliseconds", _milliseconds)
    for name, (id, function) in functions.items():
        library.overload(name, "timestamp.() -> int", id, function)
        library.overload(name, "timestamp.(string) -> int", f"{id}_with_tz", function)
        if name in _SPANS:
            span_id, size = _SPANS[name]
            library.overload(name, "duration.() -> int", span_id, _span(size))
    return library
