"""Which evictions would violate a PodDisruptionBudget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bayplan.model import PodDisruptionBudget, Selector, SelectorError, compile_selector

if TYPE_CHECKING:
    from bayplan.model import Pod


class DisruptionBudgets:
    """The PodDisruptionBudgets of the cluster, indexed for queries about many pods."""

    def __init__(self, budgets: Sequence[PodDisruptionBudget], *, first_violated_only: bool = False) -> None:
        """*first_violated_only*: an eviction takes nothing from the budgets after the first that it violates."""
        self._first_violated_only = first_violated_only
        #: Namespace and labels → the budgets of such pods.
        self._known: dict[tuple[str, tuple[tuple[str, str], ...]], list[PodDisruptionBudget]] = {}
        self._by_namespace: dict[str, list[tuple[PodDisruptionBudget, Selector]]] = {}
        for budget in budgets:
            selector = _selector(budget)
            if selector is not None:
                self._by_namespace.setdefault(budget.namespace, []).append((budget, selector))

    def __bool__(self) -> bool:
        """Whether any budget can protect any pod."""
        return bool(self._by_namespace)

    def violations(self, pods: Sequence[Pod]) -> list[bool]:
        """For each pod whether evicting it, after the pods before it, violates a budget."""
        left: dict[str, int] = {}
        return [self._is_violated(pod, left) for pod in pods]

    def _is_violated(self, pod: Pod, left: dict[str, int]) -> bool:
        is_violated = False
        for budget in self._about(pod):
            if pod.name not in budget.status.disrupted_pods:
                key = budget.key
                left[key] = left.get(key, budget.status.disruptions_allowed) - 1
                is_violated |= left[key] < 0
                if is_violated and self._first_violated_only:
                    break
        return is_violated

    def _about(self, pod: Pod) -> Sequence[PodDisruptionBudget]:
        """The budgets whose selector matches the pod; pods without labels have none."""
        there = self._by_namespace.get(pod.namespace)
        if there is None or not pod.labels:
            return ()
        key = pod.namespace, tuple(pod.labels.items())
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = [budget for budget, selector in there if selector.matches(pod.labels)]
        return found


def _selector(budget: PodDisruptionBudget) -> Selector | None:
    """The pods of the budget; None if there are none. An empty selector protects no pod here."""
    try:
        selector = compile_selector(budget.spec.selector)
    except SelectorError:
        return None
    return None if selector.is_empty else selector


def split_by_budget(
    pods: Sequence[Pod], budgets: Sequence[PodDisruptionBudget], *, first_violated_only: bool = False
) -> tuple[list[Pod], list[Pod]]:
    """The pods whose eviction violates a budget, counted in the given order, and the other pods."""
    violating: list[Pod] = []
    others: list[Pod] = []
    known = DisruptionBudgets(budgets, first_violated_only=first_violated_only)
    for pod, is_violated in zip(pods, known.violations(pods), strict=True):
        (violating if is_violated else others).append(pod)
    return violating, others
