"""Preemptions that are under way: the core's side of evicting victims.

DefaultPreemption's PreEnqueue holds the preemptor back (`is_running`) until its victims are on their way out;
then the events of their deletion try it again. If an eviction fails, or the last victim leaves by itself, the
preemptor is activated at once. The driver does the evictions: `StartPreemption` goes out, `VictimEvicted`,
`OneVictimLeft` and `PreemptionEnded` come back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from bayplan.core.messages import Instruction, PreemptionPlan, RecordEvent, StartPreemption, Victim

if TYPE_CHECKING:
    from bayplan.core.waiting_pods import WaitingPods
    from bayplan.model import Pod
    from bayplan.queue import PodNominator


class Preemptions:
    """The preemptions of all profiles."""

    def __init__(
        self,
        waiting_pods: WaitingPods,
        nominator: PodNominator,
        pods: Mapping[str, Pod],
        emit: Callable[[Instruction], None],
        activate: Callable[[Iterable[Pod]], None],
    ) -> None:
        self._waiting_pods = waiting_pods
        self._nominator = nominator
        #: Every pod as the watch last showed it, by key.
        self._pods = pods
        self._emit = emit
        self._activate = activate
        #: uid of a preemptor → the last victim it waits for; None while others come before it.
        self._running: dict[str, Pod | None] = {}

    def is_running(self, preemptor: Pod) -> bool:
        """Whether *preemptor* must wait: its last victim is not on its way out yet."""
        if not self._running or preemptor.uid not in self._running:
            return False
        last = self._running[preemptor.uid]
        if last is None:
            return True
        current = self._pods.get(last.key)
        return current is not None and not current.is_terminating

    def start(self, preemptor: Pod, node_name: str, victims: Sequence[Pod], profile_name: str) -> None:
        """Have *victims* evicted from *node_name*."""
        evicted = [Victim(victim, self._waiting_pods.get(victim.uid)) for victim in victims]
        evicted = [victim for victim in evicted if not victim.is_leaving]
        if not evicted:
            return
        self._running[preemptor.uid] = None
        # Pods of lower priority that were nominated to this node lose it.
        outranked = [pod for pod in self._nominator.nominated(node_name) if pod.priority < preemptor.priority]
        for pod in outranked:
            self._nominator.remove(pod)
        self._emit(StartPreemption(PreemptionPlan(preemptor, node_name, evicted, outranked, profile_name)))

    def victim_evicted(self, preemption: PreemptionPlan, victim: Victim, *, was_waiting: bool) -> None:
        note = f"Preempted by pod {preemption.preemptor.uid} on node {preemption.node_name}"
        if was_waiting:
            note += " (in kube-scheduler memory)."
        # Not related to the preemptor: upstream hands its recorder an object that makes no reference.
        self._emit(RecordEvent(preemption.profile_name, victim.pod, "Normal", "Preempted", "Preempting", note))

    def one_victim_left(self, preemption: PreemptionPlan) -> None:
        """The deletion of the last victim is what tries the preemptor again."""
        self._running[preemption.preemptor.uid] = preemption.victims[-1].pod

    def ended(self, preemption: PreemptionPlan, *, awaits_deletion: bool) -> None:
        """*awaits_deletion*: the watch will show the deletion of the last victim."""
        self._running.pop(preemption.preemptor.uid, None)
        if not awaits_deletion:
            self._activate([preemption.preemptor])
