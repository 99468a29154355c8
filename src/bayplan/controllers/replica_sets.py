"""ReplicaSets and ReplicationControllers: keeps as many pods as `spec.replicas` says."""

from __future__ import annotations

from typing import ClassVar

from bayplan.client import NotFoundError
from bayplan.controllers.api_objects import Object, is_being_deleted, path_of, split_key
from bayplan.controllers.controller import Controller
from bayplan.controllers.pod_control import PodControl, deletion_rank
from bayplan.controllers.pod_view import PodView

#: kube-controller-manager's limit for one reconciliation.
BURST = 500


class ReplicaSetController(Controller):
    """See the module docstring."""

    name = "replicaset-controller"
    api_version: ClassVar[str] = "apps/v1"
    kind: ClassVar[str] = "ReplicaSet"
    plural: ClassVar[str] = "replicasets"

    def watch(self) -> None:
        self._sets = self.objects(self.api_version, self.plural)
        self._control = PodControl(self, self.api_version, self.kind)

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split_key(key)
        owner = self._sets.get(name, namespace)
        if owner is None:
            self._control.expectations.forget(key)
            return None
        pods = self._control.owned(owner)
        active = [pod for pod in pods if pod.is_active]
        if self._control.expectations.is_satisfied(key) and not is_being_deleted(owner):
            await self._scale(owner, active)
        return await self._update_status(owner, active, sum(pod.is_deleted and not pod.has_ended for pod in pods))

    async def _scale(self, owner: Object, active: list[PodView]) -> None:
        missing = owner["spec"].get("replicas", 1) - len(active)
        if missing > 0:
            await self._control.make(owner, owner["spec"]["template"], min(missing, BURST))
        elif missing < 0:
            await self._control.delete(owner, sorted(active, key=deletion_rank)[: min(-missing, BURST)])

    async def _update_status(self, owner: Object, active: list[PodView], n_terminating: int) -> float | None:
        """Write the status if it has changed; returns the seconds until a ready pod becomes available."""
        now = self.clock.now()
        min_ready = owner["spec"].get("minReadySeconds", 0)
        ready_for = [seconds for pod in active if (seconds := pod.ready_for(now)) >= 0]
        labels = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
        fully_labelled = sum(labels.items() <= pod.metadata.labels.items() for pod in active)
        status = {
            "replicas": len(active),
            "fullyLabeledReplicas": fully_labelled,
            "readyReplicas": len(ready_for),
            "availableReplicas": sum(seconds >= min_ready for seconds in ready_for),
            "observedGeneration": owner["metadata"].get("generation", 0),
        }
        if self.kind == "ReplicaSet":  # ReplicationControllers do not have it
            status["terminatingReplicas"] = n_terminating
        known = owner.get("status") or {}
        if any(known.get(field, 0) != value for field, value in status.items()):
            await self._write(owner, status)
        return min((min_ready - seconds for seconds in ready_for if seconds < min_ready), default=None)

    async def _write(self, owner: Object, status: Object) -> None:
        meta = owner["metadata"]
        path = path_of(self.api_version, self.plural, meta["namespace"], meta["name"], "status")
        try:
            await self.client.request("PATCH", path, {"status": status})
        except NotFoundError:
            return


class ReplicationManager(ReplicaSetController):
    """The same for ReplicationControllers of core/v1."""

    name = "replication-controller"
    api_version = "v1"
    kind = "ReplicationController"
    plural = "replicationcontrollers"
