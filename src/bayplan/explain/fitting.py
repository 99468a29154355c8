"""Would it fit? Places the pods of workloads that nobody has submitted yet, one after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from bayplan.cache.cache import on_node
from bayplan.explain.changes import reference
from bayplan.explain.explanation import FitReport, PlannedNode, WorkloadAnswer
from bayplan.explain.object_files import ObjectFileError
from bayplan.explain.what_if_scheduler import ObjectChange
from bayplan.explain.workload_pods import (
    WORKLOADS,
    Workload,
    is_workload,
    other_object,
    workload_name,
    workload_of,
)
from bayplan.model import PriorityClass

if TYPE_CHECKING:
    from bayplan.explain.cluster_objects import ClusterObjects
    from bayplan.explain.explainer import Explainer
    from bayplan.explain.explanation import Explanation


def workloads_in(
    objects: ClusterObjects, manifests: Sequence[Mapping[str, Any]], namespace: str
) -> list[Workload]:
    """The workloads among *manifests*, with pods as they would be made in this cluster. Raises ObjectFileError."""
    priorities = {
        each.name: each
        for each in objects.others.get(PriorityClass, {}).values()
        if isinstance(each, PriorityClass)
    }
    workloads: list[Workload] = []
    names: set[str] = set()
    for manifest in filter(is_workload, manifests):
        workloads.append(workload_of(manifest, namespace, priorities, names=names))
        names.add(workload_name(manifest))
    if not workloads:
        raise ObjectFileError(f"no workload among the objects; expected one of {', '.join(WORKLOADS)}")
    return workloads


def fit_workloads(
    explainer: Explainer,
    objects: ClusterObjects,
    manifests: Sequence[Mapping[str, Any]],
    namespace: str,
    *,
    n_suggestions: int,
) -> FitReport:
    """Every workload of *manifests*; what one takes is taken for the next. Raises ObjectFileError."""
    workloads = workloads_in(objects, manifests, namespace)
    others = [each for manifest in manifests if (each := other_object(manifest, namespace)) is not None]
    with ExitStack() as stack:
        stack.enter_context(explainer.scheduler.changed([ObjectChange(None, each) for each in others]))
        # The members of a gang count from the start.
        pods = [ObjectChange(None, pod) for workload in workloads for pod in workload.pods]
        stack.enter_context(explainer.scheduler.changed(pods))
        answers = [_fit(explainer, workload, stack, n_suggestions) for workload in workloads]
    return FitReport(source=objects.source(), workloads=tuple(answers))


def _fit(explainer: Explainer, workload: Workload, stack: ExitStack, n_suggestions: int) -> WorkloadAnswer:
    scheduler = explainer.scheduler
    stack.enter_context(scheduler.changed([ObjectChange(None, each) for each in workload.claims]))
    placed: Counter[str] = Counter()
    failure: Explanation | None = None
    for pod in workload.pods:
        can_be_tried = (
            pod.spec.scheduler_name in scheduler.profiles
            and scheduler.profile(pod).plugins.pre_enqueue(pod) is None
        )
        node_name = scheduler.decide(pod).node_name if can_be_tried else ""
        if not node_name:
            owner = workload.manifest if workload.manifest["kind"] != "Pod" else None
            failure = explainer.explain(pod, n_suggestions=n_suggestions, owner=owner)
            break
        placed[node_name] += 1
        stack.enter_context(scheduler.changed([ObjectChange(pod, on_node(pod, node_name))]))
    n_placed = sum(placed.values())
    return WorkloadAnswer(
        object=reference(workload.manifest),
        replicas=len(workload.pods),
        placed=n_placed,
        summary=_summary(workload, n_placed),
        nodes=tuple(PlannedNode(node=name, count=count) for name, count in placed.most_common()),
        first_failure=failure,
    )


def _summary(workload: Workload, n_placed: int) -> str:
    target, n_pods = reference(workload.manifest), len(workload.pods)
    name = f"{target.kind} {target.name}"
    if n_placed == n_pods:
        return f"{name} fits." if n_pods == 1 else f"{name} fits: all {n_pods} pods."
    return f"{name} does not fit." if n_pods == 1 else f"{name} does not fit: {n_placed} of {n_pods} pods do."
