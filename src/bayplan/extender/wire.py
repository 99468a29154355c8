"""The messages between a scheduler and an extender: kube-scheduler's `extender/v1`, in Go's spelling.

The Go types have no JSON names, so the fields are spelt as in Go (`NodeNames`, `FailedNodes`). Encoding writes
exactly that; decoding accepts any case, and null wherever Go does, see `gojson`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from bayplan.model import Node as NodeObject
from bayplan.model import Pod as PodObject


class WireMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A message or a part of one."""


class ListMeta(WireMessage, frozen=True, kw_only=True):
    """Metadata of a list; written as an empty object."""


class NodeList(WireMessage, frozen=True, kw_only=True):
    """A v1.NodeList."""

    metadata: ListMeta = ListMeta()
    items: tuple[NodeObject, ...] = ()


class ExtenderArgs(WireMessage, frozen=True, kw_only=True):
    """Arguments of `filter` and `prioritize`: whole nodes, or names if the extender caches nodes."""

    Pod: PodObject | None = None
    Nodes: NodeList | None = None
    NodeNames: tuple[str, ...] | None = None


class ExtenderFilterResult(WireMessage, frozen=True, kw_only=True):
    """The result of `filter`."""

    Nodes: NodeList | None = None
    NodeNames: tuple[str, ...] | None = None
    FailedNodes: dict[str, str] = msgspec.field(default_factory=dict)
    FailedAndUnresolvableNodes: dict[str, str] = msgspec.field(default_factory=dict)
    Error: str = ""


class HostPriority(WireMessage, frozen=True, kw_only=True, gc=False):
    """A node's score, from 0 to 10."""

    Host: str = ""
    Score: int = 0


#: The result of `prioritize`.
HostPriorityList: TypeAlias = tuple[HostPriority, ...]


class MetaPod(WireMessage, frozen=True, kw_only=True, gc=False):
    """A pod, by its uid."""

    UID: str = ""


class MetaVictims(WireMessage, frozen=True, kw_only=True):
    """Pods to evict from a node, by their uids."""

    Pods: tuple[MetaPod | None, ...] = ()
    NumPDBViolations: int = 0


class Victims(WireMessage, frozen=True, kw_only=True):
    """Pods to evict from a node."""

    Pods: tuple[PodObject, ...] = ()
    NumPDBViolations: int = 0


class ExtenderPreemptionArgs(WireMessage, frozen=True, kw_only=True):
    """Arguments of `preempt`: candidates with victims, or with their uids if the extender caches nodes."""

    Pod: PodObject | None = None
    NodeNameToVictims: dict[str, Victims] | None = None
    NodeNameToMetaVictims: dict[str, MetaVictims] | None = None


class ExtenderPreemptionResult(WireMessage, frozen=True, kw_only=True):
    """The result of `preempt`: the remaining candidates, always with uids."""

    NodeNameToMetaVictims: dict[str, MetaVictims | None] = msgspec.field(default_factory=dict)


class ExtenderBindingArgs(WireMessage, frozen=True, kw_only=True):
    """Arguments of `bind`."""

    PodName: str = ""
    PodNamespace: str = ""
    PodUID: str = ""
    Node: str = ""


class ExtenderBindingResult(WireMessage, frozen=True, kw_only=True):
    """The result of `bind`."""

    Error: str = ""


# --- messages, as Go writes them --------------------------------------------------------------------------


def encode(message: WireMessage | Sequence[WireMessage]) -> bytes:
    """A message as JSON, with whole nodes."""
    if isinstance(message, ExtenderFilterResult) and message.Nodes is not None:
        fields = {name: getattr(message, name) for name in message.__struct_fields__}
        return msgspec.json.encode({**fields, "Nodes": nodes_value(message.Nodes.items)})
    return msgspec.json.encode(message)


# --- objects, as Go writes them ---------------------------------------------------------------------------


def pod_value(pod: PodObject) -> Mapping[str, Any]:
    """The pod as kube-scheduler sends it: as from a list, without the fields that its informers drop."""
    value = _without_type(pod.whole)
    metadata = {name: each for name, each in value.get("metadata", {}).items() if name != "managedFields"}
    spec = value.get("spec", {})
    if pod.spec.node_name and spec.get("nodeName") != pod.spec.node_name:
        # Assumed on a node, and not updated by the watch since.
        spec = {**spec, "nodeName": pod.spec.node_name}
    return {**value, "metadata": metadata, "spec": spec}


def node_value(node: NodeObject) -> Mapping[str, Any]:
    return _without_type(node.whole)


def nodes_value(nodes: Sequence[NodeObject]) -> Mapping[str, Any]:
    """A v1.NodeList."""
    return {"metadata": {}, "items": [node_value(node) for node in nodes]}


def _without_type(raw: Mapping[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in raw.items() if name not in ("apiVersion", "kind")}
