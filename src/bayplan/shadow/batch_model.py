"""BatchModel: the ranking that kube-scheduler keeps from one pod to the next of the same kind.

With the feature gate OpportunisticBatching, a pod like the one before takes the next node of the ranking that was
made for that one; only the node that was taken is scored again. Other nodes keep their scores for half a second.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from bayplan.model import Pod

#: upstream maxBatchAge; more, because a bind comes some time after its decision.
MAX_AGE_SECONDS: Final = 1.5


class BatchModel:
    """The ranking of one profile's last full decision."""

    def __init__(self) -> None:
        self._key: Hashable | None = None
        self._totals: dict[str, int] = {}
        self._made = 0.0
        self._last_node = ""

    def would_choose(self, pod: Pod, node_name: str, fresh: Mapping[str, int], now: float, n_outside: int) -> bool:
        """Whether the ranking leads to *node_name*, if its sample left out *n_outside* nodes at most.

        *fresh*: the totals as they are now.
        """
        if self._key is None or self._key != batch_key(pod) or now - self._made > MAX_AGE_SECONDS:
            return False
        totals = dict(self._totals)
        totals.pop(self._last_node, None)
        if self._last_node in fresh:
            totals[self._last_node] = fresh[self._last_node]
        own = totals.get(node_name)
        if own is None:
            return False
        return sum(total > own for total in totals.values()) <= n_outside

    def note(self, pod: Pod, node_name: str, fresh: Mapping[str, int], now: float, *, by_ranking: bool) -> None:
        """*pod* was placed; *by_ranking*: by the ranking, which is kept."""
        key = batch_key(pod)
        if by_ranking:
            self._totals.pop(self._last_node, None)
            if self._last_node in fresh:
                self._totals[self._last_node] = fresh[self._last_node]
        elif key is None or key != self._key or now - self._made > MAX_AGE_SECONDS:
            self._key, self._totals, self._made = key, dict(fresh), now
        self._last_node = node_name


def batch_key(pod: Pod) -> Hashable | None:
    """Equal for pods that are batched together; None for a pod that is not batched."""
    spec = pod.spec
    if spec.affinity is not None and (spec.affinity.pod_affinity or spec.affinity.pod_anti_affinity):
        return None
    if spec.topology_spread_constraints or spec.resource_claims or pod.status.nominated_node_name:
        return None
    return pod.equivalence_key
