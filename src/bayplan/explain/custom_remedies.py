"""Remedies for gangs and quotas: a smaller gang, a larger quota."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from bayplan.explain.amounts import amount_text
from bayplan.explain.remedy import OTHERS, Remedy
from bayplan.model import ElasticQuota, Pod, PodGroup

if TYPE_CHECKING:
    from bayplan.core import SchedulerCore
    from bayplan.explain.what_if_scheduler import WhatIfScheduler

GROUP_LABEL: Final = "scheduling.x-k8s.io/pod-group"
SMALLER_GANG: Final = 50.0
LARGER_QUOTA: Final = 55.0


def group_of(core: SchedulerCore, pod: Pod) -> PodGroup | None:
    name = pod.labels.get(GROUP_LABEL, "")
    return core.objects.lister(PodGroup).get(name, pod.namespace) if name else None


def members_of(core: SchedulerCore, group: PodGroup) -> list[Pod]:
    return [
        other
        for other in core.pods.values()
        if other.namespace == group.namespace and other.labels.get(GROUP_LABEL) == group.name
    ]


def smaller_gang(scheduler: WhatIfScheduler, pod: Pod) -> Iterator[Remedy]:
    """A PodGroup that needs no more members than there are."""
    group = group_of(scheduler.core, pod)
    if group is None:
        return
    members = {other.key for other in members_of(scheduler.core, group)} | {pod.key}
    if len(members) < group.spec.min_member:
        manifest = _manifest(group)
        manifest["spec"]["minMember"] = len(members)
        yield Remedy(
            f"lower minMember of the PodGroup {group.key} to {len(members)}",
            SMALLER_GANG,
            OTHERS,
            replaces=((group, PodGroup.from_dict(manifest)),),
            key="minMember",
            notes=("verified for this pod alone: the other members of its group need places as well",),
        )


def larger_quota(scheduler: WhatIfScheduler, pod: Pod) -> Iterator[Remedy]:
    """ElasticQuotas of the namespace that leave room for the pod."""
    quotas = scheduler.core.objects.lister(ElasticQuota).list()
    for quota in quotas:
        if quota.namespace == pod.namespace:
            yield from _larger_max(scheduler, pod, quota)
            yield from _larger_min(scheduler, pod, quota, quotas)


def used_in(core: SchedulerCore, namespace: str) -> dict[str, int]:
    """What the placed pods of a namespace request."""
    used: dict[str, int] = {}
    for other in core.cache.snapshot().pods():
        if other.namespace == namespace:
            for resource, amount in other.requests.items():
                used[resource] = used.get(resource, 0) + amount
    return used


def _larger_max(scheduler: WhatIfScheduler, pod: Pod, quota: ElasticQuota) -> Iterator[Remedy]:
    used = used_in(scheduler.core, quota.namespace)
    needed = {resource: used.get(resource, 0) + int(amount) for resource, amount in pod.requests.items()}
    short = {
        resource: amount
        for resource, amount in needed.items()
        if resource in quota.spec.max and amount > quota.max.get(resource, 0)
    }
    yield from _raised(quota, "max", short)


def _larger_min(scheduler: WhatIfScheduler, pod: Pod, quota: ElasticQuota, quotas: Any) -> Iterator[Remedy]:
    """With so much guaranteed that the guarantees of all namespaces together cover what is used."""
    used: dict[str, int] = {}
    guaranteed: dict[str, int] = {}
    for each in quotas:
        for resource, amount in used_in(scheduler.core, each.namespace).items():
            used[resource] = used.get(resource, 0) + amount
        for resource, amount in each.min.items():
            guaranteed[resource] = guaranteed.get(resource, 0) + amount
    short = {}
    for resource, amount in pod.requests.items():
        missing = used.get(resource, 0) + int(amount) - guaranteed.get(resource, 0)
        if missing > 0 and resource in quota.spec.min:
            short[resource] = quota.min.get(resource, 0) + missing
    yield from _raised(quota, "min", short)


def _raised(quota: ElasticQuota, field: str, amounts: dict[str, int]) -> Iterator[Remedy]:
    if not amounts:
        return
    manifest = _manifest(quota)
    texts = []
    for resource, amount in sorted(amounts.items()):
        manifest["spec"].setdefault(field, {})[resource] = amount_text(resource, amount)
        texts.append(f"{resource} to {amount_text(resource, amount)}")
        limit = (manifest["spec"].get("max") or {}).get(resource)
        if field == "min" and limit is not None and quota.max.get(resource, 0) < amount:
            manifest["spec"]["max"][resource] = amount_text(resource, amount)
    yield Remedy(
        f"raise the {field} of the ElasticQuota {quota.key}: {', '.join(texts)}",
        LARGER_QUOTA,
        OTHERS,
        replaces=((quota, ElasticQuota.from_dict(manifest)),),
        key=f"quota {field}",
    )


def _manifest(value: PodGroup | ElasticQuota) -> dict[str, Any]:
    return copy.deepcopy({"apiVersion": value.API_VERSION, "kind": value.KIND, **value.raw})
