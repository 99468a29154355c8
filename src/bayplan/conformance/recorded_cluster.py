"""The cluster of a recorded scenario, in memory, advanced step by step."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from bayplan import config
from bayplan.cache.cache import on_node
from bayplan.config import Catalogue
from bayplan.core import Decision, Profile
from bayplan.core.profile_handle import NO_CLIENT
from bayplan.framework import Client, CycleState, Registry
from bayplan.model import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    DeviceClass,
    DeviceTaintRule,
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
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    Service,
    StorageClass,
)
from bayplan.scheduler import new_core

#: Key of a scenario → what its entries are.
KINDS: Mapping[str, type[KubeObject]] = {
    "namespaces": Namespace,
    "csinodes": CSINode,
    "csidrivers": CSIDriver,
    "capacities": CSIStorageCapacity,
    "storageclasses": StorageClass,
    "pvs": PersistentVolume,
    "pvcs": PersistentVolumeClaim,
    "services": Service,
    "pdbs": PodDisruptionBudget,
    "priorityclasses": PriorityClass,
    "podgroups": PodGroup,
    "elasticquotas": ElasticQuota,
    "deviceclasses": DeviceClass,
    "resourceslices": ResourceSlice,
    "devicetaintrules": DeviceTaintRule,
    "claimtemplates": ResourceClaimTemplate,
    "claims": ResourceClaim,
}


class RecordedCluster:
    """A scheduler over the objects of a scenario."""

    def __init__(self, line: dict[str, Any], catalogue: Catalogue, client: Client = NO_CLIENT) -> None:
        if not isinstance(catalogue, Registry):
            raise TypeError("decisions are made with a registry of plugins, not with a bare catalogue")
        loaded = config.load(json.dumps(line["config"]), source="config", catalogue=catalogue)
        self.core = new_core(loaded, catalogue, client=client, seed=0)
        self._pods: dict[str, Pod] = {}
        for key, kind in KINDS.items():
            for each in line.get(key, ()):
                self.core.objects.set(kind.from_dict(each))
        for each in line["nodes"]:
            self.core.cache.set_node(Node.from_dict(each))
        for each in line["bound"]:
            self.place(Pod.from_dict(each))
        self._from_start = frozenset(self._pods)

    def profile(self, pod: Pod) -> Profile:
        return self.core.profiles[pod.spec.scheduler_name]

    def decide(self, pod: Pod, state: CycleState | None = None) -> Decision:
        """*state* is filled in for what comes after the decision."""
        return self.core.decide(pod, state)

    def place(self, pod: Pod, node_name: str = "", start_time: str | None = None) -> None:
        """*pod* is on its node (or on *node_name*), started at *start_time*."""
        if node_name:
            pod = on_node(pod, node_name)
        if start_time is not None:
            pod = _with_status(pod, start_time=start_time)
        self._pods[pod.key] = pod
        self.core.nominator.remove(pod)
        self.core.cache.add_pod(pod)

    def arrange(self, node_name: str, victims: Collection[str]) -> None:
        """Let the pods that were on the node from the start have come in an order in which *victims* are evicted.

        kube-scheduler learns of the pods that are there when it starts in the order of a Go map, which is random.
        Of equally important pods that have not started yet, this order decides which are evicted.
        """
        here = [pod for pod in self._pods.values() if pod.node_name == node_name]
        first = [pod for pod in here if pod.key in self._from_start]
        come_last = self.core.release.facts.keeps_first_unstarted_pod
        first.sort(key=lambda pod: (pod.key in victims) == come_last)
        for pod in here:
            self.core.cache.remove_pod(pod.uid)
        for pod in (*first, *(pod for pod in here if pod.key not in self._from_start)):
            self.core.cache.add_pod(pod)

    def evict(self, keys: Iterable[str]) -> list[str]:
        """Remove these pods; returns their uids."""
        uids = [self._pods.pop(key).uid for key in keys]
        for uid in uids:
            self.core.cache.remove_pod(uid)
        return uids

    def nominate(self, pod: Pod, node_name: str) -> Pod:
        """The pod as it is tried again, nominated for a node."""
        pod = _with_status(pod, nominated_node_name=node_name)
        self.core.nominator.add(pod, node_name)
        return pod

    def replace_volumes(self, step: dict[str, Any]) -> None:
        """The volumes as they were after the step."""
        for key, kind in (("pvs_after", PersistentVolume), ("pvcs_after", PersistentVolumeClaim)):
            if key not in step:
                continue
            after = [kind.from_dict(each) for each in step[key]]
            there = {each.key for each in after}
            for each in self.core.objects.lister(kind).list():
                if each.key not in there:
                    self.core.objects.remove(each)
            for each in after:
                self.core.objects.set(each)


def _with_status(pod: Pod, **fields: Any) -> Pod:
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, **fields))
