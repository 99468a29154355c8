"""Pools of devices as one node sees them.

A pool consists of slices. Only slices of the highest generation count, and a pool can be used when all its slices
are there. A node sees the slices that are meant for it; the others matter only for the number of slices, and for
the counters that their devices consume.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from bayplan.devices.allocation_errors import AllocationError
from bayplan.devices.device_features import DeviceFeatures
from bayplan.devices.pooled_slices import (
    CounterId,
    PooledDevice,
    PooledSlice,
    PoolId,
    check_consumption,
    check_device_names,
    counter_amounts,
)
from bayplan.model import HasLabels, NodeSelector, SelectorError, strict_node_selector

_NO_COUNTERS: Final[dict[CounterId, int]] = {}


class Pool:
    """A pool as a node sees it."""

    __slots__ = ("all_devices", "counters", "devices", "has_binding_conditions", "id", "invalid", "is_incomplete")

    def __init__(
        self,
        pool_id: PoolId,
        slices: Sequence[PooledSlice] = (),
        others: Sequence[PooledSlice] = (),
        counters: dict[CounterId, int] = _NO_COUNTERS,
        *,
        is_incomplete: bool = False,
        invalid: bool = False,
    ) -> None:
        """*slices* are those for the node, sorted by name; *others* are those for other nodes."""
        self.id = pool_id
        self.devices: tuple[PooledDevice, ...] = tuple(device for slice_ in slices for device in slice_.devices)
        #: For other nodes too: those that consume counters.
        self.all_devices = self.devices + tuple(device for slice_ in others for device in slice_.devices)
        self.counters = counters
        self.has_binding_conditions = any(slice_.has_binding_conditions for slice_ in slices)
        self.is_incomplete = is_incomplete
        self.invalid = invalid

    @property
    def is_usable(self) -> bool:
        return not (self.is_incomplete or self.invalid)

    def __str__(self) -> str:
        return "/".join(self.id)


def build_pool(
    pool_id: PoolId, relevant: list[PooledSlice], of_pool: Sequence[PooledSlice], features: DeviceFeatures
) -> Pool | None:
    """The pool, as a node sees it to which the slices *relevant* (at least one) of *of_pool* are relevant.

    None if a newer generation is about to replace these slices.
    """
    generation = max(slice_.generation for slice_ in relevant)
    relevant = [slice_ for slice_ in relevant if slice_.generation == generation]
    expected = relevant[0].spec.pool.resource_slice_count
    if len(relevant) == expected:
        return _validated(pool_id, relevant, (), features)
    if any(slice_.generation > generation for slice_ in of_pool):
        return None
    present = [slice_ for slice_ in of_pool if slice_.generation == generation]
    if len(present) != expected:
        return Pool(pool_id, is_incomplete=True)
    names = {slice_.name for slice_ in relevant}
    return _validated(pool_id, relevant, [each for each in present if each.name not in names], features)


def _validated(
    pool_id: PoolId, slices: list[PooledSlice], others: Sequence[PooledSlice], features: DeviceFeatures
) -> Pool:
    if features.partitionable_devices and features.facts.counters_belong_to_nodes:
        # Whoever uses the pool needs its counters, also where their slices are for other nodes.
        slices = slices + [slice_ for slice_ in others if slice_.has_counters]
        others = [slice_ for slice_ in others if not slice_.has_counters]
    slices = sorted(slices, key=lambda slice_: slice_.name)
    if not features.partitionable_devices:
        with_devices, counters = slices, _NO_COUNTERS
    else:
        with_devices = [slice_ for slice_ in slices if not slice_.has_counters]
    try:
        check_device_names(with_devices)
        if features.partitionable_devices:
            counters = _checked_counters(slices, others)
    except ValueError:
        return Pool(pool_id, invalid=True)
    return Pool(pool_id, with_devices, others, counters)


def _checked_counters(slices: list[PooledSlice], others: Sequence[PooledSlice]) -> dict[CounterId, int]:
    with_counters = [slice_ for slice_ in slices if slice_.has_counters]
    counters = counter_amounts(with_counters)
    names = frozenset(each.name for slice_ in with_counters for each in slice_.spec.shared_counters)
    check_consumption(names, counters, [*slices, *others])
    return counters


def sorted_pools(pools: Iterable[Pool]) -> tuple[Pool, ...]:
    """In the order of the search: by driver and name, those with binding conditions last."""
    return tuple(sorted(pools, key=lambda pool: (pool.has_binding_conditions, pool.id)))


# --- nodes ------------------------------------------------------------------------------------------------


def node_matches(
    node: HasLabels, node_name: str | None, all_nodes: bool | None, selector: NodeSelector | None
) -> bool:
    """Whether a slice or a device with these fields is meant for the node. Raises AllocationError."""
    if node_name:
        return node.name == node_name
    if all_nodes:
        return True
    if selector is None:
        return False
    try:
        return strict_node_selector(selector).matches(node)
    except SelectorError as error:
        raise AllocationError(f"failed to parse node selector: {error}") from error


def is_relevant(slice_: PooledSlice, node: HasLabels, features: DeviceFeatures) -> bool:
    """Whether the slice is meant for the node. Raises AllocationError."""
    spec = slice_.spec
    if not features.partitionable_devices and (spec.per_device_node_selection is not None or slice_.has_counters):
        return False
    if slice_.has_counters and not features.facts.counters_belong_to_nodes:
        return True  # whichever node uses the pool needs them
    try:
        if spec.node_name or spec.all_nodes or spec.node_selector is not None:
            return node_matches(node, spec.node_name, spec.all_nodes, spec.node_selector)
        return bool(spec.per_device_node_selection) and any(
            device_matches(device, node) for device in slice_.devices
        )
    except AllocationError as error:
        raise AllocationError(
            f"gather pool information: failed to perform node selection for slice {slice_.name}: {error}"
        ) from error


def device_matches(device: PooledDevice, node: HasLabels) -> bool:
    """Whether a device of a slice with a selection per device is meant for the node. Raises AllocationError."""
    spec = device.spec
    return node_matches(node, spec.node_name, spec.all_nodes, spec.node_selector)


class NodeDevices:
    """All pools of one node, in the order of the search, and the devices of those that can be used."""

    __slots__ = ("devices", "has_invalid", "node", "pools")

    def __init__(self, node: HasLabels, pools: Iterable[Pool]) -> None:
        self.node = node
        self.pools = sorted_pools(pools)
        self.devices: tuple[tuple[PooledDevice, Pool], ...] = tuple(
            (device, pool) for pool in self.pools if pool.is_usable for device in pool.devices
        )
        self.has_invalid = any(pool.invalid for pool in self.pools)
