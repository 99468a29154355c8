"""Replaced plugins: another order, other gates, other hints, and every waiting pod is retried."""

from __future__ import annotations

from typing import Any

from tests.unit.queue.support import NODE_ADD, PROFILE, Bench, Fit, no_handle, profile_of

from bayplan.framework import Plugin
from bayplan.model import Pod
from bayplan.testing import make_pod


class ByName(Plugin):
    name = "ByName"

    def sort_key(self, pod_info: Any) -> str:
        name: str = pod_info.pod.name
        return name


class EventlessFit(Fit):
    """The same without registered events."""

    events_to_register = ()  # type: ignore[assignment]


def use(bench: Bench, *plugins: Plugin, sort: Plugin | None = None) -> None:
    bench.step(bench.queue.use_plugins, {PROFILE: profile_of(*plugins, sort=sort)})


def test_rejected_and_broken_pods_are_active_at_once() -> None:
    """Regardless of their rejectors and of their backoff: the new plugins may decide otherwise."""
    bench = Bench()
    rejected, broken = make_pod("rejected"), make_pod("broken")
    bench.add_rejected(rejected, "Fit")
    bench.add_rejected(broken)
    assert (bench.place(rejected), bench.place(broken)) == ("unschedulable", "backoff")
    use(bench, Fit(None, no_handle()))
    assert (bench.place(rejected), bench.place(broken)) == ("active", "active")


def test_gates_are_the_new_ones() -> None:
    """A pod that only the old gate rejected becomes active; one that the new gate rejects does not."""
    bench = Bench()
    bench.gate.held = {"held"}
    pod: Pod = make_pod("held")
    bench.add(pod)
    assert bench.place(pod) == "gated"
    use(bench, bench.gate)
    assert bench.place(pod) == "gated"
    use(bench)
    assert bench.place(pod) == "active"


def test_order_is_the_new_one() -> None:
    bench = Bench()
    bench.add(make_pod("c", priority=3), make_pod("a", priority=1), make_pod("b", priority=2))
    use(bench, sort=ByName(None, no_handle()))
    assert [bench.pop().pod.name for _ in range(3)] == ["a", "b", "c"]


def test_hints_are_the_new_ones() -> None:
    """An event that only the old plugin registered for is ignored."""
    bench = Bench()
    pod = make_pod("p")
    use(bench, EventlessFit(None, no_handle()))
    bench.add_rejected(pod, "Fit")
    bench.wait(10)
    bench.happen(NODE_ADD, None, "n")
    assert bench.place(pod) == "unschedulable"


def test_a_pod_in_flight_is_retried() -> None:
    """It was decided by the old plugins, and comes back after the change."""
    bench = Bench()
    pod = make_pod("p")
    bench.add(pod)
    info = bench.pop()
    use(bench, Fit(None, no_handle()))
    bench.fail(info, "Fit")
    assert bench.place(pod) == "backoff"
