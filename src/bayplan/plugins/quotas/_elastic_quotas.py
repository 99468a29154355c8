"""Elastic quotas as numbers: the min and max of each namespace, and what its pods use.

`QuotaTracker` keeps the ElasticQuotas and the usage of their namespaces up to date. `QuotaUsage` is their state in
one attempt; preemption adds and removes pods in copies of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from bayplan.framework.logs import get_logger
from bayplan.model import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, ElasticQuota, QuantityError, Resources
from bayplan.plugins._pod_tracker import PodTracker
from bayplan.plugins.quotas._quota_warnings import has_max, quota_warnings, seniority

if TYPE_CHECKING:
    from bayplan.framework import Handle
    from bayplan.model import Pod

log = get_logger("bayplan.plugins")

#: Always compared, with 0 where a quota does not name them. The number of pods is never compared, as upstream.
_ALWAYS: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
_NOTHING: Final[Resources] = MappingProxyType({})


def exceeds(requested: Resources, used: Resources, limit: Resources, *, unnamed_is_zero: bool) -> bool:
    """Whether *requested* and *used* together exceed *limit*, for any resource.

    Compares cpu, memory, ephemeral storage and the resources that *requested* names. With *unnamed_is_zero* the
    limit of a resource that *limit* does not name is 0, otherwise it has no limit.
    """
    for name in _ALWAYS:
        if requested.get(name, 0) + used.get(name, 0) > limit.get(name, 0):
            return True
    for name, amount in requested.items():
        if name in _ALWAYS or name == PODS or not (unnamed_is_zero or name in limit):
            continue
        if amount + used.get(name, 0) > limit.get(name, 0):
            return True
    return False


def added(first: Resources, second: Resources, sign: int = 1) -> dict[str, int]:
    total = dict(first)
    for name, amount in second.items():
        total[name] = total.get(name, 0) + sign * amount
    return total


def sum_of(amounts: Iterable[Resources]) -> Resources:
    total: dict[str, int] = {}
    for each in amounts:
        total = added(total, each)
    return total


@dataclass(frozen=True, slots=True)
class Quota:
    """The ElasticQuota that counts for a namespace."""

    min: Resources
    #: None: there is no limit.
    max: Resources | None

    @classmethod
    def of(cls, quota: ElasticQuota) -> Quota:
        """Raises QuantityError for an invalid amount."""
        return cls(quota.min, quota.max if has_max(quota) else None)


class QuotaUsage:
    """Quotas and the usage of their namespaces, in an attempt or in a dry run of preemption."""

    __slots__ = ("_min_total", "_moved", "_quotas", "_total", "_used")

    def __init__(
        self, quotas: Mapping[str, Quota], min_total: Resources, used: Mapping[str, Resources], total: Resources
    ) -> None:
        self._quotas = quotas
        self._min_total = min_total
        self._used = used
        #: What all namespaces with quotas use together.
        self._total = total
        #: Namespace → its usage, for those in which pods were added or removed in the dry run.
        self._moved: dict[str, Resources] = {}

    def clone(self) -> QuotaUsage:
        copy = QuotaUsage(self._quotas, self._min_total, self._used, self._total)
        copy._moved = dict(self._moved)
        return copy

    def has_quota(self, namespace: str) -> bool:
        return namespace in self._quotas

    def used(self, namespace: str) -> Resources:
        moved = self._moved.get(namespace)
        return self._used.get(namespace, _NOTHING) if moved is None else moved

    def move(self, pod: Pod, *, add: bool) -> None:
        """Add or remove *pod* for the dry run; a pod without a quota changes nothing."""
        if pod.namespace in self._quotas:
            sign = 1 if add else -1
            self._moved[pod.namespace] = added(self.used(pod.namespace), pod.requests, sign)
            self._total = added(self._total, pod.requests, sign)

    def is_over_max(self, namespace: str, requested: Resources) -> bool:
        limit = self._quotas[namespace].max
        return limit is not None and exceeds(requested, self.used(namespace), limit, unnamed_is_zero=False)

    def is_over_min(self, namespace: str, requested: Resources = _NOTHING) -> bool:
        limit, used = self._quotas[namespace].min, self.used(namespace)
        if requested:
            return exceeds(requested, used, limit, unnamed_is_zero=True)
        return exceeds(used, _NOTHING, limit, unnamed_is_zero=True)

    def over_min(self) -> set[str]:
        """The namespaces that use more than their min."""
        return {namespace for namespace in self._quotas if self.is_over_min(namespace)}

    def fits_beside_others(self, namespace: str, requested: Resources) -> bool:
        """Whether *requested* is within max, and within the sum of all mins if the other namespaces keep what they
        use of their own min."""
        if self.is_over_max(namespace, requested):
            return False
        kept = (
            {name: min(amount, quota.min.get(name, 0)) for name, amount in self.used(other).items()}
            for other, quota in self._quotas.items()
            if other != namespace
        )
        total = sum_of((*kept, self.used(namespace), requested))
        return not exceeds(total, _NOTHING, self._min_total, unnamed_is_zero=True)

    def is_over_total_min(self, requested: Resources) -> bool:
        """Whether the namespaces with quotas together use more than the sum of their mins: nothing is left to
        borrow."""
        return exceeds(added(self._total, requested), _NOTHING, self._min_total, unnamed_is_zero=True)


class QuotaTracker:
    """Keeps the ElasticQuotas and the usage of all namespaces up to date."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        # Requested here, so that the watch starts before the first pod is tried.
        self._objects = handle.informers.lister(ElasticQuota)
        handle.informers.on_change(ElasticQuota, self._quota_changed)
        self._pods = PodTracker(handle)
        self._is_stale = True
        self._quotas: dict[str, Quota] = {}
        self._min_total: Resources = _NOTHING
        #: Of every namespace, so that the usage is known when a quota is created later.
        self._used: dict[str, Resources] = {}
        self._total: Resources = _NOTHING
        #: Quota → the warning that was reported about it.
        self._reported: Mapping[str, str] = {}

    def usage(self) -> QuotaUsage:
        """The current usage; valid until the cluster changes."""
        if self._is_stale:
            self._read_quotas()
        removed, added_pods = self._pods.changes()
        for pod in removed:
            self._count(pod, -1)
        for pod in added_pods:
            self._count(pod, 1)
        return QuotaUsage(self._quotas, self._min_total, self._used, self._total)

    def _count(self, pod: Pod, sign: int) -> None:
        self._used[pod.namespace] = added(self._used.get(pod.namespace, _NOTHING), pod.requests, sign)
        if pod.namespace in self._quotas:
            self._total = added(self._total, pod.requests, sign)

    # --- quotas -----------------------------------------------------------------------------------

    def _quota_changed(self, old: ElasticQuota | None, new: ElasticQuota | None) -> None:
        """Status updates, which the controller writes often, change nothing here."""
        if old is None or new is None or old.whole.get("spec") != new.whole.get("spec"):
            self._is_stale = True

    def _read_quotas(self) -> None:
        self._quotas = {}
        for quota in sorted(self._objects.list(), key=seniority):
            # An invalid quota is among the warnings.
            with contextlib.suppress(QuantityError):
                self._quotas.setdefault(quota.namespace, Quota.of(quota))
        self._min_total = sum_of(quota.min for quota in self._quotas.values())
        self._total = sum_of(self._used.get(namespace, _NOTHING) for namespace in self._quotas)
        self._is_stale = False
        self._report_warnings()

    def _report_warnings(self) -> None:
        """Report each warning once, in the log and as an event, when the next pod is tried."""
        found = {}
        for quota in self._objects.list():
            # In one event: events that differ in the note alone are aggregated, and only the first note is kept.
            note = "; ".join(quota_warnings(quota, self._objects.list(quota.namespace)))
            found[quota.key] = note
            if note and self._reported.get(quota.key) != note:
                log.error(None, note, elasticQuota=quota)
                # Without a cluster the handle has no recorder.
                with contextlib.suppress(RuntimeError):
                    self._handle.recorder.event(
                        quota, kind="Warning", reason="InvalidQuota", action="Scheduling", note=note
                    )
        self._reported = found
