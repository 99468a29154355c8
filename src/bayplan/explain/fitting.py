"""Would it fit? Places the pods of workloads that nobody has submitted yet, one after another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from bayplan.cache.cache import on_node
from bayplan.explain.changes import reference
from bayplan.explain.custom_remedies import members_of
from bayplan.explain.explanation import FitReport, PlannedNode, WorkloadAnswer
from bayplan.explain.object_files import ObjectFileError
from bayplan.explain.what_if_scheduler import ObjectChange
from bayplan.explain.workload_pods import (
    WORKLOADS,
    AdmissionDefaults,
    Workload,
    is_workload,
    other_object,
    workload_name,
    workload_of,
)
from bayplan.model import Pod, PodGroup, PriorityClass, StorageClass

if TYPE_CHECKING:
    from bayplan.explain.cluster_objects import ClusterObjects
    from bayplan.explain.explainer import Explainer
    from bayplan.explain.explanation import Explanation
    from bayplan.explain.what_if_scheduler import WhatIfScheduler


def workloads_in(
    objects: ClusterObjects, manifests: Sequence[Mapping[str, Any]], namespace: str
) -> list[Workload]:
    """The workloads among *manifests*, with pods as they would be made in this cluster. Raises ObjectFileError."""
    workloads = _workloads(manifests, namespace, _defaults(objects))
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
    defaults = _defaults(objects)
    workloads = _workloads(manifests, namespace, defaults)
    added = [each for manifest in manifests if (each := other_object(manifest, namespace, defaults)) is not None]
    groups = [each for each in added if isinstance(each, PodGroup)]
    if not workloads and not groups:
        raise ObjectFileError(f"no workload among the objects; expected one of {', '.join(WORKLOADS)} or PodGroup")
    with ExitStack() as stack:
        stack.enter_context(explainer.scheduler.changed([ObjectChange(None, each) for each in added]))
        # The members of a gang count from the start.
        pods = [ObjectChange(None, pod) for workload in workloads for pod in workload.pods]
        stack.enter_context(explainer.scheduler.changed(pods))
        answers = [_fit(explainer, workload, stack, n_suggestions) for workload in workloads]
        answers += [_fit_group(explainer.scheduler, group, stack) for group in groups]
    return FitReport(source=objects.source(), workloads=tuple(answers))


def _defaults(objects: ClusterObjects) -> AdmissionDefaults:
    return AdmissionDefaults.of(each for each in objects if isinstance(each, PriorityClass | StorageClass))


def _workloads(
    manifests: Sequence[Mapping[str, Any]], namespace: str, defaults: AdmissionDefaults
) -> list[Workload]:
    workloads: list[Workload] = []
    names: set[str] = set()
    for manifest in filter(is_workload, manifests):
        workloads.append(workload_of(manifest, namespace, defaults, names=names))
        names.add(workload_name(manifest))
    return workloads


def _fit(explainer: Explainer, workload: Workload, stack: ExitStack, n_suggestions: int) -> WorkloadAnswer:
    scheduler = explainer.scheduler
    stack.enter_context(scheduler.changed([ObjectChange(None, each) for each in workload.claims]))
    placed: Counter[str] = Counter()
    failure: Explanation | None = None
    for pod in workload.pods:
        node_name = _place(scheduler, pod, stack)
        if not node_name:
            owner = workload.manifest if workload.manifest["kind"] != "Pod" else None
            failure = explainer.explain(pod, n_suggestions=n_suggestions, owner=owner)
            break
        placed[node_name] += 1
    n_placed = sum(placed.values())
    return WorkloadAnswer(
        object=reference(workload.manifest),
        replicas=len(workload.pods),
        placed=n_placed,
        summary=_summary(workload, n_placed),
        nodes=tuple(PlannedNode(node=name, count=count) for name, count in placed.most_common()),
        first_failure=failure,
    )


def _place(scheduler: WhatIfScheduler, pod: Pod, stack: ExitStack) -> str:
    """Place *pod*, until *stack* is closed; returns its node, or nothing if none takes it."""
    if pod.spec.scheduler_name not in scheduler.profiles:
        return ""
    if scheduler.profile(pod).plugins.pre_enqueue(pod) is not None:
        return ""
    node_name = scheduler.decide(pod).node_name
    if node_name:
        stack.enter_context(scheduler.changed([ObjectChange(pod, on_node(pod, node_name))]))
    return node_name


def _fit_group(scheduler: WhatIfScheduler, group: PodGroup, stack: ExitStack) -> WorkloadAnswer:
    """Whether enough members have a place: those of the file, and those that wait in the cluster."""
    members = members_of(scheduler.core, group)
    nodes = [pod.node_name or _place(scheduler, pod, stack) for pod in members]
    placed = Counter(node for node in nodes if node)
    n_placed, needed = sum(placed.values()), group.spec.min_member
    verdict = "fits" if n_placed >= needed else "does not fit"
    counts = f"{n_placed} of {len(members)} members have a place, {needed} are needed"
    return WorkloadAnswer(
        object=reference({"apiVersion": group.API_VERSION, "kind": group.KIND, **group.raw}),
        replicas=len(members),
        placed=n_placed,
        summary=f"PodGroup {group.name} {verdict}: {counts if members else 'it has no members yet'}.",
        nodes=tuple(PlannedNode(node=name, count=count) for name, count in placed.most_common()),
    )


def _summary(workload: Workload, n_placed: int) -> str:
    target, n_pods = reference(workload.manifest), len(workload.pods)
    name = f"{target.kind} {target.name}"
    if n_placed == n_pods:
        return f"{name} fits." if n_pods == 1 else f"{name} fits: all {n_pods} pods."
    return f"{name} does not fit." if n_pods == 1 else f"{name} does not fit: {n_placed} of {n_pods} pods do."
