"""The cluster of a recorded scenario, brought up in memory and moved from step to step."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from bayplan import config
from bayplan.cache.cache import on_node
from bayplan.config import Catalogue
from bayplan.cycle import Decision
from bayplan.framework import Registry
from bayplan.model import (
    CSINode,
    ElasticQuota,
    KubeObject,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    PodGroup,
    PriorityClass,
    Service,
    StorageClass,
)
from bayplan.scheduler import Profile, Scheduler

#: Key of a scenario → what its entries are.
KINDS: Mapping[str, type[KubeObject]] = {
    "namespaces": Namespace,
    "csinodes": CSINode,
    "storageclasses": StorageClass,
    "pvs": PersistentVolume,
    "pvcs": PersistentVolumeClaim,
    "services": Service,
    "pdbs": PodDisruptionBudget,
    "priorityclasses": PriorityClass,
    "podgroups": PodGroup,
    "elasticquotas": ElasticQuota,
}


class RecordedCluster:
    """A scheduler over the objects of a scenario."""

    def __init__(self, line: dict[str, Any], catalogue: Catalogue) -> None:
        if not isinstance(catalogue, Registry):
            raise TypeError("decisions are made with a registry of plugins, not with a bare catalogue")
        loaded = config.load(json.dumps(line["config"]), source="config", catalogue=catalogue)
        self.scheduler = Scheduler(loaded, catalogue, seed=0)
        self._pods: dict[str, Pod] = {}
        for key, kind in KINDS.items():
            for each in line.get(key, ()):
                self.scheduler.objects.set(kind.from_dict(each))
        for each in line["nodes"]:
            self.scheduler.cache.set_node(Node.from_dict(each))
        for each in line["bound"]:
            self.place(Pod.from_dict(each))

    def profile(self, pod: Pod) -> Profile:
        return self.scheduler.profiles[pod.spec.scheduler_name]

    def decide(self, pod: Pod) -> Decision:
        return self.profile(pod).cycle.schedule(pod)

    def place(self, pod: Pod, node_name: str = "", start_time: str | None = None) -> None:
        """*pod* is on its node (or on *node_name*), started at *start_time*."""
        if node_name:
            pod = on_node(pod, node_name)
        if start_time is not None:
            pod = _with_status(pod, start_time=start_time)
        self._pods[pod.key] = pod
        self.scheduler.nominator.remove(pod)
        self.scheduler.cache.add_pod(pod)

    def evict(self, keys: Iterable[str]) -> None:
        for key in keys:
            self.scheduler.cache.remove_pod(self._pods.pop(key).uid)

    def nominate(self, pod: Pod, node_name: str) -> Pod:
        """The pod as it is tried again: promised a node."""
        pod = _with_status(pod, nominated_node_name=node_name)
        self.scheduler.nominator.add(pod, node_name)
        return pod

    def replace_volumes(self, step: dict[str, Any]) -> None:
        """The volumes as they were after the step."""
        for key, kind in (("pvs_after", PersistentVolume), ("pvcs_after", PersistentVolumeClaim)):
            if key not in step:
                continue
            after = [kind.from_dict(each) for each in step[key]]
            there = {each.key for each in after}
            for each in self.scheduler.objects.lister(kind).list():
                if each.key not in there:
                    self.scheduler.objects.remove(each)
            for each in after:
                self.scheduler.objects.set(each)


def _with_status(pod: Pod, **fields: Any) -> Pod:
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, **fields))
