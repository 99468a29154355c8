"""Life of a pod in the queue: tried, rejected, moved by events, retried."""

from __future__ import annotations

import logging

import pytest
from tests.unit.queue.support import FOO_ADD, NODE_ADD, NODE_LABEL, PROFILE, START, Bench, profile_of

from bayplan.observe import klog
from bayplan.queue import QueueError, QueueEvent, SchedulingQueue
from bayplan.queue.cluster_events import ASSIGNED_POD_ADD
from bayplan.testing import make_pod

# --- a first attempt ------------------------------------------------------------------------------


def test_pods_are_popped_by_priority() -> None:
    bench = Bench()
    bench.add(make_pod("low"), make_pod("high", priority=9), make_pod("late"))

    assert [bench.pop().pod.name for _ in range(3)] == ["high", "low", "late"]
    assert bench.queue.pop() is None
    assert bench.queue.scheduling_cycle == 3


def test_attempts_and_first_time_are_remembered() -> None:
    """A pod's latency is measured from when it could first be tried, over all attempts."""
    bench = Bench()
    info = bench.add_rejected(make_pod("p"), "Fit")
    bench.wait(10)
    bench.happen(NODE_ADD, None, "n")
    assert bench.pop() is info
    assert info.attempts == 2
    assert info.initial_attempt_timestamp == START


def test_queue_calls_back_when_a_pod_is_ready() -> None:
    calls: list[bool] = []
    bench = Bench(on_ready=lambda: calls.append(True))
    assert not bench.queue.has_ready
    bench.add(make_pod("p"))
    assert bench.queue.has_ready
    assert calls == [True]
    bench.fail(bench.pop(), "Fit")
    assert not bench.queue.has_ready
    assert calls == [True]


# --- after a rejection ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("waited", "place"),
    [
        pytest.param(0.5, "backoff", id="while it backs off"),
        pytest.param(1.99, "backoff", id="in the second in which the backoff ends"),
        pytest.param(2.0, "active", id="after the backoff"),
    ],
)
def test_event_moves_a_rejected_pod(waited: float, place: str) -> None:
    bench = Bench()
    pod = make_pod("p")
    bench.add_rejected(pod, "Fit")
    assert bench.place(pod) == "unschedulable"
    bench.wait(waited)
    bench.happen(NODE_ADD, None, "n")
    assert bench.place(pod) == place


def test_event_moves_only_pods_that_it_may_help() -> None:
    """Not pods that other plugins rejected, nor pods for which the hint says SKIP."""
    bench = Bench()
    fit, outside = make_pod("fit"), make_pod("outside")
    bench.add_rejected(fit, "Fit")
    bench.add_rejected(outside, "Outside")
    bench.wait(5)
    bench.happen(NODE_ADD, None, "useless")
    bench.happen(NODE_LABEL, None, "n")
    assert bench.counts.unschedulable == 2
    bench.happen(FOO_ADD)
    assert (bench.place(fit), bench.place(outside)) == ("unschedulable", "active")
    bench.happen(NODE_ADD, None, "n")
    assert bench.place(fit) == "active"


def test_pre_check_excludes_pods() -> None:
    bench = Bench()
    pods = [make_pod("a"), make_pod("b")]
    for pod in pods:
        bench.add_rejected(pod, "Fit")
    bench.wait(5)
    bench.queue.move_all_to_active_or_backoff(NODE_ADD, None, "n", lambda info: info.pod.name == "b")

    assert [bench.place(pod) for pod in pods] == ["unschedulable", "active"]


def test_pending_pod_skips_the_backoff() -> None:
    """What it waited for has happened, so there is nothing to back off from."""
    bench = Bench()
    pending, rejected = make_pod("pending"), make_pod("rejected")
    bench.add_rejected(pending, "Outside", pending=["Outside"])
    bench.add_rejected(rejected, "Outside")
    bench.happen(FOO_ADD)

    assert (bench.place(pending), bench.place(rejected)) == ("active", "backoff")


def test_moved_pods_keep_their_order() -> None:
    """They are ordered by when they last came back, not by when they were moved."""
    bench = Bench()
    for name in "cab":
        bench.add_rejected(make_pod(name), "Fit")
        bench.clock.advance(0.1)
    bench.wait(5)
    bench.happen(NODE_ADD, None, "n")

    assert [bench.pop().pod.name for _ in range(3)] == ["c", "a", "b"]


def test_second_entry_of_a_pod_is_refused() -> None:
    bench = Bench()
    pod = make_pod("p")
    info = bench.add_rejected(pod, "Fit")
    with pytest.raises(QueueError, match="default/p is already present"):
        bench.queue.add_unschedulable(info)
    bench.queue.validate()


# --- after an error -------------------------------------------------------------------------------


def test_attempt_with_an_error_backs_off() -> None:
    """It is not popped early, and no event is needed."""
    bench = Bench()
    pod = make_pod("p")
    bench.add_rejected(pod)
    assert bench.place(pod) == "backoff"
    assert bench.queue.pop() is None
    assert bench.queue.next_wakeup(START) == START + 2
    bench.wait(2)
    assert bench.place(pod) == "active"


