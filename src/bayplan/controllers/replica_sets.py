"""ReplicaSets and ReplicationControllers: keeps as many pods as `spec.replicas` says."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import ClassVar, Final

from bayplan.client import ApiError, NotFoundError
from bayplan.controllers.api_objects import Object, is_being_deleted, key_of, path_of, split_key
from bayplan.controllers.controller import Controller
from bayplan.controllers.owned_pods import OwnedPods
from bayplan.controllers.pod_control import PodControl, deletion_rank
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
        failure: ApiError | None = None
        if self._control.expectations.is_satisfied(key) and not is_being_deleted(owner):
            try:
                await self._scale(owner, pods)
            except ApiError as error:
                failure = error
        again = await self._update_status(owner, pods, self._conditions(owner, pods, failure))
        if failure is not None:
            raise failure
        return again

    async def _scale(self, owner: Object, pods: OwnedPods) -> None:
        missing = owner["spec"].get("replicas", 1) - pods.n_active
        if missing > 0:
            await self._control.make(owner, owner["spec"]["template"], min(missing, BURST))
        elif missing < 0:
            await self._control.delete(owner, sorted(pods.active, key=deletion_rank)[: min(-missing, BURST)])

    def _conditions(self, owner: Object, pods: OwnedPods, failure: ApiError | None) -> list[Object]:
        """ReplicaFailure while pods cannot be created or deleted; other conditions stay."""
        known = (owner.get("status") or {}).get("conditions") or []
        kept = [each for each in known if each["type"] != REPLICA_FAILURE]
        if failure is None:
            return kept if self._control.expectations.is_satisfied(key_of(owner)) else known
        if len(kept) < len(known):
            return known
        reason = "FailedCreate" if pods.n_active < owner["spec"].get("replicas", 1) else "FailedDelete"
        now = format_time(datetime.fromtimestamp(self.clock.now(), UTC))
        condition = {"type": REPLICA_FAILURE, "status": "True", "lastTransitionTime": now}
        return [*kept, {**condition, "reason": reason, "message": str(failure)}]

    async def _update_status(self, owner: Object, pods: OwnedPods, conditions: list[Object]) -> float | None:
        """Write the status if it has changed; returns the seconds until a ready pod becomes available."""
        now = self.clock.now()
        min_ready = owner["spec"].get("minReadySeconds", 0)
        labels = (owner["spec"]["template"].get("metadata") or {}).get("labels") or {}
        status = {
            "replicas": pods.n_active,
            "fullyLabeledReplicas": pods.n_labelled(labels),
            "readyReplicas": pods.n_ready,
            "availableReplicas": pods.n_available(now, min_ready),
            "observedGeneration": owner["metadata"].get("generation", 0),
        }
        if self.kind == "ReplicaSet":  # ReplicationControllers do not have it
            status["terminatingReplicas"] = pods.n_terminating
        again = pods.next_available(now, min_ready)
        known = owner.get("status") or {}
        has_changed = any(known.get(field, 0) != value for field, value in status.items())
        if has_changed or (known.get("conditions") or []) != conditions:
            await self._write(owner, {**status, "conditions": conditions or None})
        return again

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
