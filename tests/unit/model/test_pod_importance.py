"""Which pod is spared when some must go, and how times compare."""

from datetime import UTC, datetime, timedelta

import pytest

from bayplan.model import (
    Pod,
    earliest_start_time,
    format_micro_time,
    format_time,
    importance_key,
    parse_time,
    pod_start_time,
    time_of,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def pod(name: str, priority: int = 0, start: str | None = None) -> Pod:
    """A pod of that priority, started then or not yet."""
    return Pod.from_dict(
        {"metadata": {"name": name}, "spec": {"priority": priority}, "status": {"startTime": start}}
    )


OLD, NEW = "2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        pytest.param(pod("a", 2, NEW), pod("b", 1, OLD), True, id="priority comes first"),
        pytest.param(pod("a", 1, OLD), pod("b", 1, NEW), True, id="then the older"),
        pytest.param(pod("a", 1, OLD), pod("b", 1, OLD), False, id="equals are not more important"),
        pytest.param(pod("a", 1, None), pod("b", 1, NEW), False, id="not started counts as now"),
    ],
)
def test_importance_of_two_pods(first: Pod, second: Pod, expected: bool) -> None:
    """Higher priority, or the same and started earlier."""
    assert (importance_key(first, NOW) < importance_key(second, NOW)) == expected


def test_importance_sorts_pods() -> None:
    """Sorted by the key, the most important pod comes first."""
    pods = [pod("new", 1, NEW), pod("low", 0, OLD), pod("old", 1, OLD), pod("high", 9)]

    assert [each.name for each in sorted(pods, key=lambda each: importance_key(each, NOW))] == [
        "high", "old", "new", "low",
    ]  # fmt: skip


def test_earliest_start_is_of_the_highest_priority() -> None:
    """Only victims of the highest priority count."""
    victims = [pod("a", 1, NEW), pod("b", 0, OLD), pod("c", 1, "2026-01-01T10:30:00Z")]

    assert earliest_start_time(victims, NOW) == datetime(2026, 1, 1, 10, 30, tzinfo=UTC)
    assert earliest_start_time([], NOW) is None


def test_pod_that_has_not_started_starts_now() -> None:
    """Assumed and bound pods without a start time count as starting now."""
    assert pod_start_time(pod("a"), NOW) == NOW


def test_times_of_any_precision_compare() -> None:
    """Seconds, microseconds and offsets are one time line."""
    assert parse_time("2026-01-01T12:00:00Z") == parse_time("2026-01-01T12:00:00.000000Z") == NOW
    assert parse_time("2026-01-01T13:00:00+01:00") == NOW
    assert parse_time("2026-01-01T12:00:00.000001Z") - NOW == timedelta(microseconds=1)
    assert time_of(None) is None


def test_times_need_a_zone() -> None:
    """A time that does not say where it is meant is refused."""
    with pytest.raises(ValueError, match="without a zone"):
        parse_time("2026-01-01T12:00:00")


def test_times_are_written_as_the_api_expects() -> None:
    """To the second for objects, to the microsecond for leases and events."""
    assert format_time(NOW) == "2026-01-01T12:00:00Z"
    assert format_micro_time(NOW) == "2026-01-01T12:00:00.000000Z"
