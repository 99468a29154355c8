"""Validation of one device of a ResourceSlice."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.strategies.devices.capacity_validation import shared_capacity_causes, single_capacity_causes
from bayplan.apiserver.strategies.devices.claim_validation import TAINT_EFFECTS
from bayplan.apiserver.strategies.devices.device_lists import list_causes, map_causes, no_causes, set_causes
from bayplan.apiserver.strategies.devices.device_names import (
    MAX_QUALIFIED,
    key_causes,
    label_causes_of,
    qualified_causes,
)
from bayplan.apiserver.validation.field_errors import (
    duplicate,
    each,
    invalid,
    not_supported,
    required,
    too_long,
)
from bayplan.apiserver.validation.name_validation import label_value_errors, subdomain_errors
from bayplan.apiserver.validation.selector_validation import node_selector_causes
from bayplan.release import ReleaseFacts

_MAX_ENTRIES: Final = 32
_MAX_TAINTS: Final = 16
_MAX_CONSUMPTIONS: Final = 2
_MAX_CONDITIONS: Final = 4
_MAX_COUNTERS: Final = 32
_MAX_VALUE_BYTES: Final = 64
_SHOWN_COUNTER: Final = 63
_NUMBER = r"(0|[1-9]\d*)"
_PRERELEASE = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_BUILD = "[0-9a-zA-Z-]+"
_VERSION: Final = re.compile(
    rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(-{_PRERELEASE}(\.{_PRERELEASE})*)?(\+{_BUILD}(\.{_BUILD})*)?", re.ASCII
)
_NODES: Final = "`nodeName`, `nodeSelector`, or `allNodes`"


def device_causes(
    device: Mapping[str, Any],
    old: Mapping[str, Any] | None,
    path: str,
    *,
    per_device: bool,
    facts: ReleaseFacts,
) -> Iterator[StatusCause]:
    """Errors of a device; `per_device`: devices say themselves which nodes they are available on."""
    yield from label_causes_of(device.get("name", ""), f"{path}.name")
    yield from _property_causes(device, path, facts)
    taints = device.get("taints", ())
    if old is None or old.get("taints", ()) != taints:
        yield from list_causes(taints, _MAX_TAINTS, f"{path}.taints", taint_causes)
    consumptions = device.get("consumesCounters", ())
    yield from set_causes(
        consumptions, _MAX_CONSUMPTIONS, f"{path}.consumesCounters", _consumption_causes, _counter_set
    )
    yield from _device_node_causes(device, path) if per_device else _no_node_causes(device, path)
    yield from binding_condition_causes(device, path)


def _property_causes(device: Mapping[str, Any], path: str, facts: ReleaseFacts) -> Iterator[StatusCause]:
    attributes, capacity = device.get("attributes", {}), device.get("capacity", {})
    count = len(attributes) + len(capacity)
    if count > _MAX_ENTRIES:
        text = f"the total number of attributes and capacities must not exceed {_MAX_ENTRIES}"
        yield invalid(path, count, text)
    yield from map_causes(
        attributes, None, f"{path}.attributes", qualified_causes, _attribute_causes, shown_bytes=MAX_QUALIFIED
    )
    is_shared = device.get("allowMultipleAllocations")
    capacity_causes = partial(shared_capacity_causes, facts) if is_shared else single_capacity_causes
    yield from map_causes(
        capacity, None, f"{path}.capacity", qualified_causes, capacity_causes, shown_bytes=MAX_QUALIFIED
    )


def _attribute_causes(attribute: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if "string" in attribute and len(attribute["string"].encode()) > _MAX_VALUE_BYTES:
        yield too_long(f"{path}.string", _MAX_VALUE_BYTES)
    if "version" in attribute:
        version = attribute["version"]
        if not _VERSION.fullmatch(version):
            yield invalid(f"{path}.version", version, "must be a string compatible with semver.org spec 2.0.0")
        if len(version.encode()) > _MAX_VALUE_BYTES:
            yield too_long(f"{path}.version", _MAX_VALUE_BYTES)
    if len(attribute) != 1:
        yield invalid(path, attribute or "", "exactly one value must be specified")


def taint_causes(taint: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    yield from key_causes(taint.get("key", ""), f"{path}.key")
    value, effect = taint.get("value", ""), taint.get("effect", "")
    yield from each(f"{path}.value", value, label_value_errors(value))
    if not effect:
        yield required(f"{path}.effect")
    elif effect not in TAINT_EFFECTS:
        yield not_supported(f"{path}.effect", effect, TAINT_EFFECTS)


# --- counters ---------------------------------------------------------------------------------------------


def _counter_set(consumption: Mapping[str, Any]) -> object:
    return consumption.get("counterSet", "")


def _consumption_causes(consumption: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    yield from counters_causes(consumption, "counterSet", path)


def counters_causes(counters: Mapping[str, Any], name_key: str, path: str) -> Iterator[StatusCause]:
    """Errors of a set of counters, or of a device's consumption of one; `name_key` has the set's name."""
    name = counters.get(name_key, "")
    yield from label_causes_of(name, f"{path}.{name_key}") if name else [required(f"{path}.{name_key}")]
    entries = counters.get("counters", {})
    if not entries:
        yield required(f"{path}.counters")
    yield from map_causes(
        entries, _MAX_COUNTERS, f"{path}.counters", label_causes_of, no_causes, shown_bytes=_SHOWN_COUNTER
    )


# --- nodes ------------------------------------------------------------------------------------------------


def _no_node_causes(device: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if any(key in device for key in ("nodeName", "nodeSelector", "allNodes")):
        text = (
            "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is set to true "
            "in the ResourceSlice spec"
        )
        yield invalid(path, None, text)


def _device_node_causes(device: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if device.get("nodeName") == "":
        yield invalid(f"{path}.nodeName", "", "must not be empty")
    yield from node_choice_causes(device, path)
    chosen = node_choices(device, ("nodeName", "nodeSelector", "allNodes"))
    text = (
        f"exactly one of {_NODES} is required when `perDeviceNodeSelection` is set to true "
        "in the ResourceSlice spec"
    )
    if not chosen:
        yield required(path, text)
    elif len(chosen) > 1:
        yield invalid(path, f"{{{', '.join(chosen)}}}", text)


def node_choice_causes(place: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    """Errors of the fields that say on which nodes devices are available."""
    if place.get("nodeName"):
        yield from each(f"{path}.nodeName", place["nodeName"], subdomain_errors(place["nodeName"]))
    if "nodeSelector" in place:
        yield from node_selector_causes(place["nodeSelector"], f"{path}.nodeSelector")
    for key in ("allNodes", "perDeviceNodeSelection"):
        if place.get(key) is False:
            yield invalid(f"{path}.{key}", False, "must be either unset or set to true")


def node_choices(place: Mapping[str, Any], keys: Sequence[str]) -> list[str]:
    """Those of the fields that are set, quoted."""
    return [f"`{key}`" for key in keys if place.get(key) or (key == "nodeSelector" and key in place)]


# --- binding conditions -----------------------------------------------------------------------------------


def binding_condition_causes(device: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    """Errors of the conditions that must hold before a pod is bound, of a device or of its allocation."""
    conditions, failures = device.get("bindingConditions", ()), device.get("bindingFailureConditions", ())
    for key, values in (("bindingConditions", conditions), ("bindingFailureConditions", failures)):
        yield from list_causes(values, _MAX_CONDITIONS, f"{path}.{key}", key_causes)
        yield from (
            duplicate(f"{path}.{key}[{i}]", value) for i, value in enumerate(values) if value in values[:i]
        )
    for i, value in enumerate(failures):
        if value in conditions:
            text = "bindingFailureConditions must not overlap with bindingConditions"
            yield invalid(f"{path}.bindingFailureConditions[{i}]", value, text)
    if failures and not conditions:
        text = "bindingConditions are required to use bindingFailureConditions"
        yield invalid(f"{path}.bindingConditions", None, text)
    if conditions and not failures:
        text = "bindingFailureConditions are required to use bindingConditions"
        yield invalid(f"{path}.bindingFailureConditions", None, text)
