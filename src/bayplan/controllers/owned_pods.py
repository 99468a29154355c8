"""OwnedPods: the pods of one owner with the counts that its status needs, kept as pods come and go.

A ReplicaSet of 10,000 pods is reconciled hundreds of times while they start: to count them all each time would
cost more than to start them.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import inf
from typing import TypeAlias

from bayplan.controllers.pod_view import PodView

_LabelSet: TypeAlias = frozenset[tuple[str, str]]


class OwnedPods:
    """See the module's docstring."""

    def __init__(self, pods: Iterable[PodView] = ()) -> None:
        #: By uid.
        self._pods: dict[str, PodView] = {}
        self._active: dict[str, PodView] = {}
        self._labels: Counter[_LabelSet] = Counter()
        #: Since when each active pod is ready, sorted.
        self._ready_since: list[float] = []
        #: Pods that are being deleted and have not ended.
        self.n_terminating = 0
        for pod in pods:
            self.put(pod)

    def __iter__(self) -> Iterator[PodView]:
        return iter(list(self._pods.values()))

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> PodView | None:
        return self._pods.get(uid)

    def put(self, pod: PodView) -> None:
        """Add a pod, or replace it."""
        self.remove(pod.uid)
        self._pods[pod.uid] = pod
        self._count(pod, 1)
        if pod.is_active:
            self._active[pod.uid] = pod

    def remove(self, uid: str) -> None:
        pod = self._pods.pop(uid, None)
        if pod is not None:
            self._count(pod, -1)
            self._active.pop(uid, None)

    def _count(self, pod: PodView, sign: int) -> None:
        if not pod.is_active:
            self.n_terminating += sign * (pod.is_deleted and not pod.has_ended)
            return
        labels = frozenset(pod.metadata.labels.items())
        self._labels[labels] += sign
        if not self._labels[labels]:
            del self._labels[labels]
        if (since := pod.ready_since) is not None:
            if sign > 0:
                insort(self._ready_since, since)
            else:
                del self._ready_since[bisect_right(self._ready_since, since) - 1]

    # --- counts -------------------------------------------------------------------------------------------

    @property
    def active(self) -> list[PodView]:
        return list(self._active.values())

    @property
    def n_active(self) -> int:
        return len(self._active)

    @property
    def n_ready(self) -> int:
        return len(self._ready_since)

    def n_labelled(self, labels: Mapping[str, str]) -> int:
        """How many active pods have all of *labels*."""
        wanted = frozenset(labels.items())
        return sum(count for known, count in self._labels.items() if wanted <= known)

    def n_available(self, now: float, min_ready_seconds: float) -> int:
        """How many have been ready for long enough."""
        if not min_ready_seconds:
            return self.n_ready
        return bisect_right(self._ready_since, now - min_ready_seconds)

    def next_available(self, now: float, min_ready_seconds: float) -> float | None:
        """Seconds until another one has been ready for long enough; None if none will be."""
        n_available = self.n_available(now, min_ready_seconds)
        if n_available == self.n_ready or self._ready_since[n_available] == inf:
            return None
        return self._ready_since[n_available] + min_ready_seconds - now
