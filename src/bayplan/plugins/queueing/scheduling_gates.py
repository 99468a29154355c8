"""SchedulingGates: a pod with gates is not tried until the last of them is removed."""

from __future__ import annotations

from bayplan.framework import Action, ClusterEvent, Hint, Plugin, Resource, Status
from bayplan.model import Pod


class SchedulingGates(Plugin):
    name = "SchedulingGates"

    def pre_enqueue(self, pod: Pod) -> Status | None:
        if not pod.spec.scheduling_gates:
            return None
        # Written as Go prints a list of strings.
        gates = " ".join(gate.name for gate in pod.spec.scheduling_gates)
        return Status.unresolvable(f"waiting for scheduling gates: [{gates}]")

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (ClusterEvent(Resource.POD, Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED, self._after_gates_gone),)

    def _after_gates_gone(self, pod: Pod, old: Pod, new: Pod) -> Hint:
        return Hint.QUEUE if new.uid == pod.uid else Hint.SKIP
