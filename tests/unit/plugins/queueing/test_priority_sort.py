"""Who goes first."""

from __future__ import annotations

from typing import NamedTuple

from tests.unit.plugins.bench import Bench

from bayplan.model import Pod
from bayplan.plugins.queueing.priority_sort import PrioritySort
from bayplan.testing import make_pod


class Queued(NamedTuple):
    pod: Pod
    timestamp: float
    initial_attempt_timestamp: float | None = None
    attempts: int = 0


def test_priority_before_waiting_time() -> None:
    """Higher priority first; at equal priority the longer wait; no priority counts as 0."""
    sort_key = Bench().plugin(PrioritySort).sort_key
    queued = [
        Queued(make_pod("negative", priority=-1), 0.0),
        Queued(make_pod("late", priority=5), 9.0),
        Queued(make_pod("none"), 1.0),
        Queued(make_pod("early", priority=5), 8.0),
        Queued(make_pod("zero", priority=0), 2.0),
    ]
    order = [each.pod.name for each in sorted(queued, key=sort_key)]
    assert order == ["early", "late", "none", "zero", "negative"]
