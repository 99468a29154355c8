"""A queued pod remembers who rejected it."""

from __future__ import annotations

from bayplan.queue import QueuedPodInfo
from bayplan.testing import make_pod


def test_rejectors_are_those_of_the_last_attempt() -> None:
    """Pending plugins are among them, and an error has none."""
    info = QueuedPodInfo(make_pod("p"), 0.0)
    info.note_failure({"Fit"}, {"Outside"}, "no node")
    assert (info.rejectors, info.message) == ({"Fit", "Outside"}, "no node")
    info.note_failure()
    assert (info.rejectors, info.message) == (set(), "")


def test_pod_is_gated_by_one_plugin() -> None:
    info = QueuedPodInfo(make_pod("p"), 0.0)
    assert not info.is_gated
    info.gating_plugin = "SchedulingGates"
    assert info.is_gated


def test_info_is_readable() -> None:
    assert repr(QueuedPodInfo(make_pod("p"), 0.0)) == "<QueuedPodInfo default/p: 0 attempts>"
