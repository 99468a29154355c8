"""TaintToleration: taints keep pods away that do not tolerate them; PreferNoSchedule only costs score.

Everything is worked out once per distinct set of taints and then gathered for the nodes.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import numpy as np

from bayplan.framework import (
    Action,
    ClusterEvent,
    Code,
    CycleState,
    Hint,
    IntArray,
    NodeTable,
    Plugin,
    Reads,
    Resource,
    Status,
    Verdict,
    default_normalize,
    scores_alone,
)
from bayplan.model import PREFER_NO_SCHEDULE, Node, Pod, Taint, Toleration, find_untolerated, tolerates_any
from bayplan.plugins._missing_state import NOT_FOUND

REASON: Final = "node(s) had untolerated taint(s)"
_TOLERATIONS: Final = "PreScoreTaintToleration"
_UNREAD: Final = f'failed to read "{_TOLERATIONS}" from cycleState: {NOT_FOUND}'


class TaintToleration(Plugin):
    name = "TaintToleration"
    reads = Reads.NODE

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> None:
        """Filter is always asked: only pods that are resized in place are exempt, which is alpha and off."""

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        codes, sets = nodes.taint_sets()
        untolerated = np.array([_keeps_away(pod, taints) for taints in sets], dtype=np.bool_)
        if not untolerated.any():
            return nodes.accept_all()
        return nodes.reject(untolerated.take(codes), REASON, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> None:
        state.write(_TOLERATIONS, pod.spec.tolerations)

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray | Status:
        """How many taints the pod would rather have avoided."""
        tolerations = state.get(_TOLERATIONS, tuple)
        if tolerations is None:
            return Status.failed(_UNREAD)
        codes, sets = nodes.taint_sets()
        counts = np.array([_count_disliked(tolerations, taints) for taints in sets], dtype=np.int64)
        return counts.take(codes)

    @scores_alone
    def normalize_score(self, state: CycleState, pod: Pod, scores: IntArray, nodes: NodeTable) -> IntArray:
        return default_normalize(scores, reverse=True)

    def sign(self, pod: Pod) -> Hashable:
        return pod.spec.tolerations

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_TAINT, self._after_node_change),
            ClusterEvent(Resource.POD, Action.UPDATE_POD_TOLERATION, self._after_toleration_change),
        )

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> Hint:
        was_closed = old is None or _keeps_away(pod, old.taints)
        return Hint.QUEUE if was_closed and not _keeps_away(pod, new.taints) else Hint.SKIP

    def _after_toleration_change(self, pod: Pod, old: Pod, new: Pod) -> Hint:
        return Hint.QUEUE if new.uid == pod.uid else Hint.SKIP


def _keeps_away(pod: Pod, taints: tuple[Taint, ...]) -> bool:
    return bool(taints) and find_untolerated(taints, pod.spec.tolerations) is not None


def _count_disliked(tolerations: tuple[Toleration, ...], taints: tuple[Taint, ...]) -> int:
    return sum(taint.effect == PREFER_NO_SCHEDULE and not tolerates_any(tolerations, taint) for taint in taints)
