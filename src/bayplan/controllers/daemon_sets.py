"""DaemonSets: one pod for every node that its template can run on, bound to the node by affinity."""

from __future__ import annotations

from copy import deepcopy
from typing import Final

from bayplan.controllers.api_objects import Object, is_being_deleted, key_of, path_of, split_key
from bayplan.controllers.controller import Controller
from bayplan.controllers.controller_revisions import REVISION_LABEL, RevisionHistory
from bayplan.controllers.pod_control import PodControl
from bayplan.controllers.pod_view import PodView
from bayplan.controllers.template_hash import template_hash
from bayplan.model import Node, Pod
from bayplan.model.node_selectors import required_node_affinity
from bayplan.model.taints import find_untolerated

APPS: Final = "apps/v1"
#: Taint effects that evict running pods.
STAY: Final = ("NoExecute",)
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
#: Conditions that daemon pods tolerate; kube-controller-manager adds the same ones.
TOLERATIONS: Final = (
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
)


class DaemonSetController(Controller):
    """See the module docstring."""

    name = "daemonset-controller"

    def watch(self) -> None:
        self._sets = self.objects(APPS, "daemonsets")
        self._nodes = self.nodes(self._node_changed)
        self._control = PodControl(self, APPS, "DaemonSet", self._sets)
        self._history = RevisionHistory(self, "DaemonSet")

    def _node_changed(self, old: Node | None, new: Node | None) -> None:
        if old is None or new is None or _shape(old) != _shape(new):
            for owner in self._sets.list():
                self.queue.add(key_of(owner))

    async def reconcile(self, key: str) -> float | None:
        namespace, name = split_key(key)
        owner = self._sets.get(name, namespace)
        if owner is None:
            self._control.expectations.forget(key)
            return None
        pods = list(await self._control.claim(owner))
        if not is_being_deleted(owner):
            await self._history.keep(owner, {pod.metadata.labels.get(REVISION_LABEL, "") for pod in pods})
        template = _daemon_template(owner)
        wanted, tolerable = self._nodes_for(owner, template)
        by_node: dict[str, list[PodView]] = {}
        for pod in pods:
            by_node.setdefault(node_of(pod), []).append(pod)
        if self._control.expectations.is_satisfied(key) and not is_being_deleted(owner):
            await self._place(owner, template, wanted, tolerable, by_node)
        await self._update_status(owner, wanted, by_node)
        return None

    def _nodes_for(self, owner: Object, template: Object) -> tuple[set[str], set[str]]:
        """Nodes that need a pod, and nodes on which one may stay; the scheduler checks resources."""
        meta = {"name": owner["metadata"]["name"], "namespace": owner["metadata"]["namespace"]}
        pod = Pod.from_dict({"metadata": meta, "spec": template["spec"]})
        affinity = required_node_affinity(pod.spec)
        wanted, tolerable = set(), set()
        for node in self._nodes.list():
            if affinity.matches(node) and find_untolerated(node.spec.taints, pod.spec.tolerations, STAY) is None:
                tolerable.add(node.name)
                if find_untolerated(node.spec.taints, pod.spec.tolerations) is None:
                    wanted.add(node.name)
        return wanted, tolerable

    async def _place(
        self,
        owner: Object,
        template: Object,
        wanted: set[str],
        tolerable: set[str],
        by_node: dict[str, list[PodView]],
    ) -> None:
        revision = template_hash(owner["spec"]["template"])
        for node in sorted(wanted - {name for name, pods in by_node.items() if any(p.is_active for p in pods)}):
            ended = [pod for pod in by_node.get(node, []) if pod.has_ended and not pod.is_deleted]
            await self._control.delete(owner, ended)
            if not any(pod.is_deleted for pod in by_node.get(node, [])):
                await self._control.make(owner, _on_node(template, node, revision))
        astray = [pod for node, pods in by_node.items() if node not in tolerable for pod in pods if pod.is_active]
        await self._control.delete(owner, astray)
        await self._update(owner, revision, wanted, by_node)

    async def _update(
        self, owner: Object, revision: str, wanted: set[str], by_node: dict[str, list[PodView]]
    ) -> None:
        """Rolling update: one node at a time while the pods of all others are ready."""
        if (owner["spec"].get("updateStrategy") or {}).get("type") == "OnDelete":
            return
        pods = [pod for node in sorted(wanted) for pod in by_node.get(node, [])]
        if len(pods) == len(wanted) and all(pod.is_active and pod.is_ready for pod in pods):
            outdated = [pod for pod in pods if pod.metadata.labels.get(REVISION_LABEL) != revision]
            await self._control.delete(owner, outdated[:1])

    async def _update_status(self, owner: Object, wanted: set[str], by_node: dict[str, list[PodView]]) -> None:
        revision = template_hash(owner["spec"]["template"])
        right = [pod for node in wanted for pod in by_node.get(node, []) if pod.is_active]
        ready = sum(pod.is_ready for pod in right)
        status = {
            "desiredNumberScheduled": len(wanted),
            "currentNumberScheduled": len({node_of(pod) for pod in right}),
            "numberMisscheduled": sum(node not in wanted for node in by_node),
            "numberReady": ready,
            "numberAvailable": ready,
            "numberUnavailable": len(wanted) - ready,
            "updatedNumberScheduled": sum(pod.metadata.labels.get(REVISION_LABEL) == revision for pod in right),
            "observedGeneration": owner["metadata"].get("generation", 0),
        }
        known = owner.get("status") or {}
        if any(known.get(field, 0) != value for field, value in status.items()):
            meta = owner["metadata"]
            path = path_of(APPS, "daemonsets", meta["namespace"], meta["name"], "status")
            await self.client.request("PATCH", path, {"status": status})


def node_of(pod: PodView) -> str:
    """The node that a daemon pod is on, or that its affinity names."""
    if pod.spec.node_name:
        return pod.spec.node_name
    required = ((pod.spec.affinity or {}).get("nodeAffinity") or {}).get(REQUIRED) or {}
    for term in required.get("nodeSelectorTerms") or []:
        for field in term.get("matchFields") or []:
            if field["key"] == "metadata.name":
                return str(field["values"][0])
    return ""


def _shape(node: Node) -> object:
    return node.metadata.labels, node.spec.taints


def _daemon_template(owner: Object) -> Object:
    template = deepcopy(owner["spec"]["template"])
    tolerations = template["spec"].setdefault("tolerations", [])
    tolerations += [{"key": key, "operator": "Exists", "effect": effect} for key, effect in TOLERATIONS]
    return dict(template)


def _on_node(template: Object, node: str, revision: str) -> Object:
    """The template for one node: an affinity to its name replaces other terms on the node's name."""
    made = deepcopy(template)
    meta = made.setdefault("metadata", {})
    meta.setdefault("labels", {})[REVISION_LABEL] = revision
    here = {"key": "metadata.name", "operator": "In", "values": [node]}
    affinity = made["spec"].setdefault("affinity", {}).setdefault("nodeAffinity", {})
    required = affinity.setdefault(REQUIRED, {})
    terms = required.get("nodeSelectorTerms") or [{}]
    required["nodeSelectorTerms"] = [{**term, "matchFields": [here]} for term in terms]
    return dict(made)
