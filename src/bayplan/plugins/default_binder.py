"""DefaultBinder: binds the pod to its node through the API server."""

from __future__ import annotations

from bayplan.framework import CycleState, Plugin, Status
from bayplan.framework.logs import Ref, get_logger
from bayplan.model import Pod

log = get_logger("bayplan.plugins")


class DefaultBinder(Plugin):
    name = "DefaultBinder"

    async def bind(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        if log.enabled(3):
            log.info("Attempting to bind pod to node", v=3, pod=pod, node=Ref(node_name))
        try:
            await self.handle.client.bind(pod, node_name)
        except Exception as refusal:  # an expected outcome, whatever the client raises
            return Status.failed(refusal)
        return None
