"""Life of a pod: inputs in, instructions out. Whatever does not end in a bind gives everything back."""

from __future__ import annotations

import gc
import logging
from typing import Any

import pytest
from tests.unit.core.driver import Driver, Heard, only, told

from bayplan.core.messages import (
    BindingFailed,
    EndWait,
    ObjectChanged,
    PodBound,
    StartBinding,
    StartPreemption,
    WaitEnded,
    WriteStatus,
)
from bayplan.framework import Status
from bayplan.model import Pod
from bayplan.observe.record import Record, Ring
from bayplan.testing import make_node, make_pod

POD = make_pod("p", cpu="1", metadata={"uid": "u"})
TERMINATING = {"uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z"}


def waits(seconds: float = 60) -> Status:
    return Status.wait(timeout_seconds=seconds)


# --- to the bind ------------------------------------------------------------------------------------------


def test_a_pod_is_assumed_and_handed_over_to_binding(caplog: pytest.LogCaptureFixture) -> None:
    """Reserve, Permit and the pre-flight of PreBind are over; the pod counts on its node."""
    caplog.set_level(logging.INFO - 4, "bayplan")
    heard = Heard()
    driver = Driver(options={"observer": heard})

    start = driver.start_binding(POD)

    assert (start.assumed.pod.node_name, start.announced_node, driver.cpu) == ("a", "", 1000)
    assert driver.log == ["reserve", "permit", "pre_bind_pre_flight"]
    assert heard.calls == [("started", "default-scheduler"), ("decided", "a")]
    logged = [message for message in caplog.messages if "schedule pod" in message]
    assert logged == ["About to try and schedule pod", "Attempting to schedule pod"]


def test_a_bound_pod_is_told_about() -> None:
    """The event says where the pod went."""
    heard = Heard()
    driver = Driver(options={"observer": heard})
    driver.core.handle(PodBound(driver.start_binding(POD).assumed))

    assert told(list(driver.core.take_instructions())) == [("Scheduled", "Successfully assigned default/p to a")]
    assert heard.calls[-1] == ("bound", 1)


def test_a_terminating_pod_is_not_tried() -> None:
    driver = Driver()

    instructions = driver.schedule(make_pod("p", metadata=TERMINATING))

    assert told(instructions) == [("FailedScheduling", "skip schedule deleting pod: default/p")]
    assert driver.core.queue.get("default/p") is None


# --- no node ----------------------------------------------------------------------------------------------


def test_a_pod_without_a_node_goes_back_to_the_queue() -> None:
    """Queued with the plugins that rejected it; one event; one condition."""
    heard = Heard()
    driver = Driver(filter=Status.unschedulable("no"), options={"observer": heard})
    message = "0/1 nodes are available: 1 no. preemption: 0/1 nodes are available: "
    message += "1 No preemption victims found for incoming pod."

    instructions = driver.schedule(POD)

    assert told(instructions) == [("FailedScheduling", message), ("Unschedulable", message)]
    info = driver.core.queue.get(POD.key)
    assert info is not None
    assert info.unschedulable_plugins == {"Gate"}
    assert heard.calls[-1] == ("failed", True)


def test_victims_are_evicted_for_a_nominated_pod() -> None:
    """PostFilter found a node with a victim: it is nominated, and the preemption is an instruction."""
    driver = Driver()
    driver.add(make_pod("victim", cpu="4", node_name="a"))

    instructions = driver.schedule(make_pod("vip", cpu="4", priority=10))

    preemption = only(StartPreemption, instructions).preemption
    assert [victim.pod.name for victim in preemption.victims] == ["victim"]
    assert (preemption.preemptor.name, preemption.node_name) == ("vip", "a")
    assert only(WriteStatus, instructions).nominated_node_name == "a"
    assert [pod.name for pod in driver.core.nominator.nominated("a")] == ["vip"]