def test_rejection_resets_consecutive_errors() -> None:
    bench = Bench()
    info = bench.add_rejected(make_pod("p"))
    bench.wait(2)
    bench.fail(bench.pop())
    assert info.consecutive_errors_count == 2
    bench.wait(4)
    bench.fail(bench.pop(), "Fit")
    assert (info.consecutive_errors_count, info.unschedulable_count) == (0, 1)


# --- while a pod is in flight ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "new", "place"),
    [
        pytest.param(NODE_ADD, "n", "backoff", id="one that helps"),
        pytest.param(NODE_ADD, "useless", "unschedulable", id="one that does not"),
        pytest.param(FOO_ADD, "n", "unschedulable", id="one for another plugin"),
        pytest.param(NODE_LABEL, "n", "unschedulable", id="one that no plugin registered for"),
    ],
)
def test_missed_events_are_replayed(event: QueueEvent, new: str, place: str) -> None:
    bench = Bench()
    pod = make_pod("p")
    bench.add(pod)
    info = bench.pop()
    bench.happen(event, None, new)
    bench.fail(info, "Fit")

    assert bench.place(pod) == place


def test_events_before_the_pop_do_not_count() -> None:
    """The attempt has seen their result."""
    bench = Bench()
    first, second = make_pod("first"), make_pod("second")
    bench.add(first, second)
    a = bench.pop()
    bench.happen(NODE_ADD, None, "n")
    b = bench.pop()
    bench.fail(b, "Fit")
    bench.fail(a, "Fit")

    assert (bench.place(first), bench.place(second)) == ("backoff", "unschedulable")


def test_missed_event_of_a_pending_plugin_skips_the_backoff() -> None:
    bench = Bench()
    pod = make_pod("p")
    bench.add(pod)
    info = bench.pop()
    bench.happen(NODE_ADD, None, "n")
    bench.happen(FOO_ADD)
    bench.fail(info, "Fit", "Outside", pending=["Outside"])

    assert bench.place(pod) == "active"


def test_done_pods_are_forgotten() -> None:
    bench = Bench()
    pod = make_pod("p")
    bench.add(pod)
    bench.pop()
    assert bench.place(pod) == "in flight"
    bench.queue.done(pod.uid)
    bench.queue.done(pod.uid)

    assert bench.pods == []


def test_pod_in_flight_twice_is_popped_once(caplog: pytest.LogCaptureFixture) -> None:
    """A pod that is added while it is in flight is a bug elsewhere, and must not be tried twice."""
    bench = Bench()
    pod = make_pod("p")
    bench.add(pod)
    bench.pop()
    bench.queue.add(pod)

    assert bench.queue.pop() is None
    assert "in flight already" in caplog.text


def test_pod_that_was_not_in_flight_goes_to_backoff(caplog: pytest.LogCaptureFixture) -> None:
    """It is not lost, and it is unknown which events it has missed."""
    bench = Bench()
    pod = make_pod("p")
    bench.add(pod)
    info = bench.pop()
    bench.queue.done(pod.uid)
    bench.fail(info, "Fit")

    assert bench.place(pod) == "backoff"
    assert "was not in flight" in caplog.text


# --- backoff --------------------------------------------------------------------------------------


def test_backoff_is_popped_when_nothing_is_active() -> None:
    bench = Bench()
    waiting = make_pod("waiting", priority=9)
    bench.add_rejected(waiting, "Fit")
    bench.happen(NODE_ADD, None, "n")
    bench.add(make_pod("new"))

    assert [bench.pop().pod.name for _ in range(2)] == ["new", "waiting"]
    assert bench.observed.moves[-1] == "active PopFromBackoffQ"


def test_backoff_grows_with_every_rejection() -> None:
    bench = Bench()
    info = bench.add_rejected(make_pod("p"), "Fit")
    for seconds in (1, 2, 4, 8, 10, 10):
        failed_at = info.timestamp
        bench.happen(NODE_ADD, None, "n")
        assert bench.queue.next_wakeup(START) == failed_at + seconds + 1
        bench.wait(seconds + 1)
        assert bench.place(info.pod) == "active"
        bench.fail(bench.pop(), "Fit")


# --- activate, delete -----------------------------------------------------------------------------


def test_activated_pods_are_active_at_once() -> None:
    bench = Bench()
    unschedulable, backing_off = make_pod("unschedulable"), make_pod("backing-off")
    bench.add_rejected(unschedulable, "Fit")
    bench.add_rejected(backing_off)
    bench.step(bench.queue.activate, [unschedulable, backing_off, make_pod("unknown")])

    assert bench.counts == (2, 0, 0, 0)


