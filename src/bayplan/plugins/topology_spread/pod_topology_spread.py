"""PodTopologySpread: spreads pods evenly over zones, hosts or other topology domains.

Constraints are those of the pod; a pod without constraints gets the default ones, for the pods of its services and
its controller. `DoNotSchedule` filters (`_spread_filter`), `ScheduleAnyway` scores (`_spread_score`).
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from bayplan.config.args import PodTopologySpreadArgs
from bayplan.framework import (
    SKIP_ALIKE,
    Action,
    ClassScores,
    ClusterEvent,
    CycleState,
    Handle,
    Hint,
    IntArray,
    NodeInfo,
    NodeTable,
    Plugin,
    Resource,
    Status,
    Verdict,
)
from bayplan.model import SelectorError
from bayplan.plugins._missing_state import NOT_FOUND, fail_all
from bayplan.plugins.topology_spread._spread_constraints import HARD, SOFT, Constraint, Constraints
from bayplan.plugins.topology_spread._spread_filter import SpreadState
from bayplan.plugins.topology_spread._spread_score import SpreadScores, spread_scores

if TYPE_CHECKING:
    from bayplan.model import Node, Pod

#: Keys of what pods of one kind share.
_HARD_KEY: Final = f"PodTopologySpread {HARD}"
_SOFT_KEY: Final = f"PodTopologySpread {SOFT}"
_SCORES: Final = "PreScorePodTopologySpread"
_UNREAD: Final = f'reading "PreFilterPodTopologySpread" from cycleState: {NOT_FOUND}'
_UNREAD_SCORES: Final = f'error reading "{_SCORES}" from cycleState: {NOT_FOUND}'


class PodTopologySpread(Plugin[PodTopologySpreadArgs]):
    name = "PodTopologySpread"

    def __init__(self, args: PodTopologySpreadArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._constraints = Constraints(args, handle.informers)
        self._has_hard_defaults = self._constraints.has_defaults(HARD)

    def sign(self, pod: Pod) -> Hashable | None:
        try:
            constraints = (self._constraints.of(pod, HARD), self._constraints.of(pod, SOFT))
        except SelectorError:
            return None
        if constraints == ((), ()):
            return constraints
        own = bool(pod.spec.topology_spread_constraints)
        labels = frozenset(pod.labels.items())
        return constraints, own, pod.namespace, labels, pod.required_node_affinity, pod.spec.tolerations

    # --- Filter -----------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        if not (pod.spec.topology_spread_constraints or self._has_hard_defaults):
            return SKIP_ALIKE
        try:
            constraints = state.alike(_HARD_KEY, lambda: self._constraints.of(pod, HARD))
        except SelectorError as error:
            return Status.failed(
                f"get constraints from pod: obtaining pod's hard topology spread constraints: {error}"
            )
        if not constraints:
            return SKIP_ALIKE
        state.write(self.name, SpreadState.count(nodes, pod, constraints))
        return None

    def add_pod(self, state: CycleState, pod: Pod, pod_to_add: Pod, node: NodeInfo) -> None:
        self._move(state, pod, pod_to_add, node, +1)

    def remove_pod(self, state: CycleState, pod: Pod, pod_to_remove: Pod, node: NodeInfo) -> None:
        self._move(state, pod, pod_to_remove, node, -1)

    def _move(self, state: CycleState, pod: Pod, moved: Pod, node: NodeInfo, change: int) -> None:
        row = self.handle.snapshot.nodes.position(node.name)
        if moved.namespace == pod.namespace and row is not None:
            state.read(self.name, SpreadState).move(moved, row, change)

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        counted = state.get(self.name, SpreadState)
        return fail_all(nodes, _UNREAD) if counted is None else counted.verdict(nodes)

    # --- Score ------------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        try:
            constraints = state.alike(_SOFT_KEY, lambda: self._constraints.of(pod, SOFT))
        except SelectorError as error:
            return Status.failed(
                f"calculating preScoreState: obtaining pod's soft topology spread constraints: {error}"
            )
        if not constraints:
            return SKIP_ALIKE
        # The system default constraints score nodes by host name even if they have no zone.
        all_keys = bool(pod.spec.topology_spread_constraints) or not self._constraints.is_system_default
        whole = self.handle.snapshot.nodes
        state.write(_SCORES, spread_scores(whole, nodes, pod, constraints, all_keys=all_keys))
        return None

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray | ClassScores | Status:
        scores = state.get(_SCORES, SpreadScores)
        if scores is None:
            return Status.failed(_UNREAD_SCORES)
        return scores.of(nodes)

    def normalize_score(self, state: CycleState, pod: Pod, scores: IntArray, nodes: NodeTable) -> IntArray:
        return state.read(_SCORES, SpreadScores).normalized(scores, nodes)

    # --- queueing hints ---------------------------------------------------------------------------

    def events_to_register(self) -> Sequence[ClusterEvent]:
        pods = Action.ADD | Action.UPDATE_POD_LABEL | Action.UPDATE_POD_TOLERATION | Action.DELETE
        nodes = Action.ADD | Action.DELETE | Action.UPDATE_NODE_LABEL | Action.UPDATE_NODE_TAINT
        return (
            ClusterEvent(Resource.POD, pods, self._after_pod_change),
            ClusterEvent(Resource.NODE, nodes, self._after_node_change),
        )

    def _after_pod_change(self, pod: Pod, old: Pod | None, new: Pod | None) -> Hint:
        if any(changed is not None and not _is_involved(changed, pod) for changed in (old, new)):
            return Hint.SKIP
        constraints = self._constraints.of(pod, HARD)
        if old is None or new is None:
            labels = (old or new or pod).labels
            return _queue_if(any(each.selector.matches(labels) for each in constraints))
        tolerates_more = pod.uid == new.uid and old.spec.tolerations != new.spec.tolerations
        if tolerates_more and any(each.honors_taints for each in constraints):
            return Hint.QUEUE
        return _queue_if(
            any(each.selector.matches(old.labels) != each.selector.matches(new.labels) for each in constraints)
        )

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node | None) -> Hint:
        constraints = self._constraints.of(pod, HARD)
        before = old is not None and _has_keys(old.labels, constraints)
        after = new is not None and _has_keys(new.labels, constraints)
        if old is None or new is None or before != after:
            return _queue_if(before or after)
        changed = old.taints != new.taints or any(
            old.labels.get(each.topology_key) != new.labels.get(each.topology_key) for each in constraints
        )
        return _queue_if(after and changed)


def _is_involved(changed: Pod, pod: Pod) -> bool:
    """Whether *changed* is the pod itself, or a pod of its namespace that has a node or is nominated for one."""
    if changed.uid == pod.uid:
        return True
    placed = changed.spec.node_name or changed.status.nominated_node_name
    return bool(placed) and changed.namespace == pod.namespace


def _has_keys(labels: Mapping[str, str], constraints: Sequence[Constraint]) -> bool:
    return all(each.topology_key in labels for each in constraints)


def _queue_if(condition: bool) -> Hint:
    return Hint.QUEUE if condition else Hint.SKIP
