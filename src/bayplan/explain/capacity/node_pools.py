"""Pools of nodes: by the label that the provider or the autoscaler sets, else by what the nodes offer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from bayplan.explain.amounts import amount_text
from bayplan.model import CPU, MEMORY, Node

POOL_LABELS: Final = (
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "node.kubernetes.io/instance-type",
)


def pool_of(node: Node, label: str = "") -> str:
    """The pool of *node*: the value of *label*, or of the first label that providers use, else its size."""
    for key in (label,) if label else POOL_LABELS:
        if key in node.labels:
            return node.labels[key]
    shape = node_shape(node)
    return f"{shape.get('cpu', '0')} cpu, {shape.get('memory', '0')}"


def pools_of(nodes: Iterable[Node], label: str = "") -> dict[str, list[Node]]:
    """Pool → its nodes."""
    pools: dict[str, list[Node]] = {}
    for node in nodes:
        pools.setdefault(pool_of(node, label), []).append(node)
    return pools


def node_shape(node: Node) -> dict[str, str]:
    """What a node offers, as quantities: cpu and memory first."""
    amounts = node.allocatable
    names = sorted(amounts, key=lambda name: (name != CPU, name != MEMORY, name))
    return {name: amount_text(name, amounts[name]) for name in names if amounts[name]}
