"""Devices, slices, claims and classes in one line, and a stand on which claims are allocated."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from bayplan.devices import (
    ClaimPlan,
    DeviceFeatures,
    DeviceManager,
    Found,
    SearchContext,
    allocation_results,
    plan_claim,
    search,
)
from bayplan.model import AllocationResult, DeviceClass, Node, ResourceClaim, ResourceSlice
from bayplan.testing import make_node

DRIVER = "gpu.example.com"
FEATURES = DeviceFeatures()


def make_device(name: str, attributes: Mapping[str, object] | None = None, **fields: Any) -> dict[str, Any]:
    """A device; the attributes are numbers or strings."""
    typed = {key: {_type_of(value): value} for key, value in (attributes or {}).items()}
    return {"name": name, "attributes": typed, **fields}


def _type_of(value: object) -> str:
    return "int" if isinstance(value, int) else "string"


def make_slice(
    name: str,
    *devices: str | dict[str, Any],
    pool: str = "pool",
    node: str = "a",
    driver: str = DRIVER,
    generation: int = 1,
    count: int = 1,
    **spec: Any,
) -> ResourceSlice:
    """A slice of a pool with *count* slices, for one node unless *spec* says for which."""
    places = {"nodeName", "allNodes", "nodeSelector", "perDeviceNodeSelection"}
    return ResourceSlice.from_dict(
        {
            "metadata": {"name": name},
            "spec": {
                "driver": driver,
                "pool": {"name": pool, "generation": generation, "resourceSliceCount": count},
                **({} if places & spec.keys() else {"nodeName": node}),
                "devices": [make_device(each) if isinstance(each, str) else each for each in devices],
                **spec,
            },
        }
    )


def make_class(name: str = "gpu", *expressions: str, **spec: Any) -> DeviceClass:
    return DeviceClass.from_dict({"metadata": {"name": name}, "spec": {"selectors": _cel(expressions), **spec}})


def _cel(expressions: Sequence[str]) -> list[dict[str, Any]]:
    return [{"cel": {"expression": each}} for each in expressions]


def exactly(name: str = "r", count: int = 1, *expressions: str, cls: str = "gpu", **fields: Any) -> dict[str, Any]:
    """A request for a number of devices."""
    body = {"deviceClassName": cls, "allocationMode": "ExactCount", "count": count, "selectors": _cel(expressions)}
    return {"name": name, "exactly": {**body, **fields}}


def all_devices(name: str = "r", *expressions: str, **fields: Any) -> dict[str, Any]:
    """A request for all devices that match."""
    body = {"deviceClassName": "gpu", "allocationMode": "All", "selectors": _cel(expressions)}
    return {"name": name, "exactly": {**body, **fields}}


def first_available(name: str, *alternatives: dict[str, Any]) -> dict[str, Any]:
    """A request with alternatives, each given as a request of its own."""
    return {"name": name, "firstAvailable": [{"name": each["name"], **each["exactly"]} for each in alternatives]}


def make_claim(
    name: str,
    *requests: dict[str, Any],
    constraints: Sequence[dict[str, Any]] = (),
    config: Sequence[dict[str, Any]] = (),
    status: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> ResourceClaim:
    devices = {"requests": list(requests), "constraints": list(constraints), "config": list(config)}
    return ResourceClaim.from_dict(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "default", "uid": f"uid-{name}", **(metadata or {})},
            "spec": {"devices": devices},
            "status": dict(status or {}),
        }
    )


class DeviceStand:
    """Slices and classes; allocates claims as the plugin would, and counts what it has allocated."""

    def __init__(
        self,
        *slices: ResourceSlice,
        classes: Sequence[DeviceClass] = (),
        features: DeviceFeatures = FEATURES,
        nodes: Sequence[Node] = (),
    ) -> None:
        self.manager = DeviceManager(features)
        self._classes = {each.name: each for each in classes or (make_class(),)}
        self._nodes = {each.name: each for each in nodes or (make_node("a"), make_node("b"))}
        self._shares = itertools.count(1)
        for each in slices:
            self.manager.index.slice_changed(None, each)

    def search(self, *claims: ResourceClaim, node: str = "a") -> Found | None:
        devices = self.manager.index.of_node(self._nodes[node])
        return search(self._plans(claims), devices, SearchContext(self.manager.allocated, self.manager.features))

    def _plans(self, claims: Sequence[ResourceClaim]) -> list[ClaimPlan]:
        return [plan_claim(claim, self._classes.get, self.manager.features) for claim in claims]

    def find(self, *claims: ResourceClaim, node: str = "a") -> list[list[str]] | None:
        """For each claim the names of the devices that it would be given."""
        found = self.search(*claims, node=node)
        return None if found is None else [[taken.device.id[2] for taken in each] for each in found.devices]

    def solution(self, claim: ResourceClaim, node: str = "a") -> AllocationResult | None:
        """The allocation that the claim would be given."""
        found = self.search(claim, node=node)
        if found is None:
            return None
        (result,) = allocation_results(
            self._plans([claim]), found, node, self.manager.features, lambda: f"share-{next(self._shares)}"
        )
        return result

    def allocate(self, claim: ResourceClaim, node: str = "a") -> AllocationResult | None:
        """The same, and from now on the claim has it."""
        result = self.solution(claim, node)
        self.manager.allocated.hold(claim.uid, result)
        return result

    def release(self, claim: ResourceClaim) -> None:
        self.manager.allocated.hold(claim.uid, None)
