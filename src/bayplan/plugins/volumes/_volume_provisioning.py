"""Dynamic provisioning: on which nodes the storage class of a claim can provision a volume.

A node must be within the allowed topologies of the class and, for CSI drivers that report storage capacity, have
access to a pool with enough capacity left.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.framework import BoolArray, Informers, IntArray, NodeTable
from bayplan.model import (
    CSIDriver,
    CSIStorageCapacity,
    Selector,
    SelectorError,
    StorageClass,
    TopologySelectorTerm,
    compile_selector,
    parse_value,
)
from bayplan.model.label_selectors import checked_requirement

if TYPE_CHECKING:
    from bayplan.model import PersistentVolumeClaim

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_STORAGE: Final = "storage"
UNKNOWN: Final = -1


class ProvisionError(Exception):
    """A claim lacks its storage class, in Kubernetes' words."""


class Provisionable(NamedTuple):
    """Where a volume can be provisioned; bool, shape (n_nodes,) each."""

    allowed: BoolArray
    #: Where there is enough capacity, as far as the driver reports it.
    sufficient: BoolArray
    #: int64, shape (n_nodes,): how much there is, UNKNOWN where the driver does not report it.
    capacity: IntArray


class Provisioner:
    """Checks one claim at a time."""

    def __init__(self, informers: Informers) -> None:
        self._classes = informers.lister(StorageClass)
        self._drivers = informers.lister(CSIDriver)
        self._capacities = informers.lister(CSIStorageCapacity)

    def check(self, claim: PersistentVolumeClaim, nodes: NodeTable) -> Provisionable:
        """Where the claim can be provisioned. Raises ProvisionError."""
        storage_class = self._class_of(claim)
        everywhere = np.ones(len(nodes), dtype=np.bool_)
        unknown = np.full(len(nodes), UNKNOWN, dtype=np.int64)
        if storage_class.provisioner in ("", NO_PROVISIONER):
            return Provisionable(~everywhere, everywhere, unknown)
        allowed = _within(storage_class.allowed_topologies, nodes)
        size = claim.spec.resources.requests.get(_STORAGE)
        if size is None or not self._reports_capacity(storage_class.provisioner):
            return Provisionable(allowed, everywhere, unknown)
        return Provisionable(allowed, *self._sufficient(storage_class.name, parse_value(size), nodes))

    def _class_of(self, claim: PersistentVolumeClaim) -> StorageClass:
        name = claim.storage_class_name
        if not name:
            raise ProvisionError(f'no class for claim "{claim.key}"')
        storage_class = self._classes.get(name)
        if storage_class is None:
            raise ProvisionError(f'failed to find storage class "{name}"')
        return storage_class

    def _reports_capacity(self, provisioner: str) -> bool:
        driver = self._drivers.get(provisioner)
        return driver is not None and bool(driver.spec.storage_capacity)

    def _sufficient(self, class_name: str, size: int, nodes: NodeTable) -> tuple[BoolArray, IntArray]:
        """Where a pool is large enough, and the capacity of the first such pool."""
        sufficient = np.zeros(len(nodes), dtype=np.bool_)
        left = np.full(len(nodes), UNKNOWN, dtype=np.int64)
        for capacity in self._capacities.list():
            if capacity.storage_class_name != class_name:
                continue
            limit = volume_limit(capacity)
            if limit is not None and limit >= size:
                new = _reaches(capacity, nodes) & ~sufficient
                sufficient |= new
                if capacity.capacity is not None:
                    left[new] = parse_value(capacity.capacity)
        return sufficient, left


def volume_limit(capacity: CSIStorageCapacity) -> int | None:
    """The largest volume that can be provisioned: the maximum size, or, if that is unknown, the capacity left."""
    limit = capacity.maximum_volume_size if capacity.maximum_volume_size is not None else capacity.capacity
    return None if limit is None else parse_value(limit)


def _reaches(capacity: CSIStorageCapacity, nodes: NodeTable) -> BoolArray:
    """The nodes with access to a pool; none for a missing or invalid topology."""
    try:
        return nodes.matches(compile_selector(capacity.node_topology))
    except SelectorError:
        return np.zeros(len(nodes), dtype=np.bool_)


def _within(terms: tuple[TopologySelectorTerm, ...], nodes: NodeTable) -> BoolArray:
    """The nodes that one of the terms allows; all if there are no terms."""
    if not terms:
        return np.ones(len(nodes), dtype=np.bool_)
    allowed = np.zeros(len(nodes), dtype=np.bool_)
    for selector in map(_compile_term, terms):
        if selector is not None:
            allowed |= nodes.matches(selector)
    return allowed


@lru_cache(maxsize=1024)
def _compile_term(term: TopologySelectorTerm) -> Selector | None:
    """None for an empty or invalid term, which allows nothing."""
    expressions = term.match_label_expressions
    try:
        requirements = [checked_requirement(each.key, "In", each.values) for each in expressions]
    except SelectorError:
        return None
    return Selector(requirements) if requirements else None
