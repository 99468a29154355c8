"""BudgetedPods: the pods that one PodDisruptionBudget selects, counted as they come and go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from bayplan.controllers.pod_view import PodView
from bayplan.model.kube_object import OwnerReference
from bayplan.model.label_selectors import Selector


class BudgetedPods:
    """See the module's docstring. Pods that have ended are not among them."""

    def __init__(self, selector: Selector, pods: Iterable[PodView] = ()) -> None:
        self.selector = selector
        #: By name.
        self._pods: dict[str, PodView] = {}
        self.n_healthy = 0
        #: Their controllers; None stands for pods without one.
        self.controllers: Counter[OwnerReference | None] = Counter()
        for pod in pods:
            self.put(pod)

    def __len__(self) -> int:
        return len(self._pods)

    def is_there(self, name: str) -> bool:
        """Whether the pod is among them and is not being deleted."""
        pod = self._pods.get(name)
        return pod is not None and not pod.is_deleted

    def put(self, pod: PodView) -> None:
        """The pod as it is now: add it, replace it, or remove it if it no longer belongs to them."""
        self.remove(pod.name)
        if not pod.has_ended and self.selector.matches(pod.metadata.labels):
            self._pods[pod.name] = pod
            self._count(pod, 1)

    def remove(self, name: str) -> None:
        pod = self._pods.pop(name, None)
        if pod is not None:
            self._count(pod, -1)

    def _count(self, pod: PodView, sign: int) -> None:
        self.n_healthy += sign * (pod.is_ready and not pod.is_deleted)
        controller = pod.metadata.controller
        self.controllers[controller] += sign
        if not self.controllers[controller]:
            del self.controllers[controller]