@pytest.mark.parametrize(
    "seen",
    [None, make_pod("p", node_name="b", metadata={"uid": "u"}), make_pod("p", metadata={"uid": "another"})],
    ids=["deleted", "bound by another scheduler", "replaced by another of the name"],
)
def test_nothing_is_said_about_a_pod_that_is_not_there_any_more(seen: Pod | None) -> None:
    """The bind failed, and meanwhile the watch has shown why nobody needs to be told."""
    driver = Driver(nodes="ab")
    start = driver.start_binding(POD)
    driver.core.handle(ObjectChanged(POD, None))
    if seen is not None:
        driver.core.handle(ObjectChanged(None, seen))
    driver.core.take_instructions()
    driver.core.handle(BindingFailed(start.assumed, Status.failed("409")))

    assert driver.core.take_instructions() == ()


# --- Reserve, Permit, binding fail ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("point", "status", "message", "reason"),
    [
        ("reserve", Status.unschedulable("taken"), "0/1 nodes are available: 1 taken.", "Unschedulable"),
        ("reserve", Status.failed("lost"), 'running Reserve plugin "Gate": lost', "SchedulerError"),
        ("permit", Status.unschedulable("not yet"), "0/1 nodes are available: 1 not yet.", "Unschedulable"),
        ("permit", Status.failed("lost"), 'running Permit plugin "Gate": lost', "SchedulerError"),
        (
            "pre_bind_pre_flight",
            Status.failed("lost"),
            'running PreBindPreFlight "Gate": lost',
            "SchedulerError",
        ),
    ],
)
def test_a_refusal_after_the_choice_frees_the_node(point: str, status: Status, message: str, reason: str) -> None:
    """What was reserved is given back, and the node is free again."""
    answers: dict[str, Any] = {point: status}
    driver = Driver(**answers)

    instructions = driver.schedule(POD)

    assert told(instructions) == [("FailedScheduling", message), (reason, message)]
    assert (driver.cpu, driver.log[-1], driver.core.cache.n_pods) == (0, "unreserve", 0)
    info = driver.core.queue.get(POD.key)
    assert info is not None
    assert info.unschedulable_plugins == ({"Gate"} if reason == "Unschedulable" else set())


@pytest.mark.parametrize(
    ("status", "reason", "is_rejection"),
    [(Status.unschedulable("no"), "Unschedulable", True), (Status.failed("409"), "SchedulerError", False)],
)
def test_a_failed_bind_frees_the_node(status: Status, reason: str, is_rejection: bool) -> None:
    """A rule that says no is told apart from what went wrong."""
    heard = Heard()
    driver = Driver(options={"observer": heard})
    assumed = driver.start_binding(POD).assumed

    driver.core.handle(BindingFailed(assumed, status))

    assert [each[0] for each in told(list(driver.core.take_instructions()))] == ["FailedScheduling", reason]
    assert (driver.cpu, driver.log[-1]) == (0, "unreserve")
    assert heard.calls[-1] == ("failed", is_rejection)
    assert assumed.message.text == status.message


def test_a_pod_on_its_way_keeps_no_columns() -> None:
    """Binds may be thousands behind the decisions: the record of an attempt is for those who ask for it."""
    driver = Driver()
    binding = driver.start_binding(POD)

    gc.collect()
    kept = [each for each in gc.get_objects() if isinstance(each, Record) and each.pod_uid == POD.uid]

    assert binding.assumed.pod.uid == POD.uid
    assert kept == []


def test_a_failed_bind_is_told_in_the_record() -> None:
    records = Ring()
    driver = Driver(options={"records": records})

    driver.core.handle(BindingFailed(driver.start_binding(POD).assumed, Status.unschedulable("no")))

    assert [record.message for record in records] == ["no"]


