"""Names, times and notes of events, and their aggregation."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan.client.event_series import (
    FINISH_SECONDS,
    EventAggregator,
    TrackedEvent,
    UniqueTimestamps,
    event_name,
    micro_time,
    truncate_note,
)


@given(st.text(alphabet="aé€😀", max_size=1500))
def test_notes_are_cut_between_characters(note: str) -> None:
    cut = truncate_note(note)
    if len(note.encode()) <= 1024:
        assert cut == note
    else:
        assert len(cut.encode()) <= 1024
        assert cut.endswith(" ...")
        assert note.startswith(cut.removesuffix(" ..."))


def test_plain_notes_are_cut_as_upstream() -> None:
    assert truncate_note("x" * 1024) == "x" * 1024
    assert truncate_note("x" * 1025) == "x" * 1020 + " ..."


def test_names_are_valid_whatever_the_object_is_called() -> None:
    assert event_name("a1", 0x18E8547C25504060) == "a1.18e8547c25504060"
    assert len(event_name("a" * 253, 255)) == 36


def test_names_differ_within_an_instant() -> None:
    """Of one writer, and of two that write about the same object: else one of the events would be lost."""
    first, second = UniqueTimestamps(), UniqueTimestamps("ElasticQuotaController")
    numbers = [each.next(1_700_000_000.0) for each in (first, second, first, second)]

    assert len(set(numbers)) == 4
    assert all(0 <= number - 1_700_000_000_000_000_000 < 1_100_000 for number in numbers)


_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@given(st.text(alphabet="a0-.é_A", max_size=6), st.sampled_from([0, 250]))
def test_a_name_is_taken_as_it_is_where_it_makes_a_subdomain(regarding: str, longer: int) -> None:
    """RFC 1123, as the API server checks names; any other event has a name of its own."""
    regarding = "a" * longer + regarding
    wanted = f"{regarding}.ff"
    is_valid = _SUBDOMAIN.fullmatch(wanted) is not None and len(wanted) <= 253

    assert (event_name(regarding, 255) == wanted) is is_valid


@given(st.integers(0, 2_000_000_000_000_000))
def test_times_have_microseconds(micros: int) -> None:
    """In UTC; the second is not that of the event before."""
    expected = datetime(1970, 1, 1) + timedelta(microseconds=micros)

    assert micro_time(micros / 1e6) == f"{expected:%Y-%m-%dT%H:%M:%S.%f}Z"


# --- series -----------------------------------------------------------------------------------------------


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bayplan.client.event_series.MAX_TRACKED", 3)
    aggregator = EventAggregator()
    for i in range(5):
        aggregator.add(i, TrackedEvent("ns", "a1", b"{}", 0.0))
    assert [number for number in range(5) if aggregator.get(number) is not None] == [2, 3, 4]


def test_second_event_makes_a_series() -> None:
    aggregator, event = EventAggregator(), TrackedEvent("ns", "a1", b'{"note":"no"}', 0.0)
    aggregator.add("key", event)
    assert aggregator.get("key") is event
    assert event.body() == b'{"note":"no"}'
    assert [aggregator.repeat(event, now) for now in (1.0, 2.0)] == [True, False]
    assert aggregator.series() == [event]
    assert msgspec.json.decode(event.body()) == {
        "note": "no",
        "series": {"count": 3, "lastObservedTime": "1970-01-01T00:00:02.000000Z"},
    }


def test_finished_events_are_forgotten_and_series_returned() -> None:
    """A single event was written when it happened; the last count of a series was not."""
    aggregator = EventAggregator()
    single, series, recent = (TrackedEvent("ns", name, b"{}", 0.0) for name in ("a", "b", "c"))
    for event in (single, series, recent):
        aggregator.add(event.name, event)
    aggregator.repeat(series, 1.0)
    aggregator.repeat(recent, 100.0)
    assert aggregator.remove_finished(FINISH_SECONDS + 2.0) == [series]
    assert [aggregator.get(name) for name in "abc"] == [None, None, recent]
