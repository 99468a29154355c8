"""What if nodes were drained: where their pods would go, which cannot go anywhere, which budgets are in the way.

Every pod is taken off, and decided about anew with the nodes cordoned; what one takes is taken for the next.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import msgspec

from bayplan.cache.cache import on_node
from bayplan.explain.capacity.capacity_answers import BudgetInTheWay, DrainPlan, MovedPod
from bayplan.explain.explainer import unplaced
from bayplan.explain.explanation import PodReference
from bayplan.explain.what_if_scheduler import ObjectChange, WhatIfScheduler
from bayplan.model import Node, Pod, PodDisruptionBudget, SelectorError, compile_selector

if TYPE_CHECKING:
    from bayplan.explain.cluster_objects import ClusterObjects

#: The pods of these owners belong to the node.
_OF_THE_NODE: Final = ("DaemonSet", "Node")


def plan_drain(scheduler: WhatIfScheduler, objects: ClusterObjects, nodes: Sequence[str]) -> DrainPlan:
    """*nodes* are in the cluster. Important pods are placed first, as the queue would."""
    here = [pod for pod in objects.pods.values() if pod.node_name in nodes and not pod.is_terminal]
    staying = [pod for pod in here if pod.controller is not None and pod.controller.kind in _OF_THE_NODE]
    leaving = [pod for pod in here if pod not in staying and not pod.is_terminating]
    leaving.sort(key=lambda pod: (-pod.priority, pod.metadata.creation_timestamp or "", pod.key))
    cordoned = [ObjectChange(objects.nodes[name], _cordoned(objects.nodes[name])) for name in nodes]
    with ExitStack() as stack:
        stack.enter_context(scheduler.changed(cordoned))
        # All at once, as the space and the claims of one may be what another needs.
        stack.enter_context(scheduler.changed([ObjectChange(pod, None) for pod in leaving]))
        moves = tuple(_move(scheduler, pod, stack) for pod in leaving)
    plan = DrainPlan(
        source=objects.source(),
        nodes=tuple(nodes),
        summary="",
        moves=moves,
        staying=tuple(_reference(pod) for pod in staying),
        budgets=tuple(_budgets(objects, leaving)),
    )
    return msgspec.structs.replace(plan, summary=_summary(plan))


def _cordoned(node: Node) -> Node:
    return msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, unschedulable=True))


def _move(scheduler: WhatIfScheduler, pod: Pod, stack: ExitStack) -> MovedPod:
    target, message = "", ""
    fresh = unplaced(pod)
    if pod.spec.scheduler_name not in scheduler.profiles:
        message = (
            f"it is placed by the scheduler {pod.spec.scheduler_name!r}, which is not one of this configuration"
        )
    else:
        decision = scheduler.decide(fresh)
        target, message = decision.node_name, "" if decision.node_name else decision.message
    if target:
        stack.enter_context(scheduler.changed([ObjectChange(None, on_node(fresh, target))]))
    return MovedPod(
        pod=_reference(pod),
        from_node=pod.node_name,
        to_node=target,
        message=message,
        unmanaged=pod.controller is None,
    )


def _reference(pod: Pod) -> PodReference:
    return PodReference(namespace=pod.namespace, name=pod.name, uid=pod.uid)


def _budgets(objects: ClusterObjects, leaving: Sequence[Pod]) -> Iterator[BudgetInTheWay]:
    protected = {
        budget: [pod for pod in leaving if _protects(budget, pod)]
        for budget in objects.others.get(PodDisruptionBudget, {}).values()
        if isinstance(budget, PodDisruptionBudget)
    }
    n_budgets = Counter(pod.key for pods in protected.values() for pod in pods)
    for budget, pods in protected.items():
        allowed = budget.status.disruptions_allowed
        crowded = [pod.key for pod in pods if n_budgets[pod.key] > 1]
        message = ""
        if crowded:
            message = f"{', '.join(crowded)} has more than one budget: the API refuses to evict it"
        elif len(pods) > allowed:
            more = "; the rest when replacements are ready" if allowed > 0 else ""
            message = f"{max(allowed, 0)} of {len(pods)} pods may be evicted now{more}"
        if message:
            yield BudgetInTheWay(
                namespace=budget.namespace, name=budget.name, n_pods=len(pods), allowed=allowed, message=message
            )


def _protects(budget: PodDisruptionBudget, pod: Pod) -> bool:
    if budget.namespace != pod.namespace:
        return False
    try:
        return compile_selector(budget.spec.selector).matches(pod.labels)
    except SelectorError:
        return False


def _summary(plan: DrainPlan) -> str:
    n_stuck, n_pods = len(plan.stuck), len(plan.moves)
    name = plan.nodes[0] if len(plan.nodes) == 1 else f"{len(plan.nodes)} nodes"
    if not n_pods:
        return f"{name} can be drained: no pod has to go."
    found = f"{n_pods - n_stuck} of {n_pods} pods find another node"
    text = f"{name} can be drained: {found}" if not n_stuck else f"{name} cannot be drained: {found}"
    blocked = sum(budget.allowed <= 0 for budget in plan.budgets)
    if blocked:
        text += f"; {blocked} budget{'s allow' if blocked > 1 else ' allows'} no eviction now"
    return f"{text}."
