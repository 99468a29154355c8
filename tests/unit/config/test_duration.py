"""Durations are read and printed as Go does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.config.duration import Duration

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "nanoseconds"),
    [
        pytest.param("15s", 15 * SECOND, id="seconds"),
        pytest.param("1m30s", 90 * SECOND, id="minutes and seconds"),
        pytest.param("1.5h", 5400 * SECOND, id="a fraction of hours"),
        pytest.param(".5s", SECOND // 2, id="a fraction without a whole part"),
        pytest.param("500ms", SECOND // 2, id="milliseconds"),
        pytest.param("20us", 20_000, id="microseconds"),
        pytest.param("20µs", 20_000, id="microseconds with the sign"),
        pytest.param("7ns", 7, id="nanoseconds"),
        pytest.param("-1m", -60 * SECOND, id="negative"),
        pytest.param("+1m", 60 * SECOND, id="with a plus"),
        pytest.param("0", 0, id="zero needs no unit"),
        pytest.param("1s1m", 61 * SECOND, id="units in any order"),
    ],
)
def test_reads_go_notation(text: str, nanoseconds: int) -> None:
    """A duration is a sequence of numbers with units."""
    assert Duration.parse(text) == nanoseconds


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("5", "write 5s for 5 seconds", id="no unit"),
        pytest.param("", "is not a duration", id="empty"),
        pytest.param("s", "is not a duration", id="no number"),
        pytest.param("1d", 'unknown unit "d"', id="days"),
        pytest.param("5 s", 'unknown unit " s"', id="a space"),
        pytest.param("1.5.5s", "without a unit", id="two points"),
        pytest.param("9999999h", "longer than the longest duration", id="too long"),
    ],
)
def test_refuses_with_a_reason(text: str, words: str) -> None:
    """What is not a duration is refused with what would be right."""
    with pytest.raises(ValueError, match=words.replace(".", r"\.")):
        Duration.parse(text)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("600s", "10m0s"),
        ("90m", "1h30m0s"),
        ("0s", "0s"),
        ("100ms", "100ms"),
        ("1500us", "1.5ms"),
        ("2ns", "2ns"),
        ("1.5s", "1.5s"),
        ("-75s", "-1m15s"),
        ("25h", "25h0m0s"),
    ],
)
def test_prints_as_go_does(text: str, printed: str) -> None:
    """Hours, minutes and seconds from one second on; one smaller unit below it."""
    assert str(Duration.parse(text)) == printed


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_what_is_printed_reads_back(nanoseconds: int) -> None:
    """Printing loses nothing."""
    assert Duration.parse(str(Duration(nanoseconds))) == nanoseconds
