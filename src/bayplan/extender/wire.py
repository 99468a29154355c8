"""What goes over the wire between a scheduler and an extender: kube-scheduler's `extender/v1`, in Go's spelling.

The types have no JSON names in Go, so the fields are spelt as Go spells them (`NodeNames`, `FailedNodes`). Written
is exactly that; read is any case, and null wherever Go takes it, see `gojson`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from bayplan.model import Node as NodeObject
from bayplan.model import Pod as PodObject


class Wire(msgspec.Struct, frozen=True, kw_only=True):
    """A message or a part of one."""


class ListMeta(Wire, frozen=True, kw_only=True):
    """Of a list; written as an empty object."""


class NodeList(Wire, frozen=True, kw_only=True):
    """A v1.NodeList."""

    metadata: ListMeta = ListMeta()
    items: tuple[NodeObject, ...] = ()


class ExtenderArgs(Wire, frozen=True, kw_only=True):
    """What `filter` and `prioritize` are asked: whole nodes, or names if the extender has nodes of its own."""

    Pod: PodObject | None = None
    Nodes: NodeList | None = None
    NodeNames: tuple[str, ...] | None = None


class ExtenderFilterResult(Wire, frozen=True, kw_only=True):
    """What `filter` answers."""

    Nodes: NodeList | None = None
    NodeNames: tuple[str, ...] | None = None
    FailedNodes: dict[str, str] = msgspec.field(default_factory=dict)
    FailedAndUnresolvableNodes: dict[str, str] = msgspec.field(default_factory=dict)
    Error: str = ""


class HostPriority(Wire, frozen=True, kw_only=True, gc=False):
    """A node's score, from 0 to 10."""

    Host: str = ""
    Score: int = 0


#: What `prioritize` answers.
HostPriorityList: TypeAlias = tuple[HostPriority, ...]


class MetaPod(Wire, frozen=True, kw_only=True, gc=False):
    """A pod, by its uid."""

    UID: str = ""


class MetaVictims(Wire, frozen=True, kw_only=True):
    """Pods to evict from a node, by their uids."""

    Pods: tuple[MetaPod | None, ...] = ()
    NumPDBViolations: int = 0


class Victims(Wire, frozen=True, kw_only=True):
    """Pods to evict from a node."""

    Pods: tuple[PodObject, ...] = ()
    NumPDBViolations: int = 0


class ExtenderPreemptionArgs(Wire, frozen=True, kw_only=True):
    """What `preempt` is asked: candidates with victims, or with uids if the extender has nodes of its own."""

    Pod: PodObject | None = None
    NodeNameToVictims: dict[str, Victims] | None = None
    NodeNameToMetaVictims: dict[str, MetaVictims] | None = None


class ExtenderPreemptionResult(Wire, frozen=True, kw_only=True):
    """What `preempt` answers: the candidates left, always with uids."""

    NodeNameToMetaVictims: dict[str, MetaVictims | None] = msgspec.field(default_factory=dict)


class ExtenderBindingArgs(Wire, frozen=True, kw_only=True):
    """What `bind` is asked."""

    PodName: str = ""
    PodNamespace: str = ""
    PodUID: str = ""
    Node: str = ""


class ExtenderBindingResult(Wire, frozen=True, kw_only=True):
    """What `bind` answers."""

    Error: str = ""


# --- messages, as Go writes them --------------------------------------------------------------------------


def encode(answer: Wire | Sequence[Wire]) -> bytes:
    """An answer as JSON; nodes in it are whole."""
    if isinstance(answer, ExtenderFilterResult) and answer.Nodes is not None:
        fields = {name: getattr(answer, name) for name in answer.__struct_fields__}
        return msgspec.json.encode({**fields, "Nodes": nodes_value(answer.Nodes.items)})
    return msgspec.json.encode(answer)


# --- objects, as Go writes them ---------------------------------------------------------------------------


def pod_value(pod: PodObject) -> Mapping[str, Any]:
    """The pod as kube-scheduler sends it: an object of a list, without the fields that its informers drop."""
    value = _without_type(pod.raw)
    metadata = {name: each for name, each in value.get("metadata", {}).items() if name != "managedFields"}
    spec = value.get("spec", {})
    if pod.spec.node_name and spec.get("nodeName") != pod.spec.node_name:
        # Assumed on a node, and not read again since.
        spec = {**spec, "nodeName": pod.spec.node_name}
    return {**value, "metadata": metadata, "spec": spec}


def node_value(node: NodeObject) -> Mapping[str, Any]:
    return _without_type(node.raw)


def nodes_value(nodes: Sequence[NodeObject]) -> Mapping[str, Any]:
    """A v1.NodeList."""
    return {"metadata": {}, "items": [node_value(node) for node in nodes]}


def _without_type(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in raw.items() if name not in ("apiVersion", "kind")}
