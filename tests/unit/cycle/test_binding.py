"""From a decision to a bind: assume, reserve, permit, wait, prepare, bind; everything is given back on failure."""

from __future__ import annotations

import asyncio
from typing import Any, ClassVar

import pytest

from bayplan.cycle.binding import BindingCycle
from bayplan.cycle.commit import Commitment, Committer
from bayplan.cycle.failure import Failure
from bayplan.cycle.waiting import HeldPods
from bayplan.framework import BindingRunner, CycleState, Plugin, Status
from bayplan.model import Pod
from bayplan.testing import Harness, make_node, make_pod

pytestmark = [pytest.mark.asyncio, pytest.mark.looptime]


class Gate(Plugin):
    """Does as it is told at every point of the way, and writes down what it was asked."""

    name = "Gate"
    log: ClassVar[list[str]] = []
    answers: ClassVar[dict[str, Status]] = {}

    def _answer(self, point: str) -> Status | None:
        self.log.append(point)
        return self.answers.get(point)

    def reserve(self, state: Any, pod: Any, node_name: str) -> Status | None:
        return self._answer("reserve")

    def unreserve(self, state: Any, pod: Any, node_name: str) -> None:
        self._answer("unreserve")

    def permit(self, state: Any, pod: Any, node_name: str) -> Status | None:
        return self._answer("permit")

    def pre_bind_pre_flight(self, state: Any, pod: Any, node_name: str) -> Status | None:
        return self._answer("pre_bind_pre_flight")

    async def pre_bind(self, state: Any, pod: Any, node_name: str) -> Status | None:
        return self._answer("pre_bind")

    async def bind(self, state: Any, pod: Any, node_name: str) -> Status | None:
        return self._answer("bind")

    async def post_bind(self, state: Any, pod: Any, node_name: str) -> None:
        self._answer("post_bind")


class Notes:
    """Stands for the queue, the recorder and the API server: writes down what it is told."""

    def __init__(self) -> None:
        self.done_uids: list[str] = []
        self.events: list[tuple[str, str]] = []
        self.announced: list[str] = []
        self.fails_to_announce = False

    def done(self, uid: str) -> None:
        self.done_uids.append(uid)

    def event(
        self, regarding: Any, *, kind: str, reason: str, action: str, note: str, related: Any = None
    ) -> None:
        self.events.append((reason, note))

    async def write_nomination(self, pod: Pod, node_name: str) -> None:
        if self.fails_to_announce:
            raise ConnectionError("refused")
        self.announced.append(node_name)


class Way:
    """One profile with the Gate plugin over one node."""

    def __init__(self, **answers: Status) -> None:
        self.log: list[str] = []
        gate = type("Gate", (Gate,), {"log": self.log, "answers": answers})
        self.harness = Harness(nodes=[make_node("a")], plugins=[gate], configuration=CONFIGURATION)
        self.notes = Notes()
        profile = self.harness.profile()
        self.held = HeldPods()
        self.committer = Committer(
            profile.runner, self.harness.scheduler.cache, self.harness.scheduler.nominator, self.held
        )
        runner = BindingRunner(profile.plugins)
        self.binding = BindingCycle(runner, self.held, self.notes, self.notes, self.notes)

    def commit(self, pod: Pod) -> Commitment | Failure:
        state = CycleState()
        decision = self.harness.profile().cycle.schedule(pod, state)
        return self.committer.commit(pod, state, decision)

    def committed(self, pod: Pod) -> Commitment:
        commitment = self.commit(pod)
        assert isinstance(commitment, Commitment)
        return commitment

    @property
    def cpu(self) -> int:
        return int(self.harness.scheduler.cache.snapshot().nodes.requested("cpu")[0])


CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    multiPoint:
      enabled: [{name: Gate}]
    bind:
      disabled: [{name: DefaultBinder}]
