"""The quality of service class of a pod, from the requests and limits of its containers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayplan.model.quantity import Quantity

_COMPUTE = ("cpu", "memory")


def qos_class(spec: Mapping[str, Any]) -> str:
    """Guaranteed, Burstable or BestEffort."""
    if spec.get("resources"):
        owners = [spec]
    else:
        owners = [*spec.get("initContainers", ()), *(spec.get("containers") or [])]
    amounts = [_positive(owner.get("resources", {})) for owner in owners]
    if not any(requests or limits for requests, limits in amounts):
        return "BestEffort"
    if all(len(limits) == len(_COMPUTE) for _, limits in amounts) and _totals(amounts, 0) == _totals(amounts, 1):
        return "Guaranteed"
    return "Burstable"


def _positive(resources: Mapping[str, Any]) -> tuple[dict[str, Quantity], dict[str, Quantity]]:
    """Requests and limits of compute resources, without zeros."""
    requests, limits = (
        {
            name: Quantity.parse(amounts[name])
            for name in _COMPUTE
            if name in amounts and Quantity.parse(amounts[name]).sign > 0
        }
        for amounts in (resources.get("requests", {}), resources.get("limits", {}))
    )
    return requests, limits


def _totals(amounts: list[tuple[dict[str, Quantity], dict[str, Quantity]]], which: int) -> dict[str, Quantity]:
    totals: dict[str, Quantity] = {}
    for pair in amounts:
        for name, amount in pair[which].items():
            totals[name] = totals[name] + amount if name in totals else amount
    return totals
