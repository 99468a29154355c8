"""PodDisruptionBudgets: computes how many pods may be evicted now."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Final

from bayplan.controllers.api_objects import (
    Object,
    controller_of,
    is_being_deleted,
    key_of,
    path_of,
    selector_of,
    split_key,
)
from bayplan.controllers.controller import Controller
from bayplan.controllers.pod_view import PodView
from bayplan.model.times import format_time

POLICY: Final = "policy/v1"
#: Kinds whose `spec.replicas` is the expected number of pods.
SCALED: Final = {
    "ReplicaSet": ("apps/v1", "replicasets"),
    "StatefulSet": ("apps/v1", "statefulsets"),
    "Deployment": ("apps/v1", "deployments"),
    "ReplicationController": ("v1", "replicationcontrollers"),
}


class DisruptionController(Controller):
    """See the module docstring."""

    name = "controllermanager"

    def watch(self) -> None:
        self._budgets = self.objects(POLICY, "poddisruptionbudgets")
        self._pods = self.pods(self._pod_changed)
        self._owners = {kind: self._informers.custom(*where) for kind, where in SCALED.items()}

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        for pod in (old, new):
            if pod is not None:
                for budget in self._budgets.list(pod.namespace):
                    if selector_of(budget["spec"].get("selector")).matches(pod.metadata.labels):
                        self.queue.add(key_of(budget))

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split_key(key)
        budget = self._budgets.get(name, namespace)
        if budget is None or is_being_deleted(budget):
            return None
        selector = selector_of(budget["spec"].get("selector"))
        pods = [
            pod
            for pod in self._pods.list(namespace)
            if not pod.has_ended and selector.matches(pod.metadata.labels)
        ]
        await self._update_status(budget, pods)
        return None

    async def _update_status(self, budget: Object, pods: list[PodView]) -> None:
        expected, desired = self._desired(budget, pods)
        healthy = sum(pod.is_ready and not pod.is_deleted for pod in pods)
        allowed = max(healthy - desired, 0) if expected else 0
        known = budget.get("status") or {}
        status: Object = {
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "disruptionsAllowed": allowed,
            "expectedPods": expected,
            "observedGeneration": budget["metadata"].get("generation", 0),
        }
        # Pods that the server has counted as evicted are gone from the list or marked by now.
        there = {pod.name for pod in pods if not pod.is_deleted}
        disrupted = {name: when for name, when in (known.get("disruptedPods") or {}).items() if name in there}
        status["disruptionsAllowed"] = max(allowed - len(disrupted), 0)
        if all(known.get(field) == value for field, value in status.items()):
            return
        status["disruptedPods"] = disrupted
        status["conditions"] = [self._condition(known, status)]
        meta = budget["metadata"]
        path = path_of(POLICY, "poddisruptionbudgets", meta["namespace"], meta["name"], "status")
        body = {**budget, "apiVersion": POLICY, "kind": "PodDisruptionBudget", "status": status}
        await self.client.request("PUT", path, body)

    def _condition(self, known: Object, status: Object) -> Object:
        enough = status["disruptionsAllowed"] > 0
        condition = {
            "type": "DisruptionAllowed",
            "status": "True" if enough else "False",
            "reason": "SufficientPods" if enough else "InsufficientPods",
            "message": "",
            "observedGeneration": status["observedGeneration"],
            "lastTransitionTime": format_time(datetime.fromtimestamp(self.clock.now(), UTC)),
        }
        before = next(iter(known.get("conditions") or []), None)
        if before is not None and before["status"] == condition["status"]:
            condition["lastTransitionTime"] = before["lastTransitionTime"]
        return condition

    def _desired(self, budget: Object, pods: list[PodView]) -> tuple[int, int]:
        """How many pods are expected, and how many of them must be healthy."""
        spec = budget["spec"]
        most = spec.get("maxUnavailable")
        if most is not None:
            expected = self._scale(pods)
            return expected, max(expected - _amount(most, expected), 0)
        least = spec.get("minAvailable", 0)
        if isinstance(least, int):
            return len(pods), least
        expected = self._scale(pods)
        return expected, _amount(least, expected)

    def _scale(self, pods: list[PodView]) -> int:
        """The replicas of the pods' controllers; a pod without one counts as one."""
        total, seen = 0, set()
        for pod in pods:
            owner = pod.metadata.controller
            if owner is None:
                total += 1
            elif owner.uid not in seen:
                seen.add(owner.uid)
                total += self._replicas(pod.namespace, owner.kind, owner.name, seen)
        return total

    def _replicas(self, namespace: str, kind: str, name: str, seen: set[str]) -> int:
        found = self._owners[kind].get(name, namespace) if kind in self._owners else None
        if found is None:
            return 0
        above = controller_of(found)
        if above is not None and above["kind"] in self._owners:
            if above["uid"] in seen:
                return 0
            seen.add(above["uid"])
            return self._replicas(namespace, above["kind"], above["name"], seen)
        return int(found["spec"].get("replicas", 1))


def _amount(value: int | str, total: int) -> int:
    if isinstance(value, str):
        return math.ceil(total * int(value.rstrip("%")) / 100)
    return value
