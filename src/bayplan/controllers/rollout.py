"""The arithmetic of a rolling update: how many replicas each ReplicaSet of a Deployment should have next. Pure.

In: a Deployment's strategy and its ReplicaSets' sizes. Out: sizes. As in kube-controller-manager, there
are never more than replicas + maxSurge in total, and never fewer than replicas - maxUnavailable available.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import msgspec


class RolloutLimits(NamedTuple):
    """maxSurge and maxUnavailable as numbers."""

    max_surge: int
    max_unavailable: int


class ReplicaSetSize(msgspec.Struct):
    """One ReplicaSet: its desired and its available replicas."""

    replicas: int
    available: int


def limits_of(spec: dict[str, Any]) -> RolloutLimits:
    """The limits in a Deployment's spec; percentages of the replicas, surge rounded up, unavailability down."""
    strategy = spec.get("strategy") or {}
    if strategy.get("type") == "Recreate":
        return RolloutLimits(0, spec.get("replicas", 1))
    rolling = strategy.get("rollingUpdate") or {}
    replicas = spec.get("replicas", 1)
    surge = _amount(rolling.get("maxSurge", 0), replicas, math.ceil)
    unavailable = min(_amount(rolling.get("maxUnavailable", 0), replicas, math.floor), replicas)
    # With neither, the update could not make a single step.
    return RolloutLimits(surge, 1 if not surge and not unavailable else unavailable)


def _amount(value: int | str, total: int, rounded: Any) -> int:
    if isinstance(value, str) and value.endswith("%"):
        return int(rounded(total * int(value[:-1]) / 100))
    return int(value)


def new_size(desired: int, limits: RolloutLimits, new: ReplicaSetSize, old: list[ReplicaSetSize]) -> int:
    """How many replicas the new ReplicaSet should have now."""
    if new.replicas >= desired:
        return desired
    total = new.replicas + sum(size.replicas for size in old)
    room = desired + limits.max_surge - total
    return new.replicas + max(min(room, desired - new.replicas), 0)


def old_sizes(desired: int, limits: RolloutLimits, new: ReplicaSetSize, old: list[ReplicaSetSize]) -> list[int]:
    """How many replicas each old ReplicaSet should have now; *old* is in the order in which they shrink."""
    total = new.replicas + sum(size.replicas for size in old)
    must_stay = desired - limits.max_unavailable
    may_go = total - must_stay - (new.replicas - new.available)
    sizes = [size.replicas for size in old]
    if may_go <= 0:
        return sizes
    # Unavailable replicas can be removed first.
    for position, size in enumerate(old):
        gone = max(min(size.replicas - size.available, may_go), 0)
        sizes[position] -= gone
        may_go -= gone
    # A ReplicaSet that has just shrunk still counts pods that are on their way out.
    spare = new.available + sum(min(size.available, size.replicas) for size in old) - must_stay
    for position in range(len(old)):
        gone = max(min(sizes[position], spare), 0)
        sizes[position] -= gone
        spare -= gone
    return sizes
