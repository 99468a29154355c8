"""DeviceIndex: all slices of the cluster, and what each node sees of them.

A node's pools are put together when they are first asked for, and again when a slice that may concern the node or
the node's labels have changed. Pools whose slices are for one node, the usual case, cost nothing on other nodes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from bayplan.devices.device_features import DeviceFeatures
from bayplan.devices.node_changes import NodeChanges
from bayplan.devices.pooled_slices import DeviceId, PooledSlice, PoolId
from bayplan.devices.pools import NodeDevices, Pool, build_pool, is_relevant
from bayplan.devices.selector_results import DeviceContents
from bayplan.model import HasLabels, ResourceSlice


class _KnownDevices(NamedTuple):
    devices: NodeDevices
    labels: object
    version: int


class DeviceIndex:
    """See the module's docstring."""

    def __init__(self, features: DeviceFeatures) -> None:
        self._features = features
        self._counters_have_places = features.facts.counters_belong_to_nodes
        self._contents = DeviceContents()
        self._pools: defaultdict[PoolId, dict[str, PooledSlice]] = defaultdict(dict)
        #: Node name → pools with a slice for that node alone; and the other way round.
        self._local: defaultdict[str, set[PoolId]] = defaultdict(set)
        self._nodes: defaultdict[PoolId, set[str]] = defaultdict(set)
        #: Pools with a slice that may be for several nodes.
        self._shared: set[PoolId] = set()
        #: Pools with counters.
        self._counting: set[PoolId] = set()
        self._known: dict[str, _KnownDevices] = {}
        #: Pool → relevant slices → the pool as nodes see it to which these are relevant.
        self._built: defaultdict[PoolId, dict[tuple[str, ...], Pool | None]] = defaultdict(dict)
        #: Counts the changes that may concern every node.
        self._version = 0
        self._remote: dict[PoolId, Pool] | None = None
        #: The nodes that see other devices than before, or find them taken or free.
        self.changes = NodeChanges()

    def slice_changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        """A slice was created, changed or deleted."""
        if old is not None:
            self._remove(old)
        if new is not None:
            self._add(new)

    def of_node(self, node: HasLabels) -> NodeDevices:
        """What the node sees. Raises AllocationError."""
        known = self._known.get(node.name)
        if (
            known is not None
            and known.version == self._version
            and (known.labels is node.labels or known.labels == node.labels)
        ):
            return known.devices
        devices = NodeDevices(node, self._pools_of(node))
        self._known[node.name] = _KnownDevices(devices, node.labels, self._version)
        return devices

    def device_changed(self, device: DeviceId) -> None:
        """A device was taken or given back."""
        pool_id = device[:2]
        self.changes.note(None if pool_id in self._shared else self._nodes.get(pool_id, ()))

    # --- changes ----------------------------------------------------------------------------------

    def _add(self, value: ResourceSlice) -> None:
        added = PooledSlice(value, self._contents)
        self._pools[added.pool_id][added.name] = added
        self._pool_changed(added.pool_id)

    def _remove(self, value: ResourceSlice) -> None:
        pool_id = (value.spec.driver, value.spec.pool.name)
        slices = self._pools[pool_id]
        slices.pop(value.name, None)
        self._pool_changed(pool_id)
        if not slices:
            del self._pools[pool_id]

    def _pool_changed(self, pool_id: PoolId) -> None:
        """Note where the pool matters now, and forget what the nodes saw for which it matters or mattered."""
        self._built.pop(pool_id, None)
        was_wide = self._is_wide(pool_id)
        self.changes.note(self._nodes.get(pool_id, ()))
        self._leave_places(pool_id)
        for slice_ in self._pools[pool_id].values():
            self._take_place(slice_)
        self.changes.note(self._nodes.get(pool_id, ()))
        if was_wide or self._is_wide(pool_id):
            self._version += 1
            self._remote = None
            self.changes.note(None)

    def _is_wide(self, pool_id: PoolId) -> bool:
        return pool_id in self._shared or pool_id in self._counting

    def _leave_places(self, pool_id: PoolId) -> None:
        for node_name in self._nodes.pop(pool_id, ()):
            self._local[node_name].discard(pool_id)
            self._known.pop(node_name, None)
        self._shared.discard(pool_id)
        self._counting.discard(pool_id)

    def _take_place(self, slice_: PooledSlice) -> None:
        node_name = slice_.spec.node_name
        if slice_.has_counters:
            self._counting.add(slice_.pool_id)
            if not self._counters_have_places:
                return
        if node_name and self._is_local(slice_):
            self._local[node_name].add(slice_.pool_id)
            self._nodes[slice_.pool_id].add(node_name)
            self._known.pop(node_name, None)
        else:
            self._shared.add(slice_.pool_id)

    # --- pools of a node --------------------------------------------------------------------------

    def _pools_of(self, node: HasLabels) -> Iterator[Pool]:
        own = self._local.get(node.name, set()) | self._shared
        for pool_id in own:
            pool = self._pool(pool_id, node)
            if pool is not None:
                yield pool
        for pool_id, pool in self._remote_pools().items():
            if pool_id not in own:
                yield pool

    def _pool(self, pool_id: PoolId, node: HasLabels) -> Pool | None:
        slices = self._sorted_slices(pool_id)
        relevant = [slice_ for slice_ in slices if is_relevant(slice_, node, self._features)]
        if not relevant:
            return None
        built = self._built[pool_id]
        names = tuple(slice_.name for slice_ in relevant)
        if names not in built:
            built[names] = build_pool(pool_id, relevant, slices, self._features)
        return built[names]

    def _remote_pools(self) -> dict[PoolId, Pool]:
        """Pools of which a node sees the counters alone. They have no devices for it, so they matter only if
        something is wrong with them."""
        if self._remote is None:
            self._remote = {}
            counting = () if self._counters_have_places else self._counting
            for pool_id in counting if self._features.partitionable_devices else ():
                slices = self._sorted_slices(pool_id)
                counters = [slice_ for slice_ in slices if slice_.has_counters]
                pool = build_pool(pool_id, counters, slices, self._features)
                if pool is not None and not pool.is_usable:
                    self._remote[pool_id] = pool
        return self._remote

    def _sorted_slices(self, pool_id: PoolId) -> list[PooledSlice]:
        """Those for one node first: if slices disagree on their number, the first one counts."""
        return sorted(self._pools[pool_id].values(), key=lambda slice_: (not self._is_local(slice_), slice_.name))

    def _is_local(self, slice_: PooledSlice) -> bool:
        """Whether the slice is for one node alone; counters may be for whoever uses the pool."""
        return bool(slice_.spec.node_name) and (self._counters_have_places or not slice_.has_counters)
