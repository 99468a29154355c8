"""Validation of a claim's status: the allocation, who reserved it, what drivers report about its devices."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.strategies.devices.claim_validation import (
    MAX_CONFIGURATIONS,
    claim_configuration_causes,
    raw_object_causes,
)
from bayplan.apiserver.strategies.devices.device_lists import list_causes, set_causes
from bayplan.apiserver.strategies.devices.device_names import (
    RequestNames,
    driver_causes,
    label_causes_of,
    pool_causes,
    share_id_causes,
)
from bayplan.apiserver.strategies.devices.device_validation import binding_condition_causes
from bayplan.apiserver.validation.condition_validation import condition_causes
from bayplan.apiserver.validation.field_errors import (
    forbidden,
    immutable,
    invalid,
    one_of,
    required,
    too_long,
    too_many,
)
from bayplan.apiserver.validation.selector_validation import node_selector_causes
from bayplan.release import ReleaseFacts

_MAX_CONSUMERS: Final = 256
_MAX_RESULTS: Final = 32
_MAX_CONDITIONS: Final = 8
_MAX_DATA_BYTES: Final = 10 * 1024
_MAX_ADDRESSES: Final = 16
_MAX_INTERFACE_BYTES: Final = 256
_MAX_HARDWARE_ADDRESS_BYTES: Final = 128
_NOT_CIDR: Final = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"

#: Driver, pool, device and share ID.
AllocatedDevice = tuple[str, str, str, str]


def allocated_device(entry: Mapping[str, Any]) -> AllocatedDevice:
    """The device of an allocation's result, or of a report about one."""
    driver, pool, device, share = (entry.get(key, "") for key in ("driver", "pool", "device", "shareID"))
    return driver, pool, device, share


def allocated_devices(status: Mapping[str, Any]) -> set[AllocatedDevice]:
    """All devices that are allocated to a claim."""
    return {allocated_device(result) for result in allocation_results(status)}


def allocation_results(status: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The devices of the allocation in a claim's status."""
    results: Sequence[Mapping[str, Any]] = (status.get("allocation") or {}).get("devices", {}).get("results", ())
    return results


def claim_status_causes(
    new: Mapping[str, Any], old: Mapping[str, Any], facts: ReleaseFacts
) -> Iterator[StatusCause]:
    """Errors of a change of a claim's status; both are whole claims."""
    status, before = new.get("status", {}), old.get("status", {})
    allocation, consumers = status.get("allocation"), status.get("reservedFor", ())
    path = "status.reservedFor"
    yield from set_causes(consumers, _MAX_CONSUMERS, path, _consumer_causes, lambda each: each.get("uid", ""))
    device_causes = partial(_device_status_causes, allocated_devices(status), facts)
    yield from set_causes(status.get("devices", ()), None, "status.devices", device_causes, _shown_device)
    if consumers and allocation is None:
        yield forbidden(path, "may not be specified when `allocated` is not set")
    elif "deletionTimestamp" in new["metadata"] and any(
        each not in before.get("reservedFor", ()) for each in consumers
    ):
        when = "`deallocationRequested` or `deletionTimestamp` are set"
        yield forbidden(path, f"new entries may not be added while {when}")
    if allocation is not None and before.get("allocation") is not None:
        yield from immutable("status.allocation", allocation, before["allocation"])
    elif allocation is not None:
        names = RequestNames(new["spec"].get("devices", {}).get("requests") or ())
        yield from _allocation_causes(allocation, names)


def _consumer_causes(consumer: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    for key in ("resource", "name", "uid"):
        if not consumer.get(key):
            yield required(f"{path}.{key}")


# --- allocation -------------------------------------------------------------------------------------------


def _allocation_causes(allocation: Mapping[str, Any], names: RequestNames) -> Iterator[StatusCause]:
    path, devices = "status.allocation.devices", allocation.get("devices", {})
    yield from list_causes(
        devices.get("results", ()), _MAX_RESULTS, f"{path}.results", partial(_result_causes, names)
    )
    yield from list_causes(
        devices.get("config", ()),
        2 * MAX_CONFIGURATIONS,
        f"{path}.config",
        partial(_allocated_configuration_causes, names),
    )
    if "nodeSelector" in allocation:
        yield from node_selector_causes(allocation["nodeSelector"], "status.allocation.nodeSelector")


def _result_causes(names: RequestNames, result: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    yield from names.reference_causes(result.get("request", ""), f"{path}.request")
    yield from _identity_causes(result, path)
    yield from binding_condition_causes(result, path)


def _identity_causes(entry: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    yield from driver_causes(entry.get("driver", ""), f"{path}.driver")
    yield from pool_causes(entry.get("pool", ""), f"{path}.pool")
    yield from label_causes_of(entry.get("device", ""), f"{path}.device")
    if "shareID" in entry:
        yield from share_id_causes(entry["shareID"], f"{path}.shareID")


def _allocated_configuration_causes(
    names: RequestNames, configuration: Mapping[str, Any], path: str
) -> Iterator[StatusCause]:
    yield from one_of(f"{path}.source", configuration.get("source"), ("FromClaim", "FromClass"))
    yield from claim_configuration_causes(names, configuration, path)


# --- devices ----------------------------------------------------------------------------------------------


def _shown_device(device: Mapping[str, Any]) -> object:
    return "/".join(filter(None, allocated_device(device)))


def _device_status_causes(
    allocated: set[AllocatedDevice], facts: ReleaseFacts, device: Mapping[str, Any], path: str
) -> Iterator[StatusCause]:
    yield from _identity_causes(device, path)
    if allocated_device(device) not in allocated:
        yield invalid(path, _shown_device(device), "must be an allocated device in the claim")
    conditions = device.get("conditions") or ()
    if len(conditions) > _MAX_CONDITIONS:
        yield too_many(f"{path}.conditions", len(conditions), _MAX_CONDITIONS)
    yield from condition_causes(conditions, f"{path}.conditions", duplicate_entries=facts.locates_device_errors)
    if "data" in device:
        yield from raw_object_causes(device["data"], f"{path}.data", _MAX_DATA_BYTES)
    yield from _network_causes(device.get("networkData", {}), f"{path}.networkData")


def _network_causes(network: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    limits = {"interfaceName": _MAX_INTERFACE_BYTES, "hardwareAddress": _MAX_HARDWARE_ADDRESS_BYTES}
    for key, limit in limits.items():
        if len(network.get(key, "").encode()) > limit:
            yield too_long(f"{path}.{key}", limit)
    yield from set_causes(network.get("ips", ()), _MAX_ADDRESSES, f"{path}.ips", _address_causes)


def _address_causes(address: str, path: str) -> Iterator[StatusCause]:
    """An address with the length of its network's prefix, in canonical form."""
    try:
        interface = ipaddress.ip_interface(address)
    except ValueError:
        yield invalid(path, address, _NOT_CIDR)
        return
    if "/" not in address:
        yield invalid(path, address, _NOT_CIDR)
    elif address != str(interface):
        yield invalid(path, address, f'must be in canonical form ("{interface}")')
