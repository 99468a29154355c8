"""Validation of ResourceSlices: their pool, their nodes, their devices and shared counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.strategies.devices.device_lists import set_causes
from bayplan.apiserver.strategies.devices.device_names import driver_causes, pool_causes
from bayplan.apiserver.strategies.devices.device_validation import (
    counters_causes,
    device_causes,
    node_choice_causes,
    node_choices,
)
from bayplan.apiserver.validation.field_errors import immutable, invalid, required
from bayplan.release import ReleaseFacts

_MAX_DEVICES: Final = 128
#: With taints or counters, which make devices large.
_MAX_LARGE_DEVICES: Final = 64
_MAX_COUNTER_SETS: Final = 8
_NODES: Final = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")


def slice_spec_causes(
    spec: Mapping[str, Any], old: Mapping[str, Any] | None, facts: ReleaseFacts
) -> Iterator[StatusCause]:
    """Errors of the spec of a slice, and of its change."""
    yield from driver_causes(spec.get("driver", ""), "spec.driver")
    yield from _pool_causes(spec.get("pool", {}))
    if old is not None:
        yield from immutable("spec.pool.name", spec.get("pool", {}).get("name"), old["pool"].get("name"))
        for key in ("driver", "nodeName"):
            yield from immutable(f"spec.{key}", spec.get(key), old.get(key))
    yield from _node_causes(spec)
    if spec.get("sharedCounters") and spec.get("devices"):
        yield invalid("spec", "", "only one of `sharedCounters` or `devices` is allowed")
    yield from _device_list_causes(spec, old, facts)
    yield from set_causes(
        spec.get("sharedCounters", ()), _MAX_COUNTER_SETS, "spec.sharedCounters", _counter_set_causes, _name
    )


def _name(entry: Mapping[str, Any]) -> object:
    return entry.get("name", "")


def _counter_set_causes(counter_set: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    yield from counters_causes(counter_set, "name", path)


def _pool_causes(pool: Mapping[str, Any]) -> Iterator[StatusCause]:
    yield from pool_causes(pool.get("name", ""), "spec.pool.name")
    count, generation = pool.get("resourceSliceCount", 0), pool.get("generation", 0)
    if count <= 0:
        yield invalid("spec.pool.resourceSliceCount", count, "must be greater than zero")
    if generation < 0:
        yield invalid("spec.pool.generation", generation, "must be greater than or equal to zero")


def _node_causes(spec: Mapping[str, Any]) -> Iterator[StatusCause]:
    if spec.get("nodeName") == "":
        yield invalid("spec.nodeName", "", "must be either unset or set to a non-empty string")
    yield from node_choice_causes(spec, "spec")
    terms = spec.get("nodeSelector", {}).get("nodeSelectorTerms") or ()
    if "nodeSelector" in spec and len(terms) != 1:
        path = "spec.nodeSelector.nodeSelectorTerms"
        yield invalid(path, list(terms), "must have exactly one node selector term")
    chosen = node_choices(spec, _NODES)
    text = f"exactly one of {', '.join(f'`{key}`' for key in _NODES)} is required"
    if not chosen:
        yield required("spec", text)
    elif len(chosen) > 1:
        yield invalid("spec", f"{{{', '.join(chosen)}}}", f"{text}, but multiple fields are set")


def _device_list_causes(
    spec: Mapping[str, Any], old: Mapping[str, Any] | None, facts: ReleaseFacts
) -> Iterator[StatusCause]:
    devices = spec.get("devices", ())
    are_large = any(device.get("taints") or device.get("consumesCounters") for device in devices)
    before = {device.get("name", ""): device for device in (old or {}).get("devices", ())}
    per_device = spec.get("perDeviceNodeSelection") is True

    def causes(device: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
        stored = before.get(device.get("name", ""))
        return device_causes(device, stored, path, per_device=per_device, facts=facts)

    limit = _MAX_LARGE_DEVICES if are_large else _MAX_DEVICES
    yield from set_causes(devices, limit, "spec.devices", causes, _name)