def test_a_failed_bind_wakes_pods_that_did_not_fit() -> None:
    """The resources that a pod gives back are news to a pod that was tried while they were taken."""
    driver = Driver()
    big = make_pod("big", cpu="4")
    assumed = driver.start_binding(big).assumed
    driver.schedule(make_pod("small", cpu="1"))
    driver.core.handle(BindingFailed(assumed, Status.failed("409")))
    driver.core.handle(ObjectChanged(big, None))
    driver.core.take_instructions()
    driver.clock.advance(2)
    driver.core.run_due()

    assert only(StartBinding, driver.schedule()).assumed.pod.name == "small"


def test_a_pod_that_the_watch_has_confirmed_stays_on_its_node() -> None:
    """A bind whose answer was lost may have gone through: what the watch shows is not undone."""
    driver = Driver()
    assumed = driver.start_binding(POD).assumed
    driver.core.handle(ObjectChanged(POD, assumed.pod))

    driver.core.handle(BindingFailed(assumed, Status.failed("timeout")))

    assert driver.cpu == 1000


@pytest.mark.parametrize("announced", ["a", ""], ids=["announced a moment ago", "never announced"])
def test_a_nomination_that_the_watch_has_not_shown_is_cleared(announced: str) -> None:
    """The status is written as if the pod were known to be nominated, so that the patch clears it."""
    driver = Driver()
    assumed = driver.start_binding(POD).assumed

    driver.core.handle(BindingFailed(assumed, Status.failed("no"), announced))

    write = only(WriteStatus, list(driver.core.take_instructions()))
    assert (write.pod.status.nominated_node_name, write.nominated_node_name) == (announced, "")


def test_a_bug_of_ours_fails_one_attempt() -> None:
    """The pod goes back to the queue, and the next one is tried."""

    def break_tie(pod: Pod, nodes: Any, best: Any) -> int:
        if pod is POD:
            raise RuntimeError("broken")
        return int(best[0])

    driver = Driver(nodes="ab", options={"tie_breaker": break_tie})

    assert told(driver.schedule(POD))[0] == ("FailedScheduling", "RuntimeError: broken")
    assert only(StartBinding, driver.schedule(make_pod("next"))).assumed.pod.name == "next"


def test_an_exception_after_reserve_gives_back_what_was_reserved() -> None:
    """A timeout that is no number breaks Permit in the middle."""
    driver = Driver(permit=lambda: Status.wait(timeout_seconds="soon"))  # type: ignore[arg-type]

    reason, _ = told(driver.schedule(POD))[0]

    assert (reason, driver.log[-1], driver.cpu) == ("FailedScheduling", "unreserve", 0)


def test_a_failed_pre_flight_does_not_wait_at_permit() -> None:
    driver = Driver(permit=waits(), pre_bind_pre_flight=Status.failed("lost"))

    assert told(driver.schedule(POD))[1] == ("SchedulerError", 'running PreBindPreFlight "Gate": lost')
    assert (len(driver.core.waiting_pods), driver.cpu) == (0, 0)


def test_a_pod_that_is_queued_already_costs_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    """The assumed pod turned terminating and came back to the queue while its bind was under way."""
    driver = Driver()
    assumed = driver.start_binding(POD).assumed
    terminating = make_pod("p", cpu="1", metadata={**TERMINATING, "resourceVersion": "2"})
    later = make_pod("p", cpu="1", labels={"a": "b"}, metadata={**TERMINATING, "resourceVersion": "3"})
    driver.core.handle(ObjectChanged(POD, terminating))
    driver.core.handle(ObjectChanged(terminating, later))
    driver.core.take_instructions()

    driver.core.handle(BindingFailed(assumed, Status.failed("404")))

    assert [reason for reason, _ in told(list(driver.core.take_instructions()))] == [
        "FailedScheduling",
        "SchedulerError",
    ]
    assert "Error occurred while requeueing pod" in caplog.messages


# --- waiting at Permit ------------------------------------------------------------------------------------


