"""The cache: which pods are on which nodes, including assumed ones; and its snapshot.

States of a pod in the cache::

                    assume                  add (the watch shows it bound)
        Initial ──────────────▶ Assumed ─────────────────────────────────▶ Added ──┐ add (update)
           ▲  │                    │                                        │ ▲     │
           │  │ add                │ forget                                 │ └─────┘
           │  └────────────────────┼───────────────────────────────────────▶│
           └───────────────────────┴────────────────────────────────────────┘ remove
                                                                          Deleted

A pod is assumed when the scheduling cycle has chosen a node. It counts there from then on, so the next pod can be
decided before the bind completes. If the bind fails, the pod is forgotten; if it succeeds, the watch confirms it.
A pod may name a node that is not in the cache (not yet, or no longer): it counts once the node is added.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from bayplan.cache.extender_nodes import ExtenderNodeTable
from bayplan.cache.node_store import NodeStore, WhatIf
from bayplan.cache.table import CacheNodeTable
from bayplan.cache.what_if_table import WhatIfTable

if TYPE_CHECKING:
    from bayplan.framework import IntArray, NodeInfo
    from bayplan.model import Node, Pod


class CacheError(Exception):
    """A call that the pod's state does not allow: a bug in the caller."""


class Cache:
    """Nodes, the pods on them, and which of these pods are assumed."""

    def __init__(self) -> None:
        self._store = NodeStore()
        #: By uid; each names its node.
        self._pods: dict[str, Pod] = {}
        #: Uids of the pods that the watch has not confirmed yet.
        self._assumed: set[str] = set()
        #: Pods whose node is not in the cache: node name → uids, in the order in which they were added.
        self._orphans: dict[str, dict[str, None]] = {}
        self._snapshot = CacheSnapshot(self._store)

    def snapshot(self) -> CacheSnapshot:
        """The cluster as it is now. It is live: use it within one cycle, before the cache changes."""
        return self._snapshot

    @property
    def n_nodes(self) -> int:
        return len(self._store.nodes)

    @property
    def n_pods(self) -> int:
        return len(self._pods)

    @property
    def n_assumed(self) -> int:
        return len(self._assumed)

    def orphans(self) -> dict[str, list[Pod]]:
        """Nodes that are not in the cache → the pods that name them."""
        return {name: [self._pods[uid] for uid in uids] for name, uids in self._orphans.items()}

    # --- nodes ------------------------------------------------------------------------------------

    def set_node(self, node: Node) -> None:
        """Add or update a node. Raises ObjectError, and changes nothing, if its amounts cannot be parsed."""
        _ = node.allocatable
        row = self._store.set_node(node)
        for uid in self._orphans.pop(node.name, ()):
            self._store.add_pod(row, self._pods[uid])

    def remove_node(self, name: str) -> None:
        """Remove a node; its pods stay in the cache until they are removed themselves."""
        if name not in self._store.row_of:
            return
        pods = self._store.remove_node(name)
        if pods:
            self._orphans[name] = {pod.uid: None for pod in pods}

    def node(self, name: str) -> Node | None:
        row = self._store.row_of.get(name)
        return None if row is None else self._store.nodes[row]

    # --- pods, from the watch ---------------------------------------------------------------------

    def add_pod(self, pod: Pod) -> None:
        """The watch shows *pod* on its node: newly bound, updated, or the confirmation of an assumed pod.

        Raises ObjectError, and changes nothing, if its requests cannot be parsed.
        """
        uid = pod.uid
        old = self._pods.get(uid)
        row = self._store.row_of.get(pod.spec.node_name)
        if old is not None and row is not None and _are_counted_alike(old, pod):
            pod.share_derived(old)
            self._store.replace_pod(row, pod)
            self._pods[uid] = pod
            self._assumed.discard(uid)
            return
        _ = pod.requests, pod.nonzero_requests
        if old is not None:
            self.remove_pod(uid)
        self._pods[uid] = pod
        if row is None:
            self._add_orphan(pod)
        else:
            self._store.add_pod(row, pod)

    def remove_pod(self, uid: str) -> None:
        """The pod was deleted, or has terminated."""
        pod = self._pods.pop(uid, None)
        if pod is None:
            return
        self._assumed.discard(uid)
        node_name = pod.spec.node_name
        row = self._store.row_of.get(node_name)
        if row is not None:
            self._store.remove_pod(row, pod)
            return
        orphans = self._orphans[node_name]
        orphans.pop(uid, None)
        if not orphans:
            del self._orphans[node_name]

    # --- pods, from the cycles --------------------------------------------------------------------

    def assume(self, pod: Pod, node_name: str) -> Pod:
        """Count *pod* on *node_name* before the API server confirms it; returns the pod with that node."""
        if pod.uid in self._pods:
            raise CacheError(f"pod {pod.key} ({pod.uid}) is in the cache, so it cannot be assumed")
        assumed = on_node(pod, node_name)
        self._pods[pod.uid] = assumed
        self._assumed.add(pod.uid)
        row = self._store.row_of.get(node_name)
        if row is None:
            self._add_orphan(assumed)
        else:
            self._store.add_pod(row, assumed)
        return assumed

    def is_assumed(self, uid: str) -> bool:
        return uid in self._assumed

    def forget(self, uid: str) -> None:
        """Undo `assume`: the pod was not bound. Does nothing if the pod is no longer in the cache."""
        pod = self._pods.get(uid)
        if pod is None:
            return
        if uid not in self._assumed:
            raise CacheError(f"pod {pod.key} ({uid}) was not assumed, so it cannot be forgotten")
        self.remove_pod(uid)

    def _add_orphan(self, pod: Pod) -> None:
        self._orphans.setdefault(pod.spec.node_name, {})[pod.uid] = None


