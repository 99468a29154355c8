"""What looks wrong about an ElasticQuota, in words for whoever wrote it. As far as it can be read, it counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from bayplan.model import CPU, MEMORY, ElasticQuota, QuantityError, is_counted_resource

#: Pods request these as a matter of course, and a max that names neither of them by mistake allows none.
_EVERYDAY: Final = (CPU, MEMORY)


def seniority(quota: ElasticQuota) -> tuple[str, str]:
    """Of several quotas in a namespace the oldest counts, then the first by name."""
    return quota.metadata.creation_timestamp or "", quota.name


def has_max(quota: ElasticQuota) -> bool:
    """A max that is there and names nothing allows nothing; only one that is missing allows everything."""
    return (quota.raw.get("spec") or {}).get("max") is not None


def findings(quota: ElasticQuota, in_namespace: Sequence[ElasticQuota]) -> Iterator[str]:
    """*in_namespace* are the quotas of the namespace, this one included."""
    try:
        low, high = quota.min, quota.max
    except QuantityError as error:
        yield f"The quota is left out, an amount cannot be read: {error}"
        return
    senior = min((*in_namespace, quota), key=seniority)
    if senior.name != quota.name:
        yield f"The quota is left out: a namespace has one, and {senior.name} is older"
    for field, amounts in (("min", quota.spec.min), ("max", quota.spec.max)):
        for name in amounts:
            if not is_counted_resource(name):
                yield f"spec.{field} names {name}, which the scheduler does not count; it is left out"
    for field, numbers in (("min", low), ("max", high)):
        for name, amount in numbers.items():
            if amount < 0:
                yield f"spec.{field} of {name} is negative"
    for name in low:
        if name in high and low[name] > high[name]:
            yield f"spec.min of {name} is above spec.max: what is above max can never be used"
    for name in _EVERYDAY:
        if has_max(quota) and name not in high:
            yield f"spec.max names no {name}, which counts as 0: pods that request {name} are rejected"