def test_a_waiting_pod_is_bound_when_allowed() -> None:
    heard = Heard()
    driver = Driver(permit=waits(), options={"observer": heard})
    assert driver.schedule(POD) == []
    waiting = driver.core.waiting_pods.get("u")
    assert waiting is not None
    assert waiting.pending_plugins == ("Gate",)
    driver.clock.advance(0.25)

    waiting.allow("Gate")
    driver.core.handle(WaitEnded(only(EndWait, list(driver.core.take_instructions())).waiting))

    assert only(StartBinding, list(driver.core.take_instructions())).announced_node == ""
    assert len(driver.core.waiting_pods) == 0
    assert heard.calls[-1] == ("waited", pytest.approx(0.25))


@pytest.mark.parametrize(("seconds", "announced"), [(0.1, ""), (30.0, "a")], ids=["decided at once", "late"])
def test_a_pod_that_waits_for_long_is_announced(seconds: float, announced: str) -> None:
    """Its status tells where it will go, once, unless it is decided about within a moment."""
    driver = Driver(permit=waits())
    driver.schedule(POD)
    driver.clock.advance(seconds)
    driver.core.run_due()
    driver.core.run_due()

    writes = [each for each in driver.core.take_instructions() if isinstance(each, WriteStatus)]

    assert [(each.condition, each.nominated_node_name) for each in writes] == [(None, "a")] * bool(announced)
    waiting = driver.core.waiting_pods.get("u")
    assert waiting is not None
    assert waiting.announced_node == announced


@pytest.mark.parametrize(
    ("end", "reason", "message"),
    [
        ("reject", "Unschedulable", "0/1 nodes are available: 1 group is gone."),
        ("preempt", "SchedulerError", "waiting on permit for pod: group is gone"),
    ],
)
def test_a_waiting_pod_that_is_rejected_goes_back(end: str, reason: str, message: str) -> None:
    """A pod preempted while it waits is not unschedulable: it is tried again after a backoff."""
    driver = Driver(permit=waits())
    driver.schedule(POD)
    waiting = driver.core.waiting_pods.get("u")
    assert waiting is not None
    assert getattr(waiting, end)("Gang", "group is gone") is True
    assert waiting.reject("Gang", "again") is False
    driver.core.handle(WaitEnded(only(EndWait, list(driver.core.take_instructions())).waiting))

    assert told(list(driver.core.take_instructions()))[1] == (reason, message)
    assert (driver.cpu, len(driver.core.waiting_pods)) == (0, 0)


def test_a_waiting_pod_times_out() -> None:
    """After the timeout the pod is rejected in the plugin's name, with kube-scheduler's words."""
    driver = Driver(permit=waits(90))
    driver.schedule(POD)
    start = driver.clock.now()
    assert driver.core.next_wakeup() == driver.clock.now() + 0.5
    driver.clock.advance(1)
    driver.core.run_due()
    driver.core.take_instructions()
    due = driver.core.next_wakeup()
    assert due is not None
    driver.clock.advance(due - driver.clock.now())
    driver.core.run_due()
    driver.core.handle(WaitEnded(only(EndWait, list(driver.core.take_instructions())).waiting))

    assert told(list(driver.core.take_instructions()))[1] == (
        "Unschedulable",
        "0/1 nodes are available: 1 rejected due to timeout after waiting 1m30s at plugin Gate.",
    )
    assert driver.clock.now() - start == pytest.approx(90, abs=1e-3)


def test_a_waiting_pod_that_is_deleted_gives_its_node_back() -> None:
    driver = Driver(permit=waits())
    driver.schedule(POD)
    driver.core.handle(ObjectChanged(POD, None))
    driver.core.handle(WaitEnded(only(EndWait, list(driver.core.take_instructions())).waiting))

    assert (driver.cpu, list(driver.core.take_instructions())) == (0, [])


def test_a_new_node_is_used_for_the_next_pod() -> None:
    driver = Driver(nodes="")
    assert told(driver.schedule(POD))[0] == ("FailedScheduling", "no nodes available to schedule pods")
    driver.core.handle(ObjectChanged(None, make_node("late")))

    assert driver.start_binding(make_pod("q")).assumed.node_name == "late"
