"""From an obstacle to its remedies: which edits of the pod, of the node or of others remove it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from bayplan.explain.affinity_remedies import (
    dropping_labels,
    dropping_node_affinity,
    dropping_selector,
    dropping_terms,
    relaxing_spread,
)
from bayplan.explain.custom_remedies import larger_quota, smaller_gang
from bayplan.explain.deletions import claim_users, crowding, deleting, repelling, repelling_labels
from bayplan.explain.node_remedies import labelling, labelling_topology, uncordoning, untainting
from bayplan.explain.pod_remedies import (
    dropping_claims,
    dropping_ports,
    dropping_volumes,
    lowering,
    tolerating,
    tolerating_cordon,
    without_gates,
)
from bayplan.explain.volume_remedies import creating_claims

if TYPE_CHECKING:
    from bayplan.explain.assessment import Obstacle
    from bayplan.explain.remedy import Remedy, Site
    from bayplan.explain.what_if_scheduler import WhatIfScheduler
    from bayplan.framework import Status
    from bayplan.model import Pod

_VOLUMES: Final = ("VolumeBinding", "VolumeZone", "VolumeRestrictions", "NodeVolumeLimits")
_INSUFFICIENT: Final = "Insufficient "
#: How many pods of a crowded domain are deleted at most.
_MAX_CROWD: Final = 5
#: To look through all pods of a large cluster takes long, so it is done for a few nodes only.
_MAX_SCANS: Final = 4


class RemedyFinder:
    """Finds the remedies for one pod."""

    def __init__(self, scheduler: WhatIfScheduler, pod: Pod) -> None:
        self._scheduler = scheduler
        self._pod = pod
        #: How many nodes all pods were looked through for.
        self._n_scans = 0

    def at_node(self, obstacle: Obstacle, site: Site) -> Iterator[Remedy]:
        """Remedies for an obstacle at a node, besides deleting pods of that node."""
        pod = self._pod
        match obstacle.plugin:
            case "NodeUnschedulable":
                yield from uncordoning(site)
                yield from tolerating_cordon(pod, site)
            case "TaintToleration":
                yield from tolerating(pod, site)
                yield from untainting(pod, site)
            case "NodeAffinity":
                yield from dropping_selector(pod, site)
                yield from labelling(pod, site)
                yield from dropping_node_affinity(pod)
            case "NodeResourcesFit" if obstacle.reason.startswith(_INSUFFICIENT):
                yield from lowering(pod, site, obstacle.reason.removeprefix(_INSUFFICIENT))
            case "NodePorts":
                yield from dropping_ports(pod, site)
            case "InterPodAffinity":
                yield from self._apart(obstacle, site)
            case "PodTopologySpread":
                yield from self._spread(obstacle, site)
            case "DynamicResources":
                yield from dropping_claims(pod)
            case plugin if plugin in _VOLUMES:
                yield from self._other_users()
                yield from dropping_volumes(pod)

    def before_queue(self, plugin: str) -> Iterator[Remedy]:
        """Remedies for a rejection of PreEnqueue, before which no attempt is made."""
        if plugin == "SchedulingGates":
            yield without_gates(self._pod)
        if plugin == "DynamicResources":
            yield from dropping_claims(self._pod)

    def before_filter(self, status: Status) -> Iterator[Remedy]:
        """Remedies for a rejection of PreFilter, which is about all nodes."""
        pod, plugin = self._pod, status.plugin
        if plugin in _VOLUMES or not plugin:
            yield from creating_claims(self._scheduler, pod)
            yield from self._other_users()
            yield from dropping_volumes(pod)
        if plugin == "NodeAffinity" or not plugin:
            yield from dropping_node_affinity(pod)
        if plugin == "DynamicResources" or not plugin:
            yield from dropping_claims(pod)
        if plugin == "CapacityScheduling":
            yield from larger_quota(self._scheduler, pod)
        if plugin == "Coscheduling":
            yield from smaller_gang(self._scheduler, pod)

    def _apart(self, obstacle: Obstacle, site: Site) -> Iterator[Remedy]:
        """Affinity and anti-affinity between pods, by kube-scheduler's three reasons."""
        if "anti-affinity" not in obstacle.reason:
            yield from dropping_terms(self._pod, "podAffinity")
            return
        others: list[Pod] = []
        if self._n_scans < _MAX_SCANS:
            self._n_scans += 1
            others = repelling(self._scheduler, self._pod, site.node.name)
        if others:
            yield deleting(others, self._pod)
        # A node has one of the two reasons, but both may hold.
        yield from dropping_terms(self._pod, "podAntiAffinity")
        yield from dropping_labels(self._pod, repelling_labels(others))

    def _spread(self, obstacle: Obstacle, site: Site) -> Iterator[Remedy]:
        yield from relaxing_spread(self._pod)
        if "missing required label" in obstacle.reason:
            yield from labelling_topology(site, self._domains())
            return
        if self._n_scans >= _MAX_SCANS:
            return
        self._n_scans += 1
        for crowd in crowding(self._scheduler, self._pod, site.node.name):
            for size in range(1, min(len(crowd), _MAX_CROWD) + 1):
                yield deleting(crowd[:size], self._pod)

    def _domains(self) -> dict[str, str]:
        """Topology key → the value of the first node that has one."""
        nodes = self._scheduler.core.cache.snapshot().nodes
        found: dict[str, str] = {}
        for constraint in self._pod.spec.topology_spread_constraints:
            key = constraint.topology_key
            value = next((each for each in nodes.label(key).to_list() if each is not None), None)
            if value is not None:
                found[key] = value
        return found

    def _other_users(self) -> Iterator[Remedy]:
        users = list(islice(claim_users(self._scheduler, self._pod), _MAX_CROWD))
        if users:
            yield deleting(users, self._pod)
