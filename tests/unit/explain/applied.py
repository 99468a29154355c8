"""Applies suggestions to objects as an API server would, and asks a core that knows nothing of the search."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import msgspec

from bayplan import config
from bayplan.clock import SystemClock
from bayplan.config import Loaded
from bayplan.core import Decision, SchedulerCore
from bayplan.explain.changes import with_patch
from bayplan.explain.cluster_objects import ClusterObjects, new_cluster_core
from bayplan.explain.explanation import Suggestion
from bayplan.explain.what_if_scheduler import WhatIfScheduler
from bayplan.framework import Registry
from bayplan.model import KubeObject, Pod
from bayplan.scheduler import default_registry

REGISTRY = default_registry()
LOADED = config.default(REGISTRY)


def cluster_of(objects: Iterable[KubeObject]) -> ClusterObjects:
    found = ClusterObjects("snapshot", "test")
    for each in objects:
        found.add(each)
    return found


def scheduler_of(*objects: KubeObject, loaded: Loaded = LOADED) -> WhatIfScheduler:
    return WhatIfScheduler(new_cluster_core(cluster_of(objects), loaded, REGISTRY, SystemClock()))


def decision_after(
    suggestion: Suggestion,
    pod: Pod,
    objects: Iterable[KubeObject],
    loaded: Loaded = LOADED,
    registry: Registry = REGISTRY,
) -> Decision:
    """The decision of a new core about the pod, when the changes of *suggestion* have been made."""
    by_identity = {(each.KIND, each.key): _mapping(each) for each in (*objects, pod)}
    for change in suggestion.changes:
        target = change.object
        key = target.kind, f"{target.namespace}/{target.name}" if target.namespace else target.name
        if change.verb == "patch":
            by_identity[key] = with_patch(by_identity[key], change.patch)
        elif change.verb == "delete":
            del by_identity[key]
        elif change.verb == "replace":
            uid = by_identity.pop(key)["metadata"]["uid"]
            manifest = copy.deepcopy(change.manifest)
            assert manifest is not None
            manifest["metadata"]["uid"] = f"{uid}-anew"
            by_identity[key] = manifest
        else:
            assert change.verb == "create"
            assert key not in by_identity
            by_identity[key] = {**(change.manifest or {})}
    cluster = ClusterObjects("snapshot", "test")
    for mapping in by_identity.values():
        cluster.add_mapping(mapping)
    core = new_cluster_core(cluster, loaded, registry, SystemClock())
    changed = cluster.pods[pod.key]
    assert core.profiles[changed.spec.scheduler_name].plugins.pre_enqueue(changed) is None
    return core.decide(changed)


def _mapping(value: KubeObject) -> dict[str, Any]:
    """Typed fields: a pod that was placed by a test has its node there alone."""
    typed = value.to_dict()
    if isinstance(value, Pod):
        return {**copy.deepcopy(dict(value.raw)), "apiVersion": "v1", "kind": "Pod", **_placed(value, typed)}
    return {**copy.deepcopy(dict(value.raw)), "apiVersion": value.API_VERSION, "kind": value.KIND}


def _placed(pod: Pod, typed: dict[str, Any]) -> dict[str, Any]:
    if not pod.node_name:
        return {}
    return {"spec": {**pod.raw["spec"], "nodeName": pod.node_name}, "status": typed.get("status", {})}


def objects_of(core: SchedulerCore) -> list[KubeObject]:
    """Everything that a core has, nominated pods included."""
    snapshot = core.cache.snapshot()
    found: list[KubeObject] = [info.node for info in snapshot.nodes]
    found += list(snapshot.pods())
    for kind in core.objects.kinds:
        if kind is not Pod:
            found += core.objects.lister(kind).list()
    for by_uid in core.nominator.by_node.values():
        found += [_nominated(core, pod) for pod in by_uid.values()]
    return found


def _nominated(core: SchedulerCore, pod: Pod) -> Pod:
    status = {**pod.raw.get("status", {}), "nominatedNodeName": core.nominator.node_of(pod)}
    return Pod.from_dict({**msgspec.to_builtins(pod.raw), "status": status})
