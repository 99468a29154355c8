"""InFlightPods: events are logged as long as a pod is in flight that was popped before them."""

from __future__ import annotations

from tests.unit.queue.support import NODE_ADD

from bayplan.queue.pod_info import QueuedPodInfo
from bayplan.queue.sub_queues import InFlightPods
from bayplan.testing import make_pod


def pod(name: str) -> QueuedPodInfo:
    return QueuedPodInfo(make_pod(name, metadata={"uid": name}), 0.0)


def missed(in_flight: InFlightPods, uid: str) -> list[object]:
    assert not list(in_flight.problems())
    return [each.new for each in in_flight.missed_by(uid)]


def n_events(in_flight: InFlightPods) -> int:
    return in_flight.counts().get("NodeAdd", 0)


def test_pod_has_missed_what_came_after_it() -> None:
    in_flight = InFlightPods()
    in_flight.start(pod("a"))
    in_flight.log(NODE_ADD, None, 1)
    in_flight.start(pod("b"))
    in_flight.log(NODE_ADD, None, 2)

    assert missed(in_flight, "a") == [1, 2]
    assert missed(in_flight, "b") == [2]


def test_events_that_no_pod_missed_are_dropped() -> None:
    """When the first pod is done, the events that only it missed; when the last one is, all events."""
    in_flight = InFlightPods()
    in_flight.log(NODE_ADD, None, 0)
    assert n_events(in_flight) == 0
    for name in "abc":
        in_flight.start(pod(name))
        in_flight.log(NODE_ADD, None, name)
    in_flight.done("b")
    assert n_events(in_flight) == 3
    assert missed(in_flight, "a") == ["a", "b", "c"]
    in_flight.done("a")
    assert n_events(in_flight) == 1
    assert missed(in_flight, "c") == ["c"]
    in_flight.done("c")
    in_flight.done("c")
    assert n_events(in_flight) == 0
    assert not in_flight.pods


def test_log_goes_on_after_dropping() -> None:
    in_flight = InFlightPods()
    for round_ in range(3):
        in_flight.start(pod("a"))
        in_flight.log(NODE_ADD, None, round_)
        assert missed(in_flight, "a") == [round_]
        in_flight.done("a")


def test_pod_is_in_flight_once() -> None:
    in_flight = InFlightPods()
    assert in_flight.start(pod("a"))
    assert not in_flight.start(pod("a"))