"""


def waits(*reasons: str, seconds: float) -> Status:
    return Status.wait(*reasons, timeout_seconds=seconds)


async def test_pod_is_bound_step_by_step() -> None:
    """Reserve, permit, pre-flight, prebind, bind, post bind; the event says where the pod went."""
    way = Way()
    commitment = way.committed(make_pod("p", cpu="1"))
    assert way.cpu == 1000
    assert await way.binding.run(commitment) is None
    assert way.log == ["reserve", "permit", "pre_bind_pre_flight", "pre_bind", "bind", "post_bind"]
    assert way.notes.events == [("Scheduled", "Successfully assigned default/p to a")]
    assert way.notes.announced == ["a"]
    assert way.notes.done_uids == [commitment.pod.uid]


@pytest.mark.parametrize(
    ("point", "status", "message", "reason"),
    [
        ("reserve", Status.unschedulable("taken"), "0/1 nodes are available: 1 taken.", "Unschedulable"),
        ("reserve", Status.failed("lost"), 'running Reserve plugin "Gate": lost', "SchedulerError"),
        ("permit", Status.unschedulable("not yet"), "0/1 nodes are available: 1 not yet.", "Unschedulable"),
        ("permit", Status.failed("lost"), 'running Permit plugin "Gate": lost', "SchedulerError"),
    ],
)
async def test_refused_commitment_frees_the_node(point: str, status: Status, message: str, reason: str) -> None:
    """A plugin that says no after the choice gets its reservation back, and the node is free again."""
    way = Way(**{point: status})
    failure = way.commit(make_pod("p", cpu="1"))
    assert isinstance(failure, Failure)
    assert (failure.message, failure.reason) == (message, reason)
    assert failure.unschedulable_plugins == ({"Gate"} if reason == "Unschedulable" else set())
    assert (way.cpu, way.log[-1], way.harness.scheduler.cache.n_pods) == (0, "unreserve", 0)


async def test_waiting_pod_is_bound_when_allowed() -> None:
    """Permit's wait ends when every plugin that asked for it has let go."""
    way = Way(permit=waits("for the others", seconds=60))
    commitment = way.committed(make_pod("p", cpu="1"))
    held = way.held.get(commitment.pod.uid)
    assert held is not None
    assert held.pending_plugins == ("Gate",)
    running = asyncio.ensure_future(way.binding.run(commitment))
    await asyncio.sleep(30)
    assert not running.done()
    held.allow("Gate")
    assert await running is None
    assert len(way.held) == 0


@pytest.mark.parametrize(
    ("seconds", "announced"), [(0.1, ""), (30.0, "a")], ids=["decided at once", "waiting for long"]
)
async def test_pod_that_waits_is_announced(seconds: float, announced: str) -> None:
    """Its status tells where it will go, unless it is decided about within a moment: then its place is free
    without a word to the API server, and there is nothing to take back."""
    way = Way(permit=waits(seconds=60), pre_bind_pre_flight=Status.skip())
    commitment = way.committed(make_pod("p", cpu="1"))
    held = way.held.get(commitment.pod.uid)
    assert held is not None
    running = asyncio.ensure_future(way.binding.run(commitment))
    await asyncio.sleep(seconds)
    held.reject("Gang", "group is gone")
    failure = await running
    assert failure is not None
    assert failure.announced == announced
    assert way.notes.announced == [announced] * bool(announced)


async def test_pod_that_has_work_left_is_announced_once() -> None:
    """While it waits, and not again for PreBind."""
    way = Way(permit=waits(seconds=60))
    commitment = way.committed(make_pod("p", cpu="1"))
    held = way.held.get(commitment.pod.uid)
    assert held is not None
    running = asyncio.ensure_future(way.binding.run(commitment))
    await asyncio.sleep(30)
    held.allow("Gate")
    assert await running is None
    assert way.notes.announced == ["a"]


