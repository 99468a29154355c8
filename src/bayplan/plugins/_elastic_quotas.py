"""Elastic quotas as numbers: what namespaces are sure of, what they may use at most, and what they use.

`QuotaBook` keeps the ElasticQuotas and the usage of their namespaces up to date. `Usage` is how things stand in
one attempt; preemption moves pods in copies of it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from bayplan.framework.logs import get_logger
from bayplan.model import CPU, EPHEMERAL_STORAGE, MEMORY, PODS, ElasticQuota, QuantityError, Resources
from bayplan.plugins._followed_pods import FollowedPods
from bayplan.plugins._quota_findings import findings, has_max, seniority

if TYPE_CHECKING:
    from bayplan.framework import Handle
    from bayplan.model import Pod

log = get_logger("bayplan.plugins")

#: Compared always, with 0 where a quota does not name them. The number of pods never is, as in the original.
_ALWAYS: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
_NOTHING: Final[Resources] = MappingProxyType({})


def is_more(asked: Resources, used: Resources, limit: Resources, *, others_limited: bool) -> bool:
    """Whether *asked* and *used* together are more than *limit*, for any resource.

    Beside cpu, memory and ephemeral storage, the resources that *asked* names are compared; with *others_limited*
    the limit of one that *limit* does not name is 0, without it there is none.
    """
    for name in _ALWAYS:
        if asked.get(name, 0) + used.get(name, 0) > limit.get(name, 0):
            return True
    for name, amount in asked.items():
        if name in _ALWAYS or name == PODS or not (others_limited or name in limit):
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
        """Raises QuantityError for an amount that cannot be read."""
        return cls(quota.min, quota.max if has_max(quota) else None)


class Usage:
    """Quotas, and what their namespaces use in an attempt or in a what-if of preemption."""

    __slots__ = ("_min_total", "_moved", "_quotas", "_total", "_used")

    def __init__(
        self, quotas: Mapping[str, Quota], min_total: Resources, used: Mapping[str, Resources], total: Resources
    ) -> None:
        self._quotas = quotas
        self._min_total = min_total
        self._used = used
        #: What all namespaces with quotas use together.
        self._total = total
        #: The namespaces in which pods were moved, and what they use then.
        self._moved: dict[str, Resources] = {}

    def clone(self) -> Usage:
        copy = Usage(self._quotas, self._min_total, self._used, self._total)
        copy._moved = dict(self._moved)
        return copy

    def has_quota(self, namespace: str) -> bool:
        return namespace in self._quotas

    def used(self, namespace: str) -> Resources:
        moved = self._moved.get(namespace)
        return self._used.get(namespace, _NOTHING) if moved is None else moved

    def move(self, pod: Pod, *, add: bool) -> None:
        """*pod* is there, or is gone, for the length of a what-if; one without a quota changes nothing."""
        if pod.namespace in self._quotas:
            sign = 1 if add else -1
            self._moved[pod.namespace] = added(self.used(pod.namespace), pod.requests, sign)
            self._total = added(self._total, pod.requests, sign)

    def is_over_max(self, namespace: str, asked: Resources) -> bool:
        limit = self._quotas[namespace].max
        return limit is not None and is_more(asked, self.used(namespace), limit, others_limited=False)

    def is_over_min(self, namespace: str, asked: Resources = _NOTHING) -> bool:
        limit, used = self._quotas[namespace].min, self.used(namespace)
        if asked:
            return is_more(asked, used, limit, others_limited=True)
        return is_more(used, _NOTHING, limit, others_limited=True)

    def over_min(self) -> set[str]:
        """The namespaces that use more than they are sure of."""
        return {namespace for namespace in self._quotas if self.is_over_min(namespace)}

    def leaves_others_theirs(self, namespace: str, asked: Resources) -> bool:
        """Whether *asked* is within max, and within what all are sure of together, if the other namespaces keep
        what they are sure of and use."""
        if self.is_over_max(namespace, asked):
            return False
        kept = (
            {name: min(amount, quota.min.get(name, 0)) for name, amount in self.used(other).items()}
            for other, quota in self._quotas.items()
            if other != namespace
        )
        total = sum_of((*kept, self.used(namespace), asked))
        return not is_more(total, _NOTHING, self._min_total, others_limited=True)

    def is_over_total_min(self, asked: Resources) -> bool:
        """Whether all namespaces with quotas use more than all of them are sure of: nothing is left to borrow."""
        return is_more(added(self._total, asked), _NOTHING, self._min_total, others_limited=True)


class QuotaBook:
    """Reads the ElasticQuotas and follows the pods."""

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        # Asked for now, so that they are watched before the first pod is tried.
        self._objects = handle.informers.lister(ElasticQuota)
        handle.informers.on_change(ElasticQuota, self._quota_changed)
        self._pods = FollowedPods(handle)
        self._is_stale = True
        self._quotas: dict[str, Quota] = {}
        self._min_total: Resources = _NOTHING
        #: For every namespace, so that a quota that comes later finds its pods counted.
        self._used: dict[str, Resources] = {}
        self._total: Resources = _NOTHING
        #: Quota → what was said about it.
        self._told: Mapping[str, str] = {}

    def usage(self) -> Usage:
        """How things stand now; right until the cluster changes."""
        if self._is_stale:
            self._read_quotas()
        gone, come = self._pods.moves()
        for pod in gone:
            self._count(pod, -1)
        for pod in come:
            self._count(pod, 1)
        return Usage(self._quotas, self._min_total, self._used, self._total)

    def _count(self, pod: Pod, sign: int) -> None:
        self._used[pod.namespace] = added(self._used.get(pod.namespace, _NOTHING), pod.requests, sign)
        if pod.namespace in self._quotas:
            self._total = added(self._total, pod.requests, sign)

    # --- quotas -----------------------------------------------------------------------------------

    def _quota_changed(self, old: ElasticQuota | None, new: ElasticQuota | None) -> None:
        """A controller keeps writing what is used into the status: nothing that we look at."""
        if old is None or new is None or old.raw.get("spec") != new.raw.get("spec"):
            self._is_stale = True

    def _read_quotas(self) -> None:
        self._quotas = {}
        for quota in sorted(self._objects.list(), key=seniority):
            # One that cannot be read is among the findings.
            with contextlib.suppress(QuantityError):
                self._quotas.setdefault(quota.namespace, Quota.of(quota))
        self._min_total = sum_of(quota.min for quota in self._quotas.values())
        self._total = sum_of(self._used.get(namespace, _NOTHING) for namespace in self._quotas)
        self._is_stale = False
        self._tell_findings()

    def _tell_findings(self) -> None:
        """What looks wrong is told once, in the log and as an event: when the next pod is tried, by its leader."""
        found = {}
        for quota in self._objects.list():
            # In one event: those that differ in the note alone are drawn together, and only the first can be read.
            note = "; ".join(findings(quota, self._objects.list(quota.namespace)))
            found[quota.key] = note
            if note and self._told.get(quota.key) != note:
                log.error(None, note, elasticQuota=quota)
                # Without a cluster there is nobody to tell, and the handle says so.
                with contextlib.suppress(RuntimeError):
                    self._handle.recorder.event(
                        quota, kind="Warning", reason="InvalidQuota", action="Scheduling", note=note
                    )
        self._told = found