def test_activated_pod_in_flight_comes_back_to_the_backoff() -> None:
    """The other pods in flight are not affected."""
    bench = Bench()
    activated, other = make_pod("activated"), make_pod("other")
    bench.add(activated, other)
    infos = [bench.pop(), bench.pop()]
    bench.step(bench.queue.activate, [activated])
    for info in infos:
        bench.fail(info, "Fit")

    assert (bench.place(activated), bench.place(other)) == ("backoff", "unschedulable")


def test_deleted_pod_is_in_no_sub_queue() -> None:
    bench = Bench()
    active, backing_off, unschedulable = make_pod("a"), make_pod("b"), make_pod("u")
    bench.add_rejected(backing_off)
    bench.add_rejected(unschedulable, "Fit")
    bench.add(active)
    assert bench.counts == (1, 1, 1, 0)
    for pod in (active, backing_off, unschedulable):
        bench.step(bench.queue.delete, pod)

    assert bench.counts == (0, 0, 0, 0)
    assert bench.observed.holding == {"Fit": 0}


def test_deletion_withdraws_the_nomination() -> None:
    bench = Bench()
    pod = make_pod("p", status={"nominatedNodeName": "n"})
    bench.add(pod)
    assert bench.nominator.nominated("n") == (pod,)
    bench.step(bench.queue.delete, pod)
    assert bench.nominator.nominated("n") == ()


# --- for users and metrics ------------------------------------------------------------------------


def test_pods_remember_where_and_why_they_wait() -> None:
    bench = Bench()
    bench.add_rejected(make_pod("rejected"), "Outside", "Fit")
    bench.add_rejected(make_pod("broken"))
    bench.gate.held.add("gated")
    bench.add(make_pod("gated"), make_pod("flying"), make_pod("waiting"))
    bench.pop()
    found = {info.pod.name: (place, info.attempts, info.rejectors, info.message) for info, place in bench.pods}

    assert found == {
        "flying": ("in flight", 1, set(), ""),
        "waiting": ("active", 0, set(), ""),
        "broken": ("backoff", 1, set(), "no"),
        "rejected": ("unschedulable", 1, {"Fit", "Outside"}, "no"),
        "gated": ("gated", 0, {"Gate"}, "not yet"),
    }


def test_moves_are_observed() -> None:
    bench = Bench()
    pod = make_pod("p")
    bench.add_rejected(pod, "Fit", "Outside")
    assert bench.observed.holding == {"Fit": 1, "Outside": 1}
    bench.happen(NODE_ADD, None, "n")
    bench.wait(2)
    bench.pop()

    assert bench.observed.holding == {"Fit": 0, "Outside": 0}
    assert bench.observed.moves == [
        "active UnschedulablePodAdd",
        "unschedulable ScheduleAttemptFailure",
        "backoff NodeAdd",
        "active BackoffComplete",
    ]


def test_event_without_registrations_is_ignored() -> None:
    """It is not even logged for the pods in flight."""
    bench = Bench()
    bench.add(make_pod("p"))
    info = bench.pop()
    bench.happen(ASSIGNED_POD_ADD, None, make_pod("other", node_name="n"))
    bench.fail(info, "Fit")

    assert bench.place(info.pod) == "unschedulable"


def test_moves_are_logged_at_v5(caplog: pytest.LogCaptureFixture) -> None:
    """With kube-scheduler's message, and its names of the queues."""
    caplog.set_level(logging.INFO - 5, "bayplan.queue")
    bench = Bench()
    bench.add_rejected(make_pod("p"), "Fit")
    bench.happen(NODE_ADD, None, "n")
    lines = [klog.TextFormatter().format(record).partition("] ")[2] for record in caplog.records]

    assert lines == [
        f'"Pod moved to an internal scheduling queue" pod="default/p" event="{event}" queue="{queue}"'
        for event, queue in [
            ("UnscheduledPodAdd", "Active"),
            ("ScheduleAttemptFailure", "Unschedulable"),
            ("NodeAdd", "Backoff"),
        ]
    ]


def test_queue_works_without_an_observer() -> None:
    bench = Bench()
    queue = SchedulingQueue({PROFILE: profile_of(bench.gate)}, bench.nominator, bench.clock)
    bench.gate.held = {"p"}
    queue.add(make_pod("p"))

    assert queue.counts().gated == 1


def test_validate_reports_broken_invariants() -> None:
    bench = Bench()
    info = bench.add_rejected(make_pod("p"), "Fit")
    bench.queue._active.add(info)
    info.gating_plugin = "Gate"

    with pytest.raises(QueueError) as raised:
        bench.queue.validate()

    assert str(raised.value).split("; ") == [
        "default/p is wrongly counted as not gated",
        "default/p can be popped and is gated",
        "default/p is in two sub-queues",
    ]


def test_withdrawn_nomination_is_old() -> None:
    bench = Bench()
    pod = make_pod("p", status={"nominatedNodeName": "n"})
    assert not bench.queue.is_nomination_withdrawn(pod)
    bench.nominator.withdraw(pod, "n")
    assert bench.queue.is_nomination_withdrawn(pod)
