"""Gated pods: PreEnqueue keeps them out of the active and the backoff queue."""

from __future__ import annotations

import pytest
from tests.unit.queue.support import NODE_ADD, START, Bench, no_handle

from bayplan.framework import Action, Plugin, Status
from bayplan.model import Pod
from bayplan.observe import klog
from bayplan.queue.cluster_events import UNSCHEDULED_POD, QueueEvent
from bayplan.testing import make_pod

#: The event that the gate registers for.
POD_LABEL = QueueEvent(UNSCHEDULED_POD, Action.UPDATE_POD_LABEL)


class Second(Plugin):
    """Another gate, which counts its calls; it registers for any event."""

    name = "Second"

    def __init__(self) -> None:
        super().__init__(None, no_handle())
        self.refuses = False
        self.n_calls = 0

    def pre_enqueue(self, pod: Pod) -> Status | None:
        self.n_calls += 1
        return Status.unschedulable("second") if self.refuses else None


class Broken(Plugin):
    name = "Broken"

    def pre_enqueue(self, pod: Pod) -> Status | None:
        raise ValueError("broken")


def test_gated_pod_is_not_tried() -> None:
    bench = Bench()
    bench.gate.held = {"p"}
    bench.add(make_pod("p"))

    assert bench.counts == (0, 0, 0, 1)
    assert bench.queue.pop() is None
    assert bench.observed.holding == {"Gate": 1}
    assert bench.observed.moves == ["unschedulable UnschedulablePodAdd"]


def test_latency_is_measured_from_when_the_gate_opens() -> None:
    bench = Bench()
    bench.gate.held = {"p"}
    bench.add(make_pod("p"))
    bench.clock.advance(7)
    bench.gate.held.clear()
    bench.happen(POD_LABEL)

    assert bench.pop().initial_attempt_timestamp == START + 7


def test_gate_is_called_only_for_its_own_events() -> None:
    bench = Bench()
    pod = make_pod("p")
    bench.add_rejected(pod, "Fit")
    bench.gate.held = {"p"}
    bench.wait(5)
    bench.happen(NODE_ADD, None, "n")
    assert bench.place(pod) == "gated"
    bench.gate.held.clear()
    bench.happen(NODE_ADD, None, "n")
    assert bench.place(pod) == "gated"
    bench.happen(POD_LABEL)
    assert bench.place(pod) == "active"


def test_rejected_pod_can_be_gated_instead_of_backing_off() -> None:
    bench = Bench()
    pod = make_pod("p")
    bench.add_rejected(pod, "Fit")
    bench.gate.held = {"p"}
    bench.happen(NODE_ADD, None, "n")

    assert bench.counts == (0, 0, 0, 1)


def test_backed_off_pod_skips_pre_enqueue() -> None:
    """PreEnqueue ran when it entered the backoff queue."""
    bench = Bench()
    bench.add_rejected(make_pod("p"))
    bench.gate.held = {"p"}
    bench.wait(2)

    assert bench.counts.active == 1


def test_activated_pod_must_pass_the_gate() -> None:
    bench = Bench()
    pod = make_pod("p")
    bench.gate.held = {"p"}
    bench.add(pod)
    bench.step(bench.queue.activate, [pod])
    assert bench.place(pod) == "gated"
    bench.gate.held.clear()
    bench.step(bench.queue.activate, [pod])
    assert bench.place(pod) == "active"


def test_gating_plugin_is_called_first() -> None:
    """As long as it rejects the pod, no other is called; then the next one may gate the pod."""
    second = Second()
    bench = Bench(second)
    pod = make_pod("p")
    second.refuses = True
    bench.add(pod)
    bench.gate.held = {"p"}
    bench.happen(POD_LABEL)
    info = bench.queue.get(pod.key)
    assert info is not None
    assert info.gating_plugin == "Second"
    second.refuses = False
    bench.happen(NODE_ADD, None, "n")
    assert (info.gating_plugin, info.rejectors) == ("Gate", {"Gate", "Second"})
    n_calls = second.n_calls
    bench.happen(POD_LABEL)
    assert second.n_calls == n_calls


def test_gate_that_raises_gates_the_pod(caplog: pytest.LogCaptureFixture) -> None:
    bench = Bench(Broken(None, no_handle()))
    pod = make_pod("p")
    bench.add(pod)

    assert bench.place(pod) == "gated"
    line = klog.TextFormatter().format(caplog.records[-1])
    assert line.endswith('"PreEnqueue plugin failed" err="broken" pod="default/p" plugin="Broken"')


def test_pod_of_an_unknown_profile_has_no_gates() -> None:
    bench = Bench()
    bench.add(make_pod("p", scheduler_name="other"))

    assert bench.counts.active == 1
