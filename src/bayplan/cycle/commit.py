"""Commitment: a decision becomes a pod that counts on its node, is reserved and permitted; or a failure.

The last part of the scheduling cycle: still plain synchronous code. What it makes known it takes back on every
path that does not end in a bind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bayplan.cycle.failure import Failure
from bayplan.framework import Code, CycleState, Runner, Status
from bayplan.model import Pod
from bayplan.observe.record import Record

if TYPE_CHECKING:
    from bayplan.cache import Cache
    from bayplan.cycle.decision import Decision
    from bayplan.cycle.waiting import HeldPods
    from bayplan.queue import PodNominator


class Commitment(NamedTuple):
    """A pod that is on its way to its node. Thousands may be, so columns over all nodes do not come along."""

    #: With its node's name, as the cache counts it.
    pod: Pod
    node_name: str
    state: CycleState
    record: Record
    n_evaluated: int
    n_feasible: int
    #: Whether it had been promised a node: others had to leave room for it before it took its place.
    was_promised: bool


class Committer:
    """Assumes, reserves and permits for one profile."""

    def __init__(self, runner: Runner, cache: Cache, nominator: PodNominator, held: HeldPods) -> None:
        self._runner = runner
        self._cache = cache
        self._nominator = nominator
        self._held = held

    def commit(self, pod: Pod, state: CycleState, decision: Decision) -> Commitment | Failure:
        # 1. The pod counts on its node from now on, and needs no promise any more.
        assumed = self._cache.assume(pod, decision.node_name)
        was_promised = bool(self._nominator.node_of(pod))
        self._nominator.remove(pod)
        commitment = Commitment(
            pod=assumed,
            node_name=decision.node_name,
            state=state,
            record=decision.record,
            n_evaluated=decision.n_evaluated,
            n_feasible=decision.n_feasible,
            was_promised=was_promised,
        )
        # 2. Plugins set aside what the pod needs.
        status = self._runner.reserve(state, assumed, decision.node_name)
        # 3. The last word; it may be "wait".
        if status.is_success:
            permit = self._runner.permit(state, assumed, decision.node_name)
            if permit.status.code is Code.WAIT:
                self._held.hold(assumed, permit.waits)
                return commitment
            status = permit.status
        if status.is_success:
            return commitment
        self.withdraw(commitment)
        return Failure.on_node(status)

    def withdraw(self, commitment: Commitment) -> None:
        """Nothing of it ever happened. A pod that the watch has confirmed meanwhile stays where it is."""
        self._runner.unreserve(commitment.state, commitment.pod, commitment.node_name)
        if self._cache.is_assumed(commitment.pod.uid):
            self._cache.forget(commitment.pod.uid)

    def are_waiting_together(self, pod: Pod, other: Pod) -> bool:
        return self._runner.are_waiting_together(pod, other)


def failed_unexpectedly(error: Exception) -> Failure:
    """A bug of ours costs one attempt of one pod."""
    return Failure(Status.failed(error), f"{type(error).__name__}: {error}")
