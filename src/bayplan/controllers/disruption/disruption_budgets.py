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
from bayplan.controllers.disruption.budgeted_pods import BudgetedPods
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
        #: Key of a budget → the pods that it selects.
        self._selected: dict[str, BudgetedPods] = {}
        self._pods = self.pods(self._pod_changed)
        self._owners = {kind: self._informers.custom(*where) for kind, where in SCALED.items()}

    def _pod_changed(self, old: PodView | None, new: PodView | None) -> None:
        there = [pod for pod in (old, new) if pod is not None]
        for budget in self._budgets.list(there[0].namespace):
            selector = selector_of(budget["spec"].get("selector"))
            if any(selector.matches(pod.metadata.labels) for pod in there):
                key = key_of(budget)
                pods = self._selected.get(key)
                if pods is not None:
                    pods.remove(there[0].name) if new is None else pods.put(new)
                self.queue.add_for_one_of(key, len(pods) if pods is not None else 0)

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split_key(key)
        budget = self._budgets.get(name, namespace)
        if budget is None or is_being_deleted(budget):
            self._selected.pop(key, None)
            return None
        selector = selector_of(budget["spec"].get("selector"))
        pods = self._selected.get(key)
        if pods is None or pods.selector is not selector:
            pods = self._selected[key] = BudgetedPods(selector, self._pods.list(namespace))
        await self._update_status(budget, pods)
        return None

    async def _update_status(self, budget: Object, pods: BudgetedPods) -> None:
        expected, desired = self._desired(budget, pods)
        allowed = max(pods.n_healthy - desired, 0) if expected else 0
        known = budget.get("status") or {}
        status: Object = {
            "currentHealthy": pods.n_healthy,
            "desiredHealthy": desired,
            "disruptionsAllowed": allowed,
            "expectedPods": expected,
            "observedGeneration": budget["metadata"].get("generation", 0),
        }
        # Pods that the server has counted as evicted are gone from the list or marked by now.
        evicted = (known.get("disruptedPods") or {}).items()
        disrupted = {name: when for name, when in evicted if pods.is_there(name)}
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

    def _desired(self, budget: Object, pods: BudgetedPods) -> tuple[int, int]:
        """How many pods are expected, and how many of them must be healthy."""
        spec = budget["spec"]
        most = spec.get("maxUnavailable")
        if most is not None:
            expected = self._scale(budget, pods)
            return expected, max(expected - _amount(most, expected), 0)
        least = spec.get("minAvailable", 0)
        if isinstance(least, int):
            return len(pods), least
        expected = self._scale(budget, pods)
        return expected, _amount(least, expected)

    def _scale(self, budget: Object, pods: BudgetedPods) -> int:
        """The replicas of the pods' controllers; a pod without one counts as one."""
        total, seen = 0, set()
        for owner, n_pods in pods.controllers.items():
            if owner is None:
                total += n_pods
            elif owner.uid not in seen:
                seen.add(owner.uid)
                total += self._replicas(budget["metadata"]["namespace"], owner.kind, owner.name, seen)
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
