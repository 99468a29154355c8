"""Whether the cluster as a whole has enough resources for a group, not counting the group's own pods as used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from bayplan.model.quantity import BINARY_SI, DECIMAL_SI, MILLI, Quantity
from bayplan.model.resource_names import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, is_huge_page_resource_name

if TYPE_CHECKING:
    from bayplan.framework import IntArray, NodeTable
    from bayplan.model import Pod, PodGroup


def wanted_by(group: PodGroup) -> dict[str, Quantity]:
    """The `minResources` of the group, with the number of its pods as a resource."""
    wanted = {name: Quantity.parse(text) for name, text in group.spec.min_resources.items()}
    return {**wanted, PODS: Quantity(group.spec.min_member)}


def resource_gap(nodes: NodeTable, wanted: Mapping[str, Quantity], own: Iterable[Pod]) -> str:
    """What the cluster lacks, as scheduler-plugins words it; empty if there is enough of everything.

    Nodes are added up in order, and a resource is enough as soon as the sum reaches it: an overcommitted node
    later in the order does not lower it.
    """
    own = list(own)
    missing = {}
    for name, quantity in sorted(wanted.items()):
        left = _left(nodes, name, own)
        gap = _gap(quantity, left, _unit(name))
        if gap is not None:
            missing[name] = gap
    if not missing:
        return ""
    return f"map[{' '.join(f'{name}:{_as_go_prints(gap)}' for name, gap in missing.items())}]"


def _left(nodes: NodeTable, resource: str, own: Iterable[Pod]) -> IntArray:
    """int64, shape (n_nodes,): allocatable minus requested, without the requests of *own*."""
    taken = nodes.pod_counts() if resource == PODS else nodes.requested(resource)
    left = nodes.allocatable(resource) - taken
    for pod in own:
        position = nodes.position(pod.node_name)
        if position is not None:
            left[position] += 1 if resource == PODS else pod.requests.get(resource, 0)
    return left


def _gap(wanted: Quantity, left: IntArray, unit: Quantity) -> Quantity | None:
    """None if there is enough."""
    most = int(np.cumsum(left).max())
    if (wanted - Quantity(most, unit.scale, unit.format)).sign <= 0:
        return None
    # Taken away in two steps, because the first one sets the scale that the words show.
    present = left[left != 0]
    for amount in (int(present[:1].sum()), int(present[1:].sum())):
        wanted = wanted - Quantity(amount, unit.scale, unit.format)
    return wanted


def _unit(resource: str) -> Quantity:
    """One of what nodes count the resource in."""
    if resource == CPU:
        return Quantity(1, MILLI, DECIMAL_SI)
    is_binary = resource in (MEMORY, PODS, EPHEMERAL_STORAGE) or is_huge_page_resource_name(resource)
    return Quantity(1, 0, BINARY_SI if is_binary else DECIMAL_SI)


def _as_go_prints(quantity: Quantity) -> str:
    return f"{{{{{quantity.unscaled} {quantity.scale}}} {{<nil>}}  {quantity.format}}}"
