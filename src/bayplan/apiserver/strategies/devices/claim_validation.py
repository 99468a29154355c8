"""Validation of what a claim asks for: requests, selectors, tolerations, constraints, configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

import msgspec

from bayplan.apiserver.api_errors import StatusCause
from bayplan.apiserver.strategies.devices.device_lists import list_causes, set_causes
from bayplan.apiserver.strategies.devices.device_names import (
    RequestNames,
    driver_causes,
    fully_qualified_causes,
    key_causes,
    label_causes_of,
)
from bayplan.apiserver.validation.field_errors import each, invalid, not_supported, required, too_long
from bayplan.apiserver.validation.name_validation import label_value_errors, subdomain_errors
from bayplan.cel import MAX_EXPRESSION_BYTES, compile_device_selector
from bayplan.release import ReleaseFacts

MAX_REQUESTS: Final = 32
MAX_CONFIGURATIONS: Final = 32
_MAX_CONSTRAINTS: Final = 32
_MAX_SELECTORS: Final = 32
_MAX_ALTERNATIVES: Final = 8
_MAX_PARAMETERS_BYTES: Final = 10 * 1024
TAINT_EFFECTS: Final = ("NoExecute", "NoSchedule", "None")
_OMITTED: Final = "<value omitted>"


def default_requests(spec: Mapping[str, Any]) -> None:
    """The defaults of a claim's requests, in place."""
    for request in spec.get("devices", {}).get("requests") or ():
        for device in (request.get("exactly"), *request.get("firstAvailable", ())):
            if device is not None:
                _default_request(device)


def _default_request(device: dict[str, Any]) -> None:
    if not device.get("allocationMode"):
        device["allocationMode"] = "ExactCount"
    if device["allocationMode"] == "ExactCount" and not device.get("count"):
        device["count"] = 1
    default_tolerations(device)


def default_tolerations(device: Mapping[str, Any]) -> None:
    """The defaults of the tolerations of a request, or of a result, in place."""
    for toleration in device.get("tolerations", ()):
        if not toleration.get("operator"):
            toleration["operator"] = "Equal"


def claim_spec_causes(spec: Mapping[str, Any], path: str, facts: ReleaseFacts) -> Iterator[StatusCause]:
    """Errors of the spec of a new claim, or of a template for claims."""
    devices, path = spec.get("devices", {}), f"{path}.devices"
    requests = devices.get("requests") or ()
    names = RequestNames(requests)
    yield from set_causes(requests, MAX_REQUESTS, f"{path}.requests", _request_causes, _name)
    constraint_causes = partial(_constraint_causes, names, facts)
    yield from list_causes(
        devices.get("constraints", ()), _MAX_CONSTRAINTS, f"{path}.constraints", constraint_causes
    )
    config_causes = partial(claim_configuration_causes, names)
    yield from list_causes(devices.get("config", ()), MAX_CONFIGURATIONS, f"{path}.config", config_causes)


def _name(entry: Mapping[str, Any]) -> object:
    return entry.get("name", "")


# --- requests ---------------------------------------------------------------------------------------------