async def test_waiting_pod_times_out() -> None:
    """After the timeout the pod is rejected in the plugin's name, with kube-scheduler's words."""
    way = Way(permit=waits(seconds=90))
    failure = await way.binding.run(way.committed(make_pod("p", cpu="1")))
    assert failure is not None
    assert failure.message == (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 1m30s at plugin Gate."
    )
    assert failure.unschedulable_plugins == {"Gate"}
    assert asyncio.get_running_loop().time() == pytest.approx(90, abs=0.1)


async def test_waiting_pod_can_be_rejected_once() -> None:
    """The first word counts; whoever comes later is told so."""
    way = Way(permit=waits(seconds=90))
    commitment = way.committed(make_pod("p"))
    held = way.held.get(commitment.pod.uid)
    assert held is not None
    assert held.reject("Gang", "group is gone") is True
    assert held.reject("Gang", "again") is False
    failure = await way.binding.run(commitment)
    assert failure is not None
    assert failure.message == "0/1 nodes are available: 1 group is gone."


async def test_preempted_waiting_pod_is_an_error() -> None:
    """A pod preempted while it waits is not unschedulable: it is tried again after a backoff."""
    way = Way(permit=waits(seconds=90))
    commitment = way.committed(make_pod("p"))
    held = way.held.get(commitment.pod.uid)
    assert held is not None
    held.preempt("DefaultPreemption", "preempted")
    failure = await way.binding.run(commitment)
    assert failure is not None
    assert (failure.reason, failure.message) == ("SchedulerError", "waiting on permit for pod: preempted")


@pytest.mark.parametrize("point", ["pre_bind_pre_flight", "pre_bind", "bind"])
async def test_failed_preparation_is_a_scheduler_error(point: str) -> None:
    """What fails after Permit is no verdict about the pod."""
    way = Way(**{point: Status.failed("disk is gone")})
    failure = await way.binding.run(way.committed(make_pod("p")))
    assert failure is not None
    assert failure.reason == "SchedulerError"
    assert failure.message.endswith('"Gate": disk is gone')
    assert way.notes.events == []


@pytest.mark.parametrize(
    ("answers", "announced"),
    [
        pytest.param({"pre_bind": Status.failed("no")}, "a", id="the status was told the node"),
        pytest.param({"pre_bind_pre_flight": Status.skip(), "bind": Status.failed("no")}, "", id="it was not"),
    ],
)
async def test_failure_knows_what_was_announced(answers: dict[str, Status], announced: str) -> None:
    """What the pod's status was told has to be taken back, whether or not the watch has shown it."""
    way = Way(**answers)
    failure = await way.binding.run(way.committed(make_pod("p")))
    assert failure is not None
    assert failure.announced == announced


async def test_unwritten_nomination_does_not_stop_the_bind() -> None:
    """Announcing the node is a courtesy."""
    way = Way()
    way.notes.fails_to_announce = True
    assert await way.binding.run(way.committed(make_pod("p"))) is None


async def test_confirmed_pod_survives_a_late_withdrawal() -> None:
    """A bind whose answer was lost may have gone through: what the watch shows is not undone."""
    way = Way()
    commitment = way.committed(make_pod("p", cpu="1"))
    way.harness.scheduler.cache.add_pod(commitment.pod)
    way.committer.withdraw(commitment)
    assert way.cpu == 1000


@pytest.mark.parametrize("seconds", [0.0, 30.0], ids=["at once", "later"])
async def test_a_stop_abandons_pods_on_hold(seconds: float) -> None:
    """Nobody decides about them any more: who waits is cancelled, and says nothing about the pod."""
    held, pod, told = HeldPods(), make_pod("p"), Notes()
    held.hold(pod, {"Gate": 600.0})
    waiting = asyncio.ensure_future(held.decision(pod.uid, lambda: told.write_nomination(pod, "a")))
    await asyncio.sleep(seconds)

    held.abandon()
    await asyncio.wait([waiting])

    assert waiting.cancelled()
    assert len(held) == 0
