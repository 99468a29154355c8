"""Binding conditions: a device may have to be attached to the node before the pod can be bound.

The driver reports conditions of the device in the status of the claim. All binding conditions must become true; a
failure condition that is true means that the device cannot be used.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from bayplan.cel.functions.quoting import go_quote
from bayplan.model import (
    AllocatedDeviceStatus,
    DeviceRequestAllocationResult,
    ResourceClaim,
    condition_of,
)
from bayplan.model.times import time_of


class BindingConditionError(Exception):
    """A device cannot be used, or not in time."""


class BindingTimeoutError(BindingConditionError):
    """Not in time."""


def are_met(claim: ResourceClaim) -> bool:
    """Whether every device of the claim is ready; False without an allocation. Raises BindingConditionError."""
    allocation = claim.status.allocation
    if allocation is None:
        return False
    for result in allocation.devices.results:
        if result.binding_conditions and not _is_ready(claim, result):
            return False
    return True


def _is_ready(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> bool:
    status = _status_of(claim, result)
    if status is None:
        return False
    for name in result.binding_failure_conditions:
        failure = condition_of(status.conditions, name)
        if failure is not None and failure.status == "True":
            raise BindingConditionError(
                f"device binding failed: claim={claim.name}, reason={failure.reason}, "
                f"message={go_quote(failure.message)}"
            )
    conditions = (condition_of(status.conditions, name) for name in result.binding_conditions)
    return all(each is not None and each.status == "True" for each in conditions)


def _status_of(claim: ResourceClaim, result: DeviceRequestAllocationResult) -> AllocatedDeviceStatus | None:
    wanted = (result.driver, result.pool, result.device)
    for status in claim.status.devices:
        if (status.driver, status.pool, status.device) == wanted:
            return status
    return None


def are_overdue(claim: ResourceClaim, now: float, timeout_seconds: float) -> bool:
    """Whether the claim was allocated too long ago for its devices to be still not ready."""
    allocation = claim.status.allocation
    allocated_at = time_of(allocation.allocation_timestamp) if allocation is not None else None
    if allocation is None or allocated_at is None or not have_conditions((claim,)):
        return False
    return allocated_at + timedelta(seconds=timeout_seconds) < datetime.fromtimestamp(now, UTC)


def have_conditions(claims: Iterable[ResourceClaim]) -> bool:
    """Whether any device of the claims has to be waited for."""
    return any(
        result.binding_conditions
        for claim in claims
        if claim.status.allocation is not None
        for result in claim.status.allocation.devices.results
    )