def _request_causes(request: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    yield from label_causes_of(request.get("name", ""), f"{path}.name")
    exactly, alternatives = request.get("exactly"), request.get("firstAvailable", ())
    which = "exactly one of `exactly` or `firstAvailable` is required"
    if exactly is not None and alternatives:
        yield invalid(path, None, f"{which}, but multiple fields are set")
    elif alternatives:
        yield from set_causes(
            alternatives, _MAX_ALTERNATIVES, f"{path}.firstAvailable", _alternative_causes, _name
        )
    elif exactly is not None:
        yield from _device_request_causes(exactly, f"{path}.exactly")
    else:
        yield required(path, which)


def _alternative_causes(request: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    yield from label_causes_of(request.get("name", ""), f"{path}.name")
    yield from _device_request_causes(request, path)


def _device_request_causes(request: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    name = request.get("deviceClassName", "")
    if name:
        yield from each(f"{path}.deviceClassName", name, subdomain_errors(name))
    else:
        yield required(f"{path}.deviceClassName")
    yield from selector_causes(request.get("selectors", ()), f"{path}.selectors")
    yield from _mode_causes(request.get("allocationMode", ""), request.get("count", 0), path)
    for i, toleration in enumerate(request.get("tolerations", ())):
        yield from _toleration_causes(toleration, f"{path}.tolerations[{i}]")


def _mode_causes(mode: str, count: int, path: str) -> Iterator[StatusCause]:
    if mode not in ("All", "ExactCount"):
        yield not_supported(f"{path}.allocationMode", mode, ("All", "ExactCount"))
    elif mode == "All" and count:
        yield invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount" and count <= 0:
        yield invalid(f"{path}.count", count, "must be greater than zero")


def _toleration_causes(toleration: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    operator, value = toleration.get("operator", ""), toleration.get("value", "")
    if toleration.get("key"):
        yield from key_causes(toleration["key"], f"{path}.key")
    if operator == "Exists":
        if value:
            yield invalid(f"{path}.value", value, "must be empty for operator `Exists`")
    elif operator == "Equal":
        yield from each(f"{path}.value", value, label_value_errors(value))
    else:
        yield not_supported(f"{path}.operator", operator, ("Equal", "Exists"))
    effect = toleration.get("effect", "")
    if effect and effect not in TAINT_EFFECTS:
        yield not_supported(f"{path}.effect", effect, TAINT_EFFECTS)


# --- selectors --------------------------------------------------------------------------------------------


def selector_causes(selectors: Any, path: str) -> Iterator[StatusCause]:
    """Errors of the selectors of a request or a class."""
    yield from list_causes(selectors, _MAX_SELECTORS, path, _selector_causes)


def _selector_causes(selector: Mapping[str, Any], path: str) -> Iterator[StatusCause]:
    if "cel" not in selector:
        yield required(f"{path}.cel")
        return
    expression, path = selector["cel"].get("expression", ""), f"{path}.cel.expression"
    if len(expression.encode()) > MAX_EXPRESSION_BYTES:
        yield too_long(path, MAX_EXPRESSION_BYTES)
    elif (error := compile_device_selector(expression).error) is not None:
        yield invalid(path, expression, error)


# --- constraints and configuration ------------------------------------------------------------------------


def _constraint_causes(
    names: RequestNames, facts: ReleaseFacts, constraint: Mapping[str, Any], path: str
) -> Iterator[StatusCause]:
    yield from set_causes(constraint.get("requests", ()), MAX_REQUESTS, f"{path}.requests", names.reference_causes)
    given = [key for key in ("matchAttribute", "distinctAttribute") if key in constraint]
    for key in given if facts.locates_device_errors else given[:1]:
        yield from fully_qualified_causes(constraint[key], f"{path}.{key}")
    if not given:
        both = '"matchAttribute" or "distinctAttribute"'
        yield required(path, f"exactly one of {both} is required, but multiple fields are set")


def claim_configuration_causes(
    names: RequestNames, configuration: Mapping[str, Any], path: str
) -> Iterator[StatusCause]:
    """Errors of configuration that belongs to some of the claim's requests."""
    requests = configuration.get("requests", ())
    yield from set_causes(requests, MAX_REQUESTS, f"{path}.requests", names.reference_causes)
    yield from configuration_causes(configuration, path)


def configuration_causes(
    configuration: Mapping[str, Any], path: str, *, stored: bool = False
) -> Iterator[StatusCause]:
    """Errors of configuration for a driver; `stored` parameters may be longer."""
    opaque = configuration.get("opaque")
    if opaque is None:
        yield required(f"{path}.opaque")
        return
    yield from driver_causes(opaque.get("driver", ""), f"{path}.opaque.driver")
    limit = None if stored else _MAX_PARAMETERS_BYTES
    yield from raw_object_causes(opaque.get("parameters"), f"{path}.opaque.parameters", limit)


def raw_object_causes(value: Any, path: str, limit: int | None) -> Iterator[StatusCause]:
    """Errors of a field that holds any JSON object."""
    if value is None:
        yield required(path)
    elif limit is not None and len(msgspec.json.encode(value)) > limit:
        yield too_long(path, limit)
    elif not isinstance(value, dict):
        yield invalid(path, _OMITTED, "must be a valid JSON object")
