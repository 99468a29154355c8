"""One more node: which of the nodes there are, once more, would take the pod, and what it would need besides."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from bayplan.cache.cache import on_node
from bayplan.explain.node_remedies import enlarge, new_node
from bayplan.explain.remedy import CAPACITY, NODE, Remedy, Site
from bayplan.explain.what_if_scheduler import ObjectChange, WhatIfScheduler
from bayplan.model import Node, Pod

if TYPE_CHECKING:
    from bayplan.explain.obstacle_remedies import RemedyFinder

NEW_NODE: Final = 80.0
#: What each difference from the model costs.
DIFFERENCE: Final = 10.0
#: How many kinds of nodes are tried.
MAX_SHAPES: Final = 6
#: How many nodes are looked at before the caller may do something else.
_SCANNED: Final = 100
_INSUFFICIENT: Final = "Insufficient "


class AddedNode(NamedTuple):
    """A node to be created, and the changes that this makes to the cluster."""

    manifest: dict[str, Any]
    pods: tuple[Pod, ...]

    @property
    def changes(self) -> tuple[ObjectChange, ...]:
        return tuple(ObjectChange(None, each) for each in (Node.from_dict(self.manifest), *self.pods))


class ModelNode:
    """A node that could be there once more."""

    def __init__(self, scheduler: WhatIfScheduler, node: Node) -> None:
        self._scheduler = scheduler
        self.node = node

    def once_more(self, number: int = 1) -> AddedNode:
        """The *number*th further node like it: empty, but for the DaemonSet pods that every such node runs."""
        while self._scheduler.node(f"{self.node.name}-new-{number}") is not None:
            number += 1
        name = f"{self.node.name}-new-{number}"
        manifest = new_node({"apiVersion": "v1", "kind": "Node", **self.node.raw}, name)
        return AddedNode(manifest, _daemons(self._scheduler, self.node.name, name))


def new_node_drafts(
    scheduler: WhatIfScheduler, pod: Pod, finder: RemedyFinder
) -> Iterator[tuple[Remedy, dict[str, Any], tuple[Pod, ...]]]:
    """New nodes that may take *pod*: what to ask for, the node, and the DaemonSet pods that it would run."""
    for model in model_nodes(scheduler):
        manifest, pods = model.once_more()
        differences = _adapt(scheduler, pod, finder, manifest, pods)
        if differences is None:
            continue
        summary = f"add a node like {model.node.name}" + (f" with {', '.join(differences)}" if differences else "")
        cost = NEW_NODE + DIFFERENCE * len(differences)
        key = f"new node {differences}" if differences else "new node"
        yield Remedy(summary, cost, CAPACITY, key=key), manifest, pods


def _adapt(
    scheduler: WhatIfScheduler, pod: Pod, finder: RemedyFinder, manifest: dict[str, Any], pods: tuple[Pod, ...]
) -> list[str] | None:
    """Edit the new node until nothing but other nodes keeps the pod off it; returns the differences from the
    model, or None if that is not possible."""
    node = Node.from_dict(manifest)
    name = node.name
    with scheduler.changed([ObjectChange(None, node), *(ObjectChange(None, each) for each in pods)]):
        assessment = scheduler.assess(pod)
        position = assessment.nodes.position(name)
        if position is None or not assessment.pre_filter.is_success:
            return None
        info = assessment.nodes[position]
        used = {resource: int(amount) for resource, amount in info.requested.items()}
        obstacles = [each for each in assessment.obstacles() if each.where[position]]
        site = Site(node, {}, pods)
        differences = []
        for obstacle in obstacles:
            if obstacle.reason.startswith(_INSUFFICIENT):
                resource = obstacle.reason.removeprefix(_INSUFFICIENT)
                amount = used.get(resource, 0) + int(pod.spec_requests.get(resource, 0))
                enlarge(manifest, resource, amount)
                differences.append(_amount(resource, manifest))
                continue
            remedy = next((each for each in finder.at_node(obstacle, site) if each.asks == NODE), None)
            if remedy is None or remedy.edit_node is None:
                return None
            remedy.edit_node(manifest)
            differences.append(_difference(node, manifest))
    return list(dict.fromkeys(differences))


def _amount(resource: str, manifest: dict[str, Any]) -> str:
    return f"{manifest['status']['allocatable'][resource]} {resource}"


def _difference(model: Node, manifest: dict[str, Any]) -> str:
    labels = manifest["metadata"].get("labels") or {}
    added = [f"{key}={value}" for key, value in sorted(labels.items()) if model.labels.get(key) != value]
    if added:
        return f"the label{'s' if len(added) > 1 else ''} {' '.join(added)}"
    return "fewer taints" if model.taints else "other labels"


def model_nodes(scheduler: WhatIfScheduler) -> list[ModelNode]:
    """One node of each kind: the same amounts, labels and taints; the most frequent kinds first."""
    shapes: dict[bytes, Node] = {}
    counts: Counter[bytes] = Counter()
    for number, info in enumerate(scheduler.core.cache.snapshot().nodes):
        if number % _SCANNED == 0:
            scheduler.breathe()
        node = info.node
        labels = {key: value for key, value in node.labels.items() if value != node.name}
        shape = msgspec.json.encode(
            (
                sorted(node.status.allocatable.items()),
                sorted(labels.items()),
                [str(taint) for taint in node.taints],
            )
        )
        shapes.setdefault(shape, node)
        counts[shape] += 1
    return [ModelNode(scheduler, shapes[shape]) for shape, _ in counts.most_common(MAX_SHAPES)]


def _daemons(scheduler: WhatIfScheduler, model: str, name: str) -> tuple[Pod, ...]:
    """Copies of the DaemonSet pods of *model*: a new node gets them, too."""
    info = scheduler.core.cache.snapshot().node(model)
    daemons = [
        pod
        for pod in (info.pods if info is not None else ())
        if pod.controller is not None and pod.controller.kind == "DaemonSet"
    ]
    return tuple(_copy(pod, name) for pod in daemons)


def _copy(pod: Pod, node_name: str) -> Pod:
    metadata = msgspec.structs.replace(pod.metadata, name=f"{pod.name}-{node_name}", uid=f"{pod.uid}/{node_name}")
    return on_node(Pod(metadata=metadata, spec=pod.spec), node_name)