class CacheSnapshot:
    """The cluster as one cycle sees it; implements `framework.Snapshot`.

    Cycles are synchronous and the cache changes only between them, so the snapshot is the cache's own columns,
    exposed read-only. A cycle may change it only within `what_if`, which undoes the changes.
    """

    def __init__(self, store: NodeStore) -> None:
        self._store = store
        self._table = CacheNodeTable(store)
        self._table_version = store.node_set_version
        self._order: IntArray | None = None
        #: The version of the nodes' labels for which the order was computed; it changes with the node set, too.
        self._order_version = -1
        #: Rows whose node object changed.
        self.node_changes = store.node_changes
        #: Rows whose node object or pods changed.
        self.usage_changes = store.usage_changes
        #: Rows whose node object, or the amounts requested by their pods, changed.
        self.amount_changes = store.amount_changes

    @property
    def nodes(self) -> CacheNodeTable:
        """Every node; a new table whenever a node is added or removed."""
        if self._table_version != self._store.node_set_version:
            self._table = CacheNodeTable(self._store)
            self._table_version = self._store.node_set_version
        return self._table

    @property
    def generation(self) -> int:
        return self._store.generation

    @property
    def node_set_version(self) -> int:
        """Changes when a node is added or removed; row numbers are valid for one version only."""
        return self._store.node_set_version

    @property
    def lowest_priority(self) -> int | None:
        """The lowest priority of a pod on a node; None if there is no pod."""
        return self._store.pod_counts.lowest_priority

    def pods(self) -> Iterator[Pod]:
        """Every pod on a node of the snapshot."""
        return (pod for pods in self._store.pods for pod in pods.values())

    def node(self, name: str) -> NodeInfo | None:
        row = self._store.row_of.get(name)
        return None if row is None else self.nodes[row]

    def row(self, name: str) -> int | None:
        return self._store.row_of.get(name)

    def rows(self, names: Iterable[str]) -> list[int | None]:
        """The row of each name; None where there is no such node."""
        return list(map(self._store.row_of.get, names))

    def what_if(self) -> WhatIf:
        """A context manager: pods added or removed through it are back as they were when it ends."""
        return WhatIf(self._store)

    def with_amounts(self, rows: IntArray, kinds: Sequence[Pod]) -> WhatIfTable:
        """The nodes at *rows*, with requested amounts that can be changed by the requests of each of *kinds*."""
        return WhatIfTable(self.nodes, rows, kinds)

    def returned(self, nodes: Iterable[Node]) -> ExtenderNodeTable:
        """The table of node objects that an extender returned."""
        return ExtenderNodeTable.of(nodes, self.nodes)

    def search_order(self) -> IntArray:
        """Rows in the order in which kube-scheduler visits nodes: round-robin over the zones."""
        version = self._store.labels.version
        if self._order is not None and self._order_version == version:
            return self._order
        zones: dict[str, list[int]] = {}
        for row, node in enumerate(self._store.nodes):
            zones.setdefault(_zone_key(node.labels), []).append(row)
        order: list[int] = []
        for turn in range(max(map(len, zones.values()), default=0)):
            order.extend(rows[turn] for rows in zones.values() if turn < len(rows))
        self._order, self._order_version = np.array(order, dtype=np.int64), version
        return self._order


def _are_counted_alike(old: Pod, new: Pod) -> bool:
    """Whether both forms of a pod give the same column entries, apart from the pod class.

    True when the watch confirms an assumed pod (the bind adds the node's topology labels to it) and when a status
    update changes nothing about resources. That is most of the pod events.
    """
    return (
        old.spec == new.spec
        and old.metadata.namespace == new.metadata.namespace
        and old.status.qos_class == new.status.qos_class
        and not old.status.node_allocatable_resource_claim_statuses
        and not new.status.node_allocatable_resource_claim_statuses
        and _request_alike(old, new)
    )


def _request_alike(old: Pod, new: Pod) -> bool:
    """Whether two pods of equal specs request the same; a status matters only if it reports resources."""
    if not (old.status.reports_resources or new.status.reports_resources):
        return True
    return old.request_summary is new.request_summary


def _zone_key(labels: Mapping[str, str]) -> str:
    """Region and zone, from the well-known labels or their deprecated names."""
    get = labels.get
    region = get("topology.kubernetes.io/region") or get("failure-domain.beta.kubernetes.io/region") or ""
    zone = get("topology.kubernetes.io/zone") or get("failure-domain.beta.kubernetes.io/zone") or ""
    return f"{region}:\x00:{zone}" if region or zone else ""


def on_node(pod: Pod, node_name: str) -> Pod:
    """A copy of the pod with its node's name; cached derived values are kept."""
    placed = msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name=node_name))
    placed.__dict__.update(pod.__dict__)
    return placed
