"""Eviction: removes the victims of a preemption from the cluster.

In: `StartPreemption`. Out: `VictimEvicted`, `OneVictimLeft` and `PreemptionEnded`, to the core.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter
from typing import TYPE_CHECKING, Final, Protocol

from bayplan.client.errors import ClientError, NotFoundError
from bayplan.core.messages import Input, OneVictimLeft, PreemptionEnded, PreemptionPlan, Victim, VictimEvicted
from bayplan.model import Condition
from bayplan.observe import klog

if TYPE_CHECKING:
    from bayplan.client import KubeClient
    from bayplan.model import Pod

log = klog.get_logger("bayplan.shell")

PLUGIN: Final = "DefaultPreemption"


class PreemptionObserver(Protocol):
    """Told when a preemption has ended; metrics are made of this."""

    def preempted(self, seconds: float, *, succeeded: bool) -> None: ...


class Evictor:
    """Carries out preemptions."""

    def __init__(
        self,
        report: Callable[[Input], None],
        client: KubeClient,
        observer: PreemptionObserver,
    ) -> None:
        """*report* gives results to the core."""
        self._report = report
        self._client = client
        self._observer = observer

    async def run(self, preemption: PreemptionPlan) -> None:
        preemptor, node_name, victims = preemption.preemptor, preemption.node_name, preemption.victims
        message = "Start the preemption asynchronously"
        log.info(message, v=2, preemptor=preemptor, node=node_name, numVictims=len(victims))
        start, succeeded, awaits_deletion = perf_counter(), False, False
        try:
            # 1. Pods of lower priority that were nominated to this node lose it.
            await asyncio.gather(*(self._clear_nomination(pod) for pod in preemption.outranked))
            # 2. All victims but one, at the same time; the last one's deletion is what tries the preemptor again.
            await asyncio.gather(*(self._evict(preemption, victim) for victim in victims[:-1]))
            self._report(OneVictimLeft(preemption))
            awaits_deletion = await self._evict(preemption, victims[-1])
            succeeded = True
        except Exception as error:
            log.error(error, "Error occurred during async preemption", preemptor=preemptor, node=node_name)
        finally:
            self._observer.preempted(perf_counter() - start, succeeded=succeeded)
            self._report(PreemptionEnded(preemption, awaits_deletion))

    async def _clear_nomination(self, pod: Pod) -> None:
        try:
            await self._client.patch_pod_status(pod, nominated_node_name="")
        except NotFoundError:
            pass  # the pod is gone, and its nomination with it
        except ClientError as error:
            log.error(error, "Error updating pod", pod=pod)

    async def _evict(self, preemption: PreemptionPlan, victim: Victim) -> bool:
        """Whether the victim was evicted. If not it left by itself, and that may have been told already while the
        preemptor was held back."""
        if victim.is_leaving:
            return False
        was_waiting = victim.waiting is not None and victim.waiting.preempt(PLUGIN, "preempted")
        if not was_waiting and not await self._delete(victim.pod, preemption.preemptor.spec.scheduler_name):
            return False
        self._report(VictimEvicted(preemption, victim, was_waiting))
        return True

    async def _delete(self, victim: Pod, scheduler_name: str) -> bool:
        """Mark *victim* with the DisruptionTarget condition and delete it; False if it was gone already."""
        condition = Condition(
            type="DisruptionTarget",
            status="True",
            reason="PreemptionByScheduler",
            message=f"{scheduler_name}: preempting to accommodate a higher priority pod",
            observed_generation=victim.metadata.generation,
        )
        try:
            await self._client.patch_pod_status(victim, condition=condition)
        except NotFoundError:
            return False
        return await self._client.delete_pod(victim)
