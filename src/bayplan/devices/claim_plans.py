"""Claims as the search sees them: requests with their classes and selectors, checked as far as no node matters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from bayplan.devices.device_features import DeviceFeatures
from bayplan.model import (
    ALL_DEVICES,
    EXACT_COUNT,
    CapacityRequirements,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceSubRequest,
    ExactDeviceRequest,
    ResourceClaim,
    Toleration,
)

GetClass: TypeAlias = Callable[[str], DeviceClass | None]

_SUBREQUESTS: Final = "has subrequests, but the DRAPrioritizedList feature is disabled"
_CAPACITY: Final = "has capacity requests, but the DRAConsumableCapacity feature is disabled"


@dataclass(slots=True, eq=False)
class RequestPlan:
    """A request, or one of the alternatives of a request."""

    name: str
    #: The request that it is an alternative of; empty if it is none.
    parent: str
    device_class: DeviceClass | None
    #: Where a selector is from, for errors, and its expression: those of the class first.
    selectors: tuple[tuple[str, str], ...]
    all_devices: bool
    count: int
    admin_access: bool
    tolerations: tuple[Toleration, ...]
    capacity: CapacityRequirements | None
    #: Why the claim cannot be allocated on any node; empty if nothing is wrong.
    error: str = ""

    @property
    def base_name(self) -> str:
        """The name of the request as a whole."""
        return self.parent or self.name

    @property
    def full_name(self) -> str:
        """The name in the result."""
        return f"{self.parent}/{self.name}" if self.parent else self.name


@dataclass(slots=True, eq=False)
class ClaimPlan:
    """A claim to be allocated."""

    claim: ResourceClaim
    #: The alternatives of each request; one for an exact request.
    requests: tuple[tuple[RequestPlan, ...], ...]
    #: Why the claim cannot be allocated on any node, found before the request of that number is looked at.
    errors: dict[int, str]
    constraints: tuple[DeviceConstraint, ...]

    @property
    def key(self) -> str:
        return self.claim.key


def plan_claim(claim: ResourceClaim, get_class: GetClass, features: DeviceFeatures) -> ClaimPlan:
    """Prepare a claim for the search on any number of nodes."""
    devices = claim.spec.devices
    requests = tuple(tuple(_plans(claim, request, get_class, features)) for request in devices.requests)
    errors = {}
    for i, request in enumerate(devices.requests):
        if error := _disabled(request, features):
            errors[i] = f"claim {claim.key}, {error}"
    return ClaimPlan(claim, requests, errors, devices.constraints)


def _disabled(request: DeviceRequest, features: DeviceFeatures) -> str:
    """Whether the request needs a feature that is off."""
    if request.first_available and not features.prioritized_list:
        return f"request {request.name}: {_SUBREQUESTS}"
    if features.consumable_capacity:
        return ""
    if request.exactly is not None and request.exactly.capacity is not None:
        return f"request {request.name}: {_CAPACITY}"
    for each in request.first_available:
        if each.capacity is not None:
            return f"subrequest {each.name}: {_CAPACITY}"
    return ""


def _plans(
    claim: ResourceClaim, request: DeviceRequest, get_class: GetClass, features: DeviceFeatures
) -> Iterator[RequestPlan]:
    for each in request.first_available:
        yield _plan(claim, each.name, request.name, each, get_class, features)
    if not request.first_available:
        exactly = request.exactly if request.exactly is not None else ExactDeviceRequest()
        yield _plan(claim, request.name, "", exactly, get_class, features)


def _plan(
    claim: ResourceClaim,
    name: str,
    parent: str,
    request: ExactDeviceRequest | DeviceSubRequest,
    get_class: GetClass,
    features: DeviceFeatures,
) -> RequestPlan:
    device_class = get_class(request.device_class_name)
    admin_access = request.admin_access if isinstance(request, ExactDeviceRequest) else None
    error = _error(request, device_class, features, has_admin_access=admin_access is not None)
    return RequestPlan(
        name=name,
        parent=parent,
        device_class=device_class,
        selectors=tuple(_selectors(claim, request, device_class)),
        all_devices=request.allocation_mode == ALL_DEVICES,
        count=request.count,
        admin_access=bool(admin_access),
        tolerations=request.tolerations,
        capacity=request.capacity,
        error=f"claim {claim.key}, request {name}{error}" if error else "",
    )


def _selectors(
    claim: ResourceClaim, request: ExactDeviceRequest | DeviceSubRequest, device_class: DeviceClass | None
) -> Iterator[tuple[str, str]]:
    of_class = device_class.spec.selectors if device_class is not None else ()
    for i, selector in enumerate(of_class):
        name = device_class.name if device_class is not None else ""
        yield f"class {name}: selector #{i}", selector.cel.expression if selector.cel is not None else ""
    for i, selector in enumerate(request.selectors):
        yield f"claim {claim.key}: selector #{i}", selector.cel.expression if selector.cel is not None else ""


def _error(
    request: ExactDeviceRequest | DeviceSubRequest,
    device_class: DeviceClass | None,
    features: DeviceFeatures,
    *,
    has_admin_access: bool,
) -> str:
    for i, selector in enumerate(request.selectors):
        if selector.cel is None:
            return f", selector #{i}: CEL expression empty (unsupported selector type?)"
    if has_admin_access and not features.admin_access:
        return ": admin access is requested, but the feature is disabled"
    name = request.device_class_name
    if not name:
        return ": missing device class name (unsupported request type?)"
    if device_class is None:
        return f': could not retrieve device class {name}: deviceclass.resource.k8s.io "{name}" not found'
    if request.allocation_mode not in (EXACT_COUNT, ALL_DEVICES):
        return f": unsupported count mode {request.allocation_mode}"
    return ""
