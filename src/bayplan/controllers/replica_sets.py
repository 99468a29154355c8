"""ReplicaSets and ReplicationControllers: keeps as many pods as `spec.replicas` says."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar, Final

from bayplan.client import ApiError, NotFoundError
from bayplan.controllers.api_objects import Object, is_being_deleted, key_of, path_of, split_key
from bayplan.controllers.controller import Controller
from bayplan.controllers.pod_control import PodControl, deletion_rank
from bayplan.controllers.pod_view import PodView
from bayplan.model.times import format_time

REPLICA_FAILURE: Final = "ReplicaFailure"
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
        self._control = PodControl(self, self.api_version, self.kind, self._sets)

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split_key(key)
        owner = self._sets.get(name, namespace)
        if owner is None:
            self._control.expectations.forget(key)
            return None
        pods = await self._control.claim(owner)
        active = [pod for pod in pods if pod.is_active]
        failure: ApiError | None = None
        if self._control.expectations.is_satisfied(key) and not is_being_deleted(owner):
            try:
                await self._scale(owner, active)
            except ApiError as error:
                failure = error
        n_terminating = sum(pod.is_deleted and not pod.has_ended for pod in pods)
        conditions = self._conditions(owner, active, failure)
        again = await self._update_status(owner, active, n_terminating, conditions)
        if failure is not None:
            raise failure
        return again

    async def _scale(self, owner: Object, active: list[PodView]) -> None:
        missing = owner["spec"].get("replicas", 1) - len(active)
        if missing > 0:
            await self._control.make(owner, owner["spec"]["template"], min(missing, BURST))
        elif missing < 0:
            await self._control.delete(owner, sorted(active, key=deletion_rank)[: min(-missing, BURST)])

    def _conditions(self, owner: Object, active: list[PodView], failure: ApiError | None) -> list[Object]:
        """ReplicaFailure while pods cannot be created or deleted; other conditions stay."""
        known = (owner.get("status") or {}).get("conditions") or []
        kept = [each for each in known if each["type"] != REPLICA_FAILURE]
        if failure is None:
            return kept if self._control.expectations.is_satisfied(key_of(owner)) else known
        if len(kept) < len(known):
            return known
        reason = "FailedCreate" if len(active) < owner["spec"].get("replicas", 1) else "FailedDelete"
        now = format_time(datetime.fromtimestamp(self.clock.now(), UTC))
        condition = {"type": REPLICA_FAILURE, "status": "True", "lastTransitionTime": now}
        return [*kept, {**condition, "reason": reason, "message": str(failure)}]

    async def _update_status(
        self, owner: Object, active: list[PodView], n_terminating: int, conditions: list[Object]
    ) -> float | None:
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
        has_changed = any(known.get(field, 0) != value for field, value in status.items())
        if has_changed or (known.get("conditions") or []) != conditions:
            await self._write(owner, {**status, "conditions": conditions or None})
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
