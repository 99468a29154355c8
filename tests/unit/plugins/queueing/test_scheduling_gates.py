"""Gates hold a pod back until they are all gone."""

from __future__ import annotations

from tests.unit.plugins.bench import Bench

from bayplan.framework import Hint, Status
from bayplan.plugins.queueing.scheduling_gates import SchedulingGates
from bayplan.testing import make_pod


def gated(*gates: str) -> dict[str, list[dict[str, str]]]:
    return {"schedulingGates": [{"name": gate} for gate in gates]}


def test_pod_without_gates_passes() -> None:
    assert Bench().plugin(SchedulingGates).pre_enqueue(make_pod("p")) is None


def test_gates_are_listed() -> None:
    """All gates are named in the order of the spec, as Go prints a list."""
    pod = make_pod("p", spec=gated("example.com/a", "example.com/b"))
    assert Bench().plugin(SchedulingGates).pre_enqueue(pod) == Status.unresolvable(
        "waiting for scheduling gates: [example.com/a example.com/b]"
    )


def test_only_the_pods_own_gates_matter() -> None:
    """The event that gates were removed helps the pod they were removed from."""
    (event,) = Bench().plugin(SchedulingGates).events_to_register()
    pod, other = make_pod("p", spec=gated("a")), make_pod("other")
    assert event.hint is not None
    assert event.hint(pod, pod, pod) is Hint.QUEUE
    assert event.hint(pod, other, other) is Hint.SKIP
