"""Times as the API writes them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from bayplan.model import format_micro_time, format_time, micros_of, parse_time, time_of

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["2026-01-01T12:00:00Z", "2026-01-01T12:00:00.000000Z", "2026-01-01T14:00:00+02:00"]
)
def test_times_are_parsed(text: str) -> None:
    assert parse_time(text) == NOON


def test_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="time without a zone"):
        parse_time("2026-01-01T12:00:00")


@pytest.mark.parametrize("text", [None, ""])
def test_optional_times(text: str | None) -> None:
    assert time_of(text) is None
    assert time_of("2026-01-01T12:00:00Z") == NOON


def test_microseconds_are_exact() -> None:
    assert micros_of(datetime(1970, 1, 1, 0, 0, 1, 3, tzinfo=UTC)) == 1_000_003


def test_times_are_written_in_utc() -> None:
    """metav1.Time to the second, metav1.MicroTime to the microsecond."""
    there = (NOON + timedelta(microseconds=5)).astimezone(timezone(timedelta(hours=2)))

    assert format_time(there) == "2026-01-01T12:00:00Z"
    assert format_micro_time(there) == "2026-01-01T12:00:00.000005Z"
