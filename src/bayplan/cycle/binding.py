"""The binding cycle: a committed pod is waited for, prepared and bound; many at the same time.

Comes in: a Commitment. Goes out: success, or the Failure with which the pod goes back to the queue. On every
path that does not end in a bind, what was reserved is given back first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Protocol

from bayplan.cycle.asking import bind_by_extender
from bayplan.cycle.failure import Failure
from bayplan.framework import SUCCESS, BindingRunner, EventRecorder, Status
from bayplan.observe import klog

if TYPE_CHECKING:
    from bayplan.cycle.commit import Commitment
    from bayplan.cycle.waiting import HeldPods
    from bayplan.framework.extenders import Extender
    from bayplan.model import Pod

log = klog.get_logger("bayplan.cycle")


class BindingQueue(Protocol):
    """What the binding cycle needs of the queue."""

    def done(self, uid: str) -> None: ...


class NominationWriter(Protocol):
    """Tells the cluster which node a pod is about to be bound to."""

    async def write_nomination(self, pod: Pod, node_name: str) -> None: ...


class BindingCycle:
    """Binds the pods of one profile."""

    def __init__(
        self,
        runner: BindingRunner,
        held: HeldPods,
        queue: BindingQueue,
        recorder: EventRecorder,
        writer: NominationWriter,
        extenders: Sequence[Extender] = (),
    ) -> None:
        self._runner = runner
        self._held = held
        self._queue = queue
        self._recorder = recorder
        self._writer = writer
        #: An extender that binds goes before the Bind plugins.
        self._extenders = extenders

    async def run(self, commitment: Commitment) -> Failure | None:
        """None once the pod is bound."""
        pod, node_name, state = commitment.pod, commitment.node_name, commitment.state
        # 1. Which PreBind plugins have work to do?
        plan = self._runner.plan(state, pod, node_name)
        if isinstance(plan, Status):
            return Failure(plan, plan.message)
        # 2. Permit: the last point at which the pod can be called unschedulable. Whoever watches should know where
        # a pod that waits will go. kube-scheduler tells it before the wait, and a gang that gives up at once then
        # holds its places for as long as the API server takes to answer.
        announced = ""
        if self._held.get(pod.uid) is not None:
            status, announced = await self._wait_on_permit(pod, node_name)
            if not status.is_success:
                return Failure.on_node(status, announced=announced)
        self._queue.done(pod.uid)
        # 3. Prepare and bind.
        if plan.is_empty:
            self._runner.skip_pre_bind()
        else:
            if not announced:
                announced = node_name
                await self._announce(pod, node_name)
            status = await self._runner.pre_bind(plan, state, pod, node_name, first_failure)
            if not status.is_success:
                return Failure(status, status.message, announced=announced)
        by_extender = await bind_by_extender(self._extenders, pod, node_name) if self._extenders else None
        status = by_extender if by_extender is not None else await self._runner.bind(state, pod, node_name)
        if not status.is_success:
            return Failure(status, status.message, announced=announced)
        log.info(
            "Successfully bound pod to node",
            v=2,
            pod=pod,
            node=node_name,
            evaluatedNodes=commitment.n_evaluated,
            feasibleNodes=commitment.n_feasible,
        )
        note = f"Successfully assigned {pod.namespace}/{pod.name} to {node_name}"
        self._recorder.event(pod, kind="Normal", reason="Scheduled", action="Binding", note=note)
        if self._runner.has_post_bind:
            await self._runner.post_bind(state, pod, node_name)
        else:
            self._runner.skip_post_bind()
        return None

    async def _wait_on_permit(self, pod: Pod, node_name: str) -> tuple[Status, str]:
        """How the waiting ended, and the node that the cluster was told meanwhile."""
        announced = ""

        async def announce() -> None:
            nonlocal announced
            announced = node_name
            await self._announce(pod, node_name)

        status = await self._held.decision(pod.uid, announce)
        return status, announced

    async def _announce(self, pod: Pod, node_name: str) -> None:
        try:
            await self._writer.write_nomination(pod, node_name)
        except Exception as error:
            # Not worth stopping for: the pod will be bound all the same.
            message = "Failed to update the nominated node name in the binding cycle"
            log.error(error, message, pod=pod, nominatedNodeName=node_name)


async def first_failure(running: Sequence[Awaitable[Status]]) -> Status:
    """Runs them at the same time; the first status that is no success ends the others."""
    tasks = [asyncio.ensure_future(each) for each in running]
    try:
        for finished in asyncio.as_completed(tasks):
            status = await finished
            if not status.is_success:
                return status
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return SUCCESS
