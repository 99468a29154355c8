"""ApiWriter: what the cycles want written to pods, written through the client in its own time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

import msgspec

from bayplan.client.errors import ClientError, NotFoundError
from bayplan.model import Condition, Pod
from bayplan.observe import klog

if TYPE_CHECKING:
    from bayplan.client import KubeClient
    from bayplan.cycle.failure import Failure

log = klog.get_logger("bayplan.service")


class ApiWriter:
    """Implements `StatusWriter`, `NominationWriter` and `Evictor` of the cycles."""

    def __init__(self, client: KubeClient, start: Callable[[Coroutine[Any, Any, None]], object]) -> None:
        self._client = client
        self._start = start

    def write_status(self, pod: Pod, *, failure: Failure) -> None:
        condition = Condition(
            type="PodScheduled",
            status="False",
            reason=failure.reason,
            message=failure.message,
            observed_generation=pod.metadata.generation,
        )
        # A promise that the watch has not shown yet has to be taken back all the same.
        known = _announced(pod, failure.announced) if failure.announced else pod
        self._start(self._patch(known, condition, failure.nominate))

    async def _patch(self, pod: Pod, condition: Condition | None, nominated: str | None) -> None:
        if condition is not None:
            log.info(
                "Updating pod condition",
                v=3,
                pod=pod,
                conditionType=condition.type,
                conditionStatus=condition.status,
                conditionReason=condition.reason,
            )
        try:
            await self._client.patch_pod_status(pod, condition=condition, nominated_node_name=nominated)
        except NotFoundError:
            pass  # the pod is gone, and with it the reason to write
        except ClientError as error:
            # The next attempt writes it again.
            log.error(error, "Error updating pod", pod=pod)

    async def write_nomination(self, pod: Pod, node_name: str) -> None:
        await self._client.patch_pod_status(pod, nominated_node_name=node_name)

    async def withdraw_nomination(self, pod: Pod) -> None:
        await self._patch(pod, None, "")

    async def evict(self, victim: Pod, *, message: str) -> bool:
        """Mark *victim* and delete it; False if it was gone already."""
        condition = Condition(
            type="DisruptionTarget",
            status="True",
            reason="PreemptionByScheduler",
            message=message,
            observed_generation=victim.metadata.generation,
        )
        try:
            await self._client.patch_pod_status(victim, condition=condition)
        except NotFoundError:
            return False
        return await self._client.delete_pod(victim)


def _announced(pod: Pod, node_name: str) -> Pod:
    """The pod with what its status was told."""
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, nominated_node_name=node_name))
