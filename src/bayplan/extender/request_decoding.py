"""Decodes requests to an extender: a fast path for what kube-scheduler writes, Go's rules for everything else."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from bayplan.extender import gojson
from bayplan.extender.wire import ExtenderArgs, NodeList
from bayplan.model import Node, ObjectError, Pod


class _Nodes(msgspec.Struct):
    items: list[msgspec.Raw] = []


class _Args(msgspec.Struct):
    """ExtenderArgs in Go's spelling, with objects not decoded yet."""

    Pod: msgspec.Raw
    Nodes: _Nodes | None = None
    NodeNames: tuple[str, ...] | None = None


_decoder = msgspec.json.Decoder(_Args)


def decode_args(body: bytes, node_of: Callable[[bytes], Node] = Node.from_json) -> ExtenderArgs:
    """Decode the arguments of `filter` and `prioritize`. *node_of* decodes a node. Raises GoJsonError."""
    try:
        args = _decoder.decode(body)
        nodes = None
        if args.Nodes is not None:
            nodes = NodeList(items=tuple(node_of(bytes(raw)) for raw in args.Nodes.items))
        return ExtenderArgs(Pod=Pod.from_json(bytes(args.Pod)), Nodes=nodes, NodeNames=args.NodeNames)
    except (msgspec.DecodeError, ObjectError):
        return gojson.decode(body, ExtenderArgs)


class NodeDecodingCache:
    """Decodes each node once: a scheduler sends the same nodes with every request."""

    def __init__(self, limit: int = 20_000) -> None:
        self._limit = limit
        self._known: dict[bytes, Node] = {}

    def node(self, data: bytes) -> Node:
        node = self._known.get(data)
        if node is None:
            if len(self._known) >= self._limit:
                self._known.clear()
            node = self._known[data] = Node.from_json(data)
        return node
