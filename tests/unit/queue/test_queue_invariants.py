"""The invariants of the queue hold after any sequence of calls."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.unit.queue.support import FOO_ADD, NODE_ADD, NODE_LABEL, Bench

from bayplan.core.cluster_changes import pod_changes
from bayplan.framework import Action
from bayplan.model import Pod
from bayplan.queue import QueuedPodInfo
from bayplan.queue.cluster_events import UNSCHEDULABLE_TIMEOUT, UNSCHEDULED_POD, QueueEvent
from bayplan.testing import make_pod

NAMES = st.sampled_from("abcdef")
PLUGINS = st.sets(st.sampled_from(["Fit", "Outside"]))
EVENTS = st.sampled_from(
    [
        (NODE_ADD, "n"),
        (NODE_ADD, "useless"),
        (NODE_LABEL, "n"),
        (FOO_ADD, None),
        (QueueEvent(UNSCHEDULED_POD, Action.UPDATE_POD_LABEL), None),
        (UNSCHEDULABLE_TIMEOUT, None),
    ]
)


class QueueMachine(RuleBasedStateMachine):
    """The API server, the cycles and the clock, all at once."""

    @initialize()
    def start(self) -> None:
        self.bench = Bench()
        #: The existing pods.
        self.pods: dict[str, Pod] = {}
        self.flying: list[QueuedPodInfo] = []

    @rule(name=NAMES, priority=st.integers(0, 2), gated=st.booleans())
    def create(self, name: str, priority: int, gated: bool) -> None:
        if name not in self.pods:
            self.pods[name] = make_pod(name, priority=priority)
            (self.bench.gate.held.add if gated else self.bench.gate.held.discard)(name)
            self.bench.queue.add(self.pods[name])

    @rule(name=NAMES, priority=st.integers(0, 2), labels=st.sampled_from([{}, {"a": "b"}]))
    def change(self, name: str, priority: int, labels: dict[str, str]) -> None:
        if (old := self.pods.get(name)) is not None:
            new = make_pod(name, priority=priority, labels=labels, metadata={"uid": old.uid, "labels": labels})
            self.pods[name] = new
            self.bench.queue.update(old, new, pod_changes(old, new))

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        if (pod := self.pods.pop(name, None)) is not None:
            self.bench.queue.delete(pod)

    @rule(name=NAMES, held=st.booleans())
    def move_gate(self, name: str, held: bool) -> None:
        (self.bench.gate.held.add if held else self.bench.gate.held.discard)(name)

    @rule()
    def pop(self) -> None:
        had_pod = self.bench.queue.has_ready
        waiting = [info for info, place in self.bench.pods if place == "active"]
        info = self.bench.queue.pop()
        assert (info is not None) == had_pod
        if info is not None:
            assert not waiting or info.pod is waiting[0].pod
            assert info.pod.priority == max((each.pod.priority for each in waiting), default=info.pod.priority)
            self.flying.append(info)

    @precondition(lambda self: self.flying)
    @rule(data=st.data(), plugins=PLUGINS, pending=PLUGINS)
    def fail(self, data: st.DataObject, plugins: set[str], pending: set[str]) -> None:
        info = data.draw(st.sampled_from(self.flying))
        self.flying.remove(info)
        current = self.pods.get(info.pod.name)
        if current is None or current.uid != info.pod.uid:
            self.bench.queue.done(info.pod.uid)
            return
        info.pod = current
        info.note_failure(plugins | pending, pending)
        self.bench.queue.add_unschedulable(info)

    @precondition(lambda self: self.flying)
    @rule(data=st.data())
    def bind(self, data: st.DataObject) -> None:
        info = data.draw(st.sampled_from(self.flying))
        self.flying.remove(info)
        self.bench.queue.done(info.pod.uid)
        current = self.pods.get(info.pod.name)
        if current is not None and current.uid == info.pod.uid:
            del self.pods[info.pod.name]

    @rule(happened=EVENTS)
    def happen(self, happened: tuple[QueueEvent, str | None]) -> None:
        self.bench.queue.move_all_to_active_or_backoff(happened[0], None, happened[1])

    @rule(name=NAMES)
    def activate(self, name: str) -> None:
        self.bench.queue.activate([self.pods.get(name) or make_pod(name)])

    @rule(seconds=st.sampled_from([0.1, 1.0, 3.0, 40.0, 400.0]))
    def wait(self, seconds: float) -> None:
        self.bench.clock.advance(seconds)
        self.bench.queue.flush()

    @invariant()
    def invariants_hold(self) -> None:
        queue = self.bench.queue
        queue.validate()
        # 1. Every existing pod is in one sub-queue; pods that do not exist are at most in flight.
        pods = self.bench.pods
        waiting = {info.key for info, place in pods if place != "in flight"}
        flying = {info.pod.uid for info in self.flying}
        assert {info.pod.uid for info, place in pods if place == "in flight"} == flying
        assert waiting == {pod.key for pod in self.pods.values() if pod.uid not in flying}
        # 2. The counts are right.
        places = [place for _, place in pods]
        assert queue.counts() == tuple(map(places.count, ("active", "backoff", "unschedulable", "gated")))
        # 3. Gated pods were rejected by a gate.
        assert all("Gate" in info.rejectors for info, place in pods if place == "gated")
        # 4. There is a wakeup as long as a pod waits for the clock.
        waits = {"backoff", "unschedulable", "gated"} & set(places)
        assert (queue.next_wakeup(self.bench.clock.now()) is not None) == bool(waits)


TestQueueMachine = QueueMachine.TestCase
TestQueueMachine.settings = settings(max_examples=60, stateful_step_count=60)
