"""How many more of a pod fit: places one after another, as the scheduler would, until one does not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import msgspec

from bayplan.cache.cache import on_node
from bayplan.explain.capacity.capacity_answers import CapacityReport, PoolCapacity
from bayplan.explain.capacity.node_pools import pool_of
from bayplan.explain.changes import reference
from bayplan.explain.explanation import CountedReason
from bayplan.explain.fitting import workloads_in
from bayplan.explain.node_answers import summarize_diagnosis
from bayplan.explain.object_files import ObjectFileError
from bayplan.explain.what_if_scheduler import ObjectChange, WhatIfScheduler

if TYPE_CHECKING:
    from bayplan.core import Decision
    from bayplan.explain.cluster_objects import ClusterObjects
    from bayplan.model import Pod


def count_capacity(
    scheduler: WhatIfScheduler,
    objects: ClusterObjects,
    manifests: Sequence[Mapping[str, Any]],
    namespace: str,
    *,
    limit: int,
    pool_label: str = "",
) -> CapacityReport:
    """How many more pods of the one workload in *manifests* fit, at most *limit*. Raises ObjectFileError."""
    workloads = workloads_in(objects, manifests, namespace)
    if len(workloads) != 1 or not workloads[0].pods:
        raise ObjectFileError(f"one workload with a pod is expected, and there are {len(workloads)}")
    pod = workloads[0].pods[0]
    check_can_be_tried(scheduler, pod)
    placed: Counter[str] = Counter()
    failed: Decision | None = None
    with ExitStack() as stack:
        stack.enter_context(scheduler.changed([ObjectChange(None, each) for each in workloads[0].claims]))
        while placed.total() < limit:
            copy = numbered(pod, placed.total())
            decision = scheduler.decide(copy)
            if not decision.node_name:
                failed = decision
                break
            placed[decision.node_name] += 1
            stack.enter_context(scheduler.changed([ObjectChange(None, on_node(copy, decision.node_name))]))
    total = placed.total()
    return CapacityReport(
        source=objects.source(),
        object=reference(workloads[0].manifest),
        summary=_summary(pod, total, failed),
        fits=total,
        limited=failed is None,
        message="" if failed is None else failed.message,
        pools=_pools(objects, placed, failed, pool_label),
    )


def check_can_be_tried(scheduler: WhatIfScheduler, pod: Pod) -> None:
    """ObjectFileError for a pod that no scheduling cycle is about."""
    if pod.spec.scheduler_name not in scheduler.profiles:
        known = ", ".join(scheduler.profiles)
        raise ObjectFileError(f"{pod.key}: no profile is called {pod.spec.scheduler_name!r}; there is {known}")
    gate = scheduler.profile(pod).plugins.pre_enqueue(pod)
    if gate is not None:
        raise ObjectFileError(f"{pod.key} would not be tried: {gate[1].message}")


def numbered(pod: Pod, number: int) -> Pod:
    """One more pod like *pod*."""
    metadata = msgspec.structs.replace(pod.metadata, name=f"{pod.name}-{number}", uid=f"{pod.uid}/{number}")
    copy = msgspec.structs.replace(pod, metadata=metadata)
    copy.share_derived(pod)
    return copy


def _summary(pod: Pod, total: int, failed: Decision | None) -> str:
    name = f"{pod.namespace}/{pod.name}"
    if failed is None:
        return f"At least {total:,} more of {name} fit; counting ended there."
    return f"{total:,} more of {name} fit." if total else f"No pod like {name} fits."


def _pools(
    objects: ClusterObjects, placed: Counter[str], failed: Decision | None, label: str
) -> tuple[PoolCapacity, ...]:
    names = {name: pool_of(node, label) for name, node in objects.nodes.items()}
    fits: Counter[str] = Counter()
    for node, count in placed.items():
        fits[names[node]] += count
    reasons: dict[str, Counter[str]] = {}
    groups = () if failed is None or failed.diagnosis is None else summarize_diagnosis(failed.diagnosis).groups
    for group in groups:
        for node in group.nodes:
            reasons.setdefault(names[node], Counter()).update(group.reasons)
    return tuple(
        PoolCapacity(
            pool=pool,
            n_nodes=n_nodes,
            fits=fits[pool],
            limits=tuple(
                CountedReason(reason=reason, count=count)
                for reason, count in reasons.get(pool, Counter()).most_common()
            ),
        )
        for pool, n_nodes in sorted(Counter(names.values()).items(), key=lambda item: (-fits[item[0]], item[0]))
    )
