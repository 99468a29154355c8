"""How many nodes workloads need: places their pods, and adds a node of the pool whenever one does not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

from bayplan.cache.cache import on_node
from bayplan.explain.capacity.capacity_answers import PoolSize, SizeReport
from bayplan.explain.capacity.capacity_counting import check_can_be_tried
from bayplan.explain.capacity.node_pools import node_shape
from bayplan.explain.fitting import workloads_in
from bayplan.explain.new_nodes import ModelNode
from bayplan.explain.what_if_scheduler import ObjectChange, WhatIfScheduler

if TYPE_CHECKING:
    from bayplan.explain.cluster_objects import ClusterObjects
    from bayplan.explain.workload_pods import Workload
    from bayplan.model import Node


class NodePool(NamedTuple):
    """A pool that could grow: further nodes are like *model*."""

    name: str
    model: Node


def size_pools(
    scheduler: WhatIfScheduler,
    objects: ClusterObjects,
    manifests: Sequence[Mapping[str, Any]],
    namespace: str,
    pools: Sequence[NodePool],
) -> SizeReport:
    """For each of *pools* alone: how many further nodes let every pod of the workloads fit. Raises
    ObjectFileError."""
    workloads = workloads_in(objects, manifests, namespace)
    for workload in workloads:
        for pod in workload.pods[:1]:
            check_can_be_tried(scheduler, pod)
    sizes = [_size(scheduler, workloads, pool) for pool in pools]
    sizes.sort(key=lambda size: (size.placed < size.n_pods, size.new_nodes, size.pool))
    return SizeReport(source=objects.source(), summary=_summary(sizes), pools=tuple(sizes))


def _size(scheduler: WhatIfScheduler, workloads: Sequence[Workload], pool: NodePool) -> PoolSize:
    model = ModelNode(scheduler, pool.model)
    n_pods = sum(len(workload.pods) for workload in workloads)
    placed = added = 0
    message = ""
    with ExitStack() as stack:
        claims = [ObjectChange(None, claim) for workload in workloads for claim in workload.claims]
        pods = [pod for workload in workloads for pod in workload.pods]
        # The members of a gang count from the start.
        stack.enter_context(scheduler.changed([*claims, *(ObjectChange(None, pod) for pod in pods)]))
        for pod in pods:
            decision = scheduler.decide(pod)
            if not decision.node_name:
                trial = stack.enter_context(ExitStack())
                trial.enter_context(scheduler.changed(model.once_more(added + 1).changes))
                decision = scheduler.decide(pod)
                if not decision.node_name:
                    trial.close()
                    message = decision.message
                    break
                added += 1
            placed += 1
            stack.enter_context(scheduler.changed([ObjectChange(pod, on_node(pod, decision.node_name))]))
    return PoolSize(
        pool=pool.name,
        like=pool.model.name,
        shape=node_shape(pool.model),
        n_pods=n_pods,
        placed=placed,
        new_nodes=added,
        message=message,
    )


def _summary(sizes: Sequence[PoolSize]) -> str:
    possible = [size for size in sizes if size.placed == size.n_pods]
    if not possible:
        return "No pool can take all pods, however many nodes it has."
    best = possible[0]
    if not best.new_nodes:
        return f"All {best.n_pods} pods fit the cluster as it is."
    nodes = f"{best.new_nodes} more node{'s' if best.new_nodes != 1 else ''}"
    return f"All {best.n_pods} pods fit with {nodes} of the pool {best.pool}."
