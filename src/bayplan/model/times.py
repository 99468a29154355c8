"""Times of objects: RFC 3339 text to datetimes, and datetimes to the text the API expects."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime.fromtimestamp(0, UTC)
_MICROSECOND = timedelta(microseconds=1)


@lru_cache(maxsize=65536)
def parse_time(text: str) -> datetime:
    """Parse RFC 3339 text, with or without fractions of a second. Raises ValueError."""
    parsed = datetime.fromisoformat(text)
    if parsed.tzinfo is None:
        raise ValueError(f"time without a zone: {text!r}")
    return parsed.astimezone(UTC)


def time_of(text: str | None) -> datetime | None:
    """Parse an optional time; None for null and for empty text. Raises ValueError."""
    return parse_time(text) if text else None


def micros_of(instant: datetime) -> int:
    """Microseconds since the epoch, exactly."""
    return (instant - _EPOCH) // _MICROSECOND


def format_time(instant: datetime) -> str:
    """To the second, as metav1.Time is written."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_micro_time(instant: datetime) -> str:
    """To the microsecond, as metav1.MicroTime is written: leases and events."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
