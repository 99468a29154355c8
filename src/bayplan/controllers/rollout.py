"""Pure arithmetic of a rolling update: how many replicas each ReplicaSet of a Deployment should have next.

Comes in: a Deployment's strategy and its ReplicaSets' sizes. Goes out: sizes. As in kube-controller-manager: never
more than replicas + maxSurge in all, never fewer than replicas - maxUnavailable available.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import msgspec


class Limits(NamedTuple):
    """What a rolling update may do."""

    max_surge: int
    max_unavailable: int


class Size(msgspec.Struct):
    """One ReplicaSet: what it should have, and what of it is available."""

    replicas: int
    available: int


def limits_of(spec: dict[str, Any]) -> Limits:
    """Of a Deployment's spec; percentages are of the replicas, surge rounded up, unavailability down."""
    strategy = spec.get("strategy") or {}
    if strategy.get("type") == "Recreate":
        return Limits(0, spec.get("replicas", 1))
    rolling = strategy.get("rollingUpdate") or {}
    replicas = spec.get("replicas", 1)
    surge = _amount(rolling.get("maxSurge", 0), replicas, math.ceil)
    unavailable = min(_amount(rolling.get("maxUnavailable", 0), replicas, math.floor), replicas)
    # With neither, the update could not take a single step.
    return Limits(surge, 1 if not surge and not unavailable else unavailable)


def _amount(value: int | str, total: int, rounded: Any) -> int:
    if isinstance(value, str) and value.endswith("%"):
        return int(rounded(total * int(value[:-1]) / 100))
    return int(value)


def new_size(desired: int, limits: Limits, new: Size, old: list[Size]) -> int:
    """How many replicas the new ReplicaSet should have now."""
    if new.replicas >= desired:
        return desired
    total = new.replicas + sum(size.replicas for size in old)
    room = desired + limits.max_surge - total
    return new.replicas + max(min(room, desired - new.replicas), 0)


def old_sizes(desired: int, limits: Limits, new: Size, old: list[Size]) -> list[int]:
    """How many replicas each old ReplicaSet should have now; *old* is in the order in which they give up."""
    total = new.replicas + sum(size.replicas for size in old)
    must_stay = desired - limits.max_unavailable
    may_go = total - must_stay - max(new.replicas - new.available, 0)
    sizes = [size.replicas for size in old]
    # What is not available is no loss.
    for position, size in enumerate(old):
        gone = max(min(size.replicas - size.available, may_go), 0)
        sizes[position] -= gone
        may_go -= gone
    spare = new.available + sum(size.available for size in old) - must_stay
    for position, size in enumerate(old):
        gone = max(min(sizes[position], spare, size.available), 0)
        sizes[position] -= gone
        spare -= gone
    return sizes
