"""The driver: trace in, what happened out."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.lab.traces import names, small_trace

from bayplan import Plugin, Status
from bayplan.lab import (
    NodeDeparture,
    ObjectArrival,
    PodArrival,
    SimulationOptions,
    Trace,
    TraceError,
    WorkloadOptions,
    simulate,
)
from bayplan.testing import make_node, make_pod

BY_NAME = SimulationOptions(ties="name")


def test_pods_are_placed_as_the_scheduler_places_them() -> None:
    """Least allocated by default: one pod here, one there."""
    results = simulate(small_trace(3), options=BY_NAME)

    assert names(results.pods["name"]) == ["pod-0", "pod-1", "pod-2"]
    assert results.pods["node"].tolist() == ["node-0", "node-1", "node-0"]
    assert results.allocation_rate("cpu_milli").tolist() == [25.0, 50.0, 75.0]


def test_the_same_seed_gives_the_same_bytes() -> None:
    first, second = (simulate(small_trace(4), options=SimulationOptions(seed=7)).files() for _ in range(2))

    assert first == second


def test_a_pod_waits_for_one_that_ends() -> None:
    """Five pods of one core, room for four; the first leaves after its ten seconds."""
    results = simulate(
        small_trace(5, duration=10.0), options=SimulationOptions(workload=WorkloadOptions(ends="duration"))
    )

    waited = results.waiting_seconds
    assert results.scheduled.all()
    assert waited[:4].max() < 0.01
    # It had failed at four seconds; the first pod leaves at ten, when its backoff is over.
    assert 6.0 <= waited[4] < 7.0
    assert results.pods["attempts"].tolist() == [1, 1, 1, 1, 2]
    assert results.allocation_rate("cpu_milli")[-1] == 0.0


def test_without_retries_a_pod_that_does_not_fit_leaves() -> None:
    results = simulate(small_trace(5, duration=10.0), options=SimulationOptions(retries=False))

    assert results.scheduled.tolist() == [True] * 4 + [False]
    assert results.summary()["pods_that_left_without_a_node"] == 1


def test_what_never_fits_stays_pending_and_the_simulation_ends() -> None:
    results = simulate(small_trace(5))

    assert results.summary()["pending_pods"] == 1
    assert results.summary()["scheduling_outcome_rate"] == 80.0


def test_a_pod_of_higher_priority_takes_the_place_of_another() -> None:
    trace = small_trace(4)
    urgent = PodArrival(9.0, make_pod("urgent", cpu="1", priority=100))

    results = simulate(trace.with_pods([*trace.pods, urgent]))

    assert results.summary()["preemptions"] == 1
    assert results.scheduled.all()
    assert results.pods["preempted"].sum() == 1
    assert results.samples["pending_pods"][-1] == 0


def test_permit_waits_in_virtual_time() -> None:
    class Patience(Plugin):
        name = "Patience"

        def permit(self, state, pod, node_name):  # type: ignore[no-untyped-def]
            return Status.wait(timeout_seconds=3600) if pod.name == "pod-0" else None

        def reserve(self, state, pod, node_name):  # type: ignore[no-untyped-def]
            for waiting in self.handle.waiting_pods if pod.name == "pod-1" else ():
                waiting.allow(self.name)

    results = simulate(small_trace(2), plugins=[Patience])

    assert results.waiting_seconds == pytest.approx([1.0, 0.0], abs=0.01)


def test_pods_go_with_their_node() -> None:
    trace = Trace.of([*small_trace(2).entries, NodeDeparture(5.0, "node-0")])

    results = simulate(trace, options=BY_NAME)

    assert np.isnan(results.pods["end_seconds"]).tolist() == [False, True]
    assert results.samples["capacity_cpu_milli"][-1] == 2000


def test_pods_that_are_there_at_the_start_count() -> None:
    trace = small_trace(2)
    there = PodArrival(0.0, make_pod("there", cpu="2", node_name="node-0"))

    results = simulate(trace.with_pods([there, *trace.pods]))

    assert results.pods["node"].tolist() == ["node-0", "node-1", "node-1"]


def test_a_pod_larger_than_any_node_is_named() -> None:
    with pytest.raises(TraceError) as caught:
        simulate(small_trace(1, cpu="3"))

    assert str(caught.value) == (
        "the pod default/pod-0 at 0 s is larger than any node: it asks for cpu 3000m, "
        "the largest amounts of any node are cpu 2000m"
    )


def test_gpus_count_as_well() -> None:
    trace = small_trace(0)
    annotations = {"alibabacloud.com/gpu-count": "2", "alibabacloud.com/gpu-milli": "1000"}
    greedy = PodArrival(3.0, make_pod("greedy", metadata={"annotations": annotations}))

    with pytest.raises(TraceError, match=r"the pod default/greedy at 3 s is larger than any node: .* gpu 2000m"):
        simulate(trace.with_pods([greedy]))


def test_without_retries_a_pod_may_be_larger_than_any_node() -> None:
    results = simulate(small_trace(1, cpu="3"), options=SimulationOptions(retries=False))

    assert results.summary()["pods_that_left_without_a_node"] == 1


def test_a_trace_needs_nodes() -> None:
    with pytest.raises(TraceError, match="the trace has no node"):
        simulate(Trace.of([PodArrival(0.0, make_pod("p"))]))


def test_a_pod_cannot_come_twice() -> None:
    trace = Trace.of(
        [ObjectArrival(0.0, make_node("n")), *(PodArrival(time, make_pod("p")) for time in (1.0, 2.0))]
    )

    with pytest.raises(TraceError, match="the pod default/p comes at 2 s, but is there already"):
        simulate(trace)
