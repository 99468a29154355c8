"""Warnings about an ElasticQuota, for its author. The valid parts of a quota still count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from bayplan.model import CPU, MEMORY, ElasticQuota, QuantityError, is_counted_resource

#: Nearly all pods request these, so a max that does not name them rejects nearly all pods.
_EVERYDAY: Final = (CPU, MEMORY)


def seniority(quota: ElasticQuota) -> tuple[str, str]:
    """Sort key: of several quotas in a namespace the oldest counts, then the first by name."""
    return quota.metadata.creation_timestamp or "", quota.name


def has_max(quota: ElasticQuota) -> bool:
    """An empty max allows nothing; only a missing max allows everything."""
    return (quota.whole.get("spec") or {}).get("max") is not None


def quota_warnings(quota: ElasticQuota, in_namespace: Sequence[ElasticQuota]) -> Iterator[str]:
    """*in_namespace* are the quotas of the namespace, this one included."""
    try:
        low, high = quota.min, quota.max
    except QuantityError as error:
        yield f"The quota is ignored, an amount is invalid: {error}"
        return
    senior = min((*in_namespace, quota), key=seniority)
    if senior.name != quota.name:
        yield f"The quota is ignored: a namespace has one quota, and {senior.name} is older"
    for field, amounts in (("min", quota.spec.min), ("max", quota.spec.max)):
        for name in amounts:
            if not is_counted_resource(name):
                yield f"spec.{field} names {name}, which the scheduler does not count; it is ignored"
    for field, numbers in (("min", low), ("max", high)):
        for name, amount in numbers.items():
            if amount < 0:
                yield f"spec.{field} of {name} is negative"
    for name in low:
        if name in high and low[name] > high[name]:
            yield f"spec.min of {name} is above spec.max: the part above max can never be used"
    for name in _EVERYDAY:
        if has_max(quota) and name not in high:
            yield f"spec.max names no {name}, which counts as 0: pods that request {name} are rejected"
