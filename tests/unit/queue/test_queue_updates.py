"""A waiting pod changes, in each of the sub-queues."""

from __future__ import annotations

from collections.abc import Sequence

from tests.unit.queue.support import NODE_ADD, Bench, no_handle

from bayplan.framework import Action, ClusterEvent, Hint, Plugin, Resource, Status
from bayplan.model import Pod
from bayplan.plugins.queueing.scheduling_gates import SchedulingGates
from bayplan.testing import make_pod


class Tolerant(Plugin):
    """Rejected the pod for a taint; the pod may be given a toleration."""

    name = "Tolerant"

    def filter(self, state: object, pod: Pod, node: object) -> Status | None: ...

    def events_to_register(self) -> Sequence[ClusterEvent]:
        return (ClusterEvent(Resource.POD, Action.UPDATE_POD_TOLERATION, self._after_change),)

    def _after_change(self, pod: Pod, old: Pod, new: Pod) -> Hint:
        return Hint.QUEUE if pod.uid == new.uid else Hint.SKIP


def tolerant() -> Bench:
    return Bench(Tolerant(None, no_handle()), SchedulingGates(None, no_handle()))


def version(name: str = "p", *, gates: Sequence[str] = (), tolerates: bool = False, **fields: object) -> Pod:
    spec = {
        "schedulingGates": [{"name": gate} for gate in gates],
        "tolerations": [{"operator": "Exists"}] if tolerates else [],
    }
    return make_pod(name, metadata={"uid": name}, spec=spec, **fields)  # type: ignore[arg-type]


def test_active_pod_is_updated_in_place() -> None:
    bench = tolerant()
    bench.add(make_pod("other", priority=1), version())
    old, new = version(), version(priority=2)
    bench.update(old, new)

    assert bench.pop().pod is new


def test_backing_off_pod_is_updated_in_place() -> None:
    bench = tolerant()
    bench.add_rejected(version("broken"))
    bench.add_rejected(version("woken"), "Fit")
    bench.happen(NODE_ADD, None, "n")
    for name in ("broken", "woken"):
        bench.update(version(name), new := version(name, tolerates=True))
        assert bench.place(new) == "backoff"
        info = bench.queue.get(new.key)
        assert info is not None
        assert info.pod is new


def test_unschedulable_pod_moves_if_the_change_may_help() -> None:
    bench = tolerant()
    bench.add_rejected(version(), "Tolerant")
    bench.wait(5)
    bench.update(version(), labelled := version(labels={"a": "b"}))
    assert bench.place(labelled) == "unschedulable"
    bench.update(labelled, new := version(labels={"a": "b"}, tolerates=True))
    assert bench.place(new) == "active"
    assert bench.pop().pod is new


def test_change_for_another_plugin_does_not_help() -> None:
    bench = tolerant()
    bench.add_rejected(version(), "Fit")
    bench.update(version(), new := version(tolerates=True))

    assert bench.place(new) == "unschedulable"


def test_last_gate_removed_lets_the_pod_in() -> None:
    bench = tolerant()
    both, one, none = version(gates=["a", "b"]), version(gates=["b"]), version()
    bench.add(both)
    bench.update(both, one)
    assert bench.place(one) == "gated"
    bench.update(one, none)
    assert bench.place(none) == "active"
    assert bench.pop().attempts == 1


def test_change_in_flight_is_replayed() -> None:
    """The pod comes back as the watch shows it, and the change counts as an event it has missed."""
    bench = tolerant()
    old, new = version(), version(tolerates=True)
    bench.add(old)
    info = bench.pop()
    bench.update(old, new)
    assert bench.counts == (0, 0, 0, 0)
    info.pod = new
    bench.fail(info, "Tolerant")
    assert bench.place(new) == "backoff"


def test_unknown_pod_is_added() -> None:
    bench = tolerant()
    bench.update(version(), new := version(labels={"a": "b"}))

    assert bench.pop().pod is new
    assert bench.observed.moves == ["active UnschedulablePodUpdate"]


def test_nomination_follows_the_pod() -> None:
    """A nomination made here outlasts updates without one; one that the status withdraws is gone."""
    bench = tolerant()
    old, new = version(), version(labels={"a": "b"})
    bench.add_rejected(old, "Fit")
    bench.nominator.add(old, "n")
    bench.update(old, new)
    assert bench.nominator.nominated("n") == (new,)
    told = version(status={"nominatedNodeName": "m"})
    bench.update(new, told)
    assert (bench.nominator.nominated("n"), bench.nominator.nominated("m")) == ((), (told,))
    bench.update(told, version())
    assert list(bench.nominator.nodes()) == []
