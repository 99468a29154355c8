"""Amounts of resources: as text, and lowered in a pod."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final

from bayplan.model import (
    CPU,
    Pod,
    is_extended_resource_name,
    is_huge_page_resource_name,
    parse_milli,
    parse_value,
)

_UNITS: Final = (("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))
#: Amounts below this are shown in full.
_ROUNDED_FROM: Final = 2**20


def amount_text(resource: str, amount: int) -> str:
    """An amount in the scheduler's units as a quantity: cpu in thousandths, everything else in units."""
    if resource == CPU:
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if resource in ("memory", "ephemeral-storage") or is_huge_page_resource_name(resource):
        for suffix, size in _UNITS:
            if amount and amount % size == 0:
                return f"{amount // size}{suffix}"
    return str(amount)


def rounded_down(resource: str, amount: int) -> int:
    """At most *amount*, and easy to read: whole Mi of memory, the rest as it is."""
    if resource in ("memory", "ephemeral-storage") and amount >= _ROUNDED_FROM:
        return amount - amount % _ROUNDED_FROM
    return amount


def parse_amount(resource: str, text: Any) -> int:
    return parse_milli(text) if resource == CPU else parse_value(text)


def lower_request(manifest: dict[str, Any], resource: str, target: int) -> bool:
    """Edit a pod so that it requests at most *target* in all; False if that is not possible by its containers."""
    spec = manifest["spec"]
    overhead = parse_amount(resource, (spec.get("overhead") or {}).get(resource))
    room = target - overhead
    if room < 0 or (spec.get("resources") or {}).get("requests"):
        return False
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") != "Always" and _requested(container, resource) > room:
            _set_request(container, resource, room)
    for _ in range(1 + len(spec["containers"]) + len(spec.get("initContainers") or ())):
        excess = _total(manifest, resource) - target
        if excess <= 0:
            return True
        largest = max(_summed(spec), key=lambda each: _requested(each, resource), default=None)
        if largest is None or not (amount := _requested(largest, resource)):
            return False
        _set_request(largest, resource, max(amount - excess, 0))
    return _total(manifest, resource) <= target


def _total(manifest: dict[str, Any], resource: str) -> int:
    without_status = {key: value for key, value in manifest.items() if key != "status"}
    return math.ceil(Pod.from_dict(without_status).all_requests.get(resource, 0))


def _summed(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The containers whose requests add up: the main ones and the sidecars."""
    yield from spec["containers"]
    yield from (each for each in spec.get("initContainers") or () if each.get("restartPolicy") == "Always")


def _requested(container: dict[str, Any], resource: str) -> int:
    resources = container.get("resources") or {}
    requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
    return parse_amount(resource, requests.get(resource, limits.get(resource)))


def _set_request(container: dict[str, Any], resource: str, amount: int) -> None:
    resources = container["resources"]
    amount = rounded_down(resource, amount)
    text = amount_text(resource, amount)
    resources["requests"] = {**(resources.get("requests") or {}), resource: text}
    # Of these, the limit must be the request.
    if (is_extended_resource_name(resource) or is_huge_page_resource_name(resource)) and resources.get("limits"):
        resources["limits"] = {**resources["limits"], resource: text}
