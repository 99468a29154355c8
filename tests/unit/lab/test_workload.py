"""How the pods of a trace come and go."""

from __future__ import annotations

import pytest
from tests.unit.lab.traces import small_trace

from bayplan.lab import Trace, TraceError, WorkloadOptions


def times(trace: Trace) -> list[float]:
    return [each.time for each in trace.pods]


def test_nothing_changes_by_default() -> None:
    trace = small_trace(3, end=10.0)

    assert WorkloadOptions().applied(trace, seed=0).pods == trace.pods


def test_faster_arrivals_keep_their_lifetimes() -> None:
    faster = WorkloadOptions(speed=2.0).applied(small_trace(3, end=10.0), seed=0)

    assert times(faster) == [0.0, 0.5, 1.0]
    assert [each.end for each in faster.pods] == [10.0, 9.5, 9.0]


def test_rounds_have_names_of_their_own() -> None:
    twice = WorkloadOptions(repeat=2).applied(small_trace(2), seed=0)

    assert times(twice) == [0.0, 1.0, 2.0, 3.0]
    assert [each.pod.name for each in twice.pods] == ["pod-0", "pod-1", "pod-0-1", "pod-1-1"]
    assert len({each.pod.uid for each in twice.pods}) == 4


def test_a_rate_has_its_mean_and_follows_the_seed() -> None:
    trace = small_trace(2000)
    first, again, other = (WorkloadOptions(rate=4.0).applied(trace, seed) for seed in (1, 1, 2))

    assert times(first) == times(again) != times(other)
    assert times(first)[-1] == pytest.approx(500, rel=0.1)


def test_ends() -> None:
    trace = small_trace(1, end=10.0, duration=4.0)
    found = {
        ends: WorkloadOptions(ends=ends).applied(trace, seed=0).pods[0]
        for ends in ("recorded", "duration", "never")
    }

    assert {ends: (each.end, each.duration) for ends, each in found.items()} == {
        "recorded": (10.0, None),
        "duration": (None, 4.0),
        "never": (None, None),
    }


def test_senseless_numbers_are_refused() -> None:
    with pytest.raises(TraceError, match="speed and rate must be more than 0"):
        WorkloadOptions(rate=0.0).applied(small_trace(1), seed=0)
