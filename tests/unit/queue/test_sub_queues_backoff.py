"""BackoffQueue: how long pods wait, until when, and which may be popped early."""

from __future__ import annotations

import pytest
from tests.unit.queue.support import START, no_handle

from bayplan.plugins.queueing.priority_sort import PrioritySort
from bayplan.queue.pod_info import QueuedPodInfo
from bayplan.queue.sub_queues import BackoffQueue, order_of
from bayplan.testing import VirtualClock, make_pod


def backoff(clock: VirtualClock, initial: float = 1.0, longest: float = 10.0) -> BackoffQueue:
    order = order_of(PrioritySort(None, no_handle()))
    return BackoffQueue(clock, order, initial_seconds=initial, max_seconds=longest)


def rejected(name: str, *, at: float = START, times: int = 1, priority: int = 0) -> QueuedPodInfo:
    info = QueuedPodInfo(make_pod(name, priority=priority), at)
    info.unschedulable_count = times
    info.note_failure({"Fit"})
    return info


def broken(name: str, *, at: float = START, times: int = 1) -> QueuedPodInfo:
    info = QueuedPodInfo(make_pod(name), at)
    info.consecutive_errors_count = times
    return info


@pytest.mark.parametrize(
    ("initial", "longest", "expected"),
    [
        pytest.param(1, 10, [0, 1, 2, 4, 8, 10, 10], id="the defaults"),
        pytest.param(1, 60, [0, 1, 2, 4, 8, 16, 32, 60, 60], id="a longest that is no power of two"),
        pytest.param(3, 3, [0, 3, 3], id="one length only"),
        pytest.param(0, 10, [0, 0, 0], id="no initial backoff"),
        pytest.param(1, 0, [0, 0, 0], id="switched off"),
    ],
)
def test_backoff_doubles_up_to_the_longest(initial: int, longest: int, expected: list[int]) -> None:
    queue = backoff(VirtualClock(START), initial, longest)

    assert [queue.duration_seconds(count) for count in range(len(expected))] == expected


def test_backoff_never_overflows() -> None:
    assert backoff(VirtualClock(START)).duration_seconds(100_000) == 10


@pytest.mark.parametrize(
    ("failed_at", "ends_in"),
    [pytest.param(0.0, 1.0, id="on the second"), pytest.param(0.9, 1.0, id="late in the second")],
)
def test_backoff_ends_with_a_whole_second(failed_at: float, ends_in: float) -> None:
    """The pod waits until the second is over in which its backoff ends."""
    clock = VirtualClock(START)
    queue = backoff(clock)
    info = rejected("p", at=START + failed_at)
    assert queue.expiration(info) == START + ends_in
    clock.advance(ends_in + 0.99)
    assert queue.is_backing_off(info)
    clock.advance(0.01)
    assert not queue.is_backing_off(info)


def test_consecutive_errors_count_by_themselves() -> None:
    """After many rejections and one error, only the error determines the backoff."""
    queue = backoff(VirtualClock(START))
    info = rejected("p", times=4)
    info.consecutive_errors_count = 1

    assert queue.expiration(info) == START + 1


def test_pod_that_never_failed_does_not_wait() -> None:
    queue = backoff(VirtualClock(0.0))

    assert not queue.is_backing_off(QueuedPodInfo(make_pod("p"), 0.0))


def test_switched_off_backoff_delays_no_pod() -> None:
    assert not backoff(VirtualClock(START), 1, 0).is_backing_off(rejected("p", times=9))


def test_pods_of_one_second_are_ordered_by_priority() -> None:
    """By the second in which the backoff ends, then as in the active queue."""
    queue = backoff(VirtualClock(START))
    queue.add(rejected("next second", at=START + 1.1, priority=100))
    queue.add(rejected("low", at=START + 0.1))
    queue.add(rejected("high", at=START + 0.8, priority=10))

    assert [each.pod.name for each in queue] == ["high", "low", "next second"]


def test_only_rejected_pods_are_popped_early() -> None:
    queue = backoff(VirtualClock(START))
    queue.add(broken("broken"))
    queue.add(rejected("rejected", times=3))
    assert queue.n_poppable == 1

    first, second = queue.pop(), queue.pop()
    assert first is not None
    assert first.pod.name == "rejected"
    assert second is None
    assert list(queue.pods) == ["default/broken"]


def test_completed_pods_leave_both_queues() -> None:
    clock = VirtualClock(START)
    queue = backoff(clock)
    for each in (broken("b1"), broken("b2", times=3), rejected("r1"), rejected("r2", times=2)):
        queue.add(each)
    assert queue.next_completion() == START + 2
    clock.advance(2)

    assert [each.pod.name for each in queue.pop_completed()] == ["r1", "b1"]
    assert queue.next_completion() == START + 3
    assert not list(queue.problems())


def test_empty_queue_has_no_next_completion() -> None:
    assert backoff(VirtualClock(START)).next_completion() is None
