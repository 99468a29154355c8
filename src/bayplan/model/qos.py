"""The quality of service class of a pod: Guaranteed, Burstable or BestEffort."""

from collections.abc import Iterable, Mapping
from typing import Final

from bayplan.model.pod_fields import PodSpec, PodStatus, ResourceRequirements
from bayplan.model.quantity import Quantity
from bayplan.model.resource_names import CPU, MEMORY
from bayplan.model.volume_sources import QuantityText

GUARANTEED: Final = "Guaranteed"
BURSTABLE: Final = "Burstable"
BEST_EFFORT: Final = "BestEffort"

_COMPUTE = (CPU, MEMORY)
_ZERO = Quantity(0)


def pod_qos(spec: PodSpec, status: PodStatus) -> str:
    """The class in the status, or else the one computed from the spec."""
    return status.qos_class or compute_qos(spec)


def compute_qos(spec: PodSpec) -> str:
    """Guaranteed if cpu and memory are limited everywhere and requests equal limits; BestEffort if neither is set.

    If there are pod-level resources, only they count. A pod whose pod-level resources have no limits is never
    Guaranteed.
    """
    parts = _parts(spec)
    requests = _sum(part.requests for part in parts)
    limits = _sum(part.limits for part in parts)
    if not requests and not limits:
        return BEST_EFFORT
    fully_limited = all(set(_sum([part.limits])) == set(_COMPUTE) for part in parts)
    return GUARANTEED if fully_limited and requests == limits else BURSTABLE


def _parts(spec: PodSpec) -> list[ResourceRequirements]:
    if spec.resources is not None:
        return [spec.resources]
    return [container.resources for container in (*spec.containers, *spec.init_containers)]


def _sum(amounts: Iterable[Mapping[str, QuantityText]]) -> dict[str, Quantity]:
    """cpu and memory that are above zero, summed."""
    total: dict[str, Quantity] = {}
    for each in amounts:
        for name in _COMPUTE:
            quantity = Quantity.parse(each[name]) if name in each else _ZERO
            if quantity.sign > 0:
                total[name] = total.get(name, _ZERO) + quantity
    return total
