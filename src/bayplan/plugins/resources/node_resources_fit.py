"""NodeResourcesFit: a pod fits where enough of every requested resource is free; scores by resource usage.

A node that could not hold the pod even if it were empty is UNSCHEDULABLE_AND_UNRESOLVABLE: preemption cannot help.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from operator import lt
from typing import TYPE_CHECKING, Final, NamedTuple

from bayplan.config.args import NodeResourcesFitArgs
from bayplan.framework import (
    Action,
    ClusterEvent,
    Code,
    CycleState,
    Hint,
    NodeTable,
    Plugin,
    Reads,
    Resource,
    ScoreArray,
    Verdict,
)
from bayplan.model import (
    CPU,
    DEFAULT_MEMORY_REQUEST,
    DEFAULT_MILLI_CPU_REQUEST,
    EPHEMERAL_STORAGE,
    MEMORY,
    PODS,
    DeviceClass,
    Node,
    ObjectError,
    Pod,
    RequestOptions,
    is_extended_resource_name,
    is_scalar_resource_name,
    pod_requests,
)
from bayplan.plugins._missing_state import NOT_FOUND, fail_all
from bayplan.plugins.resources._device_classes import DeviceClasses, extended_resource_name, resource_names
from bayplan.plugins.resources._few_nodes import FEW, allocation_scores, few_usages
from bayplan.plugins.resources._float_amounts import float_amounts
from bayplan.plugins.resources._resource_scores import node_usage, strategy_of
from bayplan.plugins.resources._scored_resources import ScoredResources

if TYPE_CHECKING:
    from bayplan.framework import Handle

TOO_MANY_PODS: Final = "Too many pods"
_UNREAD: Final = f'error reading "PreFilterNodeResourcesFit" from cycleState: {NOT_FOUND}'
_NATIVE: Final = (CPU, MEMORY, EPHEMERAL_STORAGE)
#: How this plugin reads the requests of the pod that it scores. The feature gates are off here, unlike elsewhere:
#: upstream does not pass them to the scorer, so pod-level requests do not count.
_SCORING: Final = RequestOptions(use_status=False, pod_level=False, pod_level_status=False)
_MISSING: Final = {CPU: f"{DEFAULT_MILLI_CPU_REQUEST}m", MEMORY: str(DEFAULT_MEMORY_REQUEST)}


class _Need(NamedTuple):
    """What the pod needs of one resource."""

    resource: str
    amount: int
    #: A device class provides the resource: nodes that do not offer it are checked by DynamicResources.
    by_devices: bool = False

    def fits(self, offered: int) -> bool:
        """Whether an empty node that offers that much has enough."""
        return self.amount <= offered or (self.by_devices and offered == 0)


class NodeResourcesFit(Plugin[NodeResourcesFitArgs]):
    name = "NodeResourcesFit"
    reads = Reads.RESOURCES

    def __init__(self, args: NodeResourcesFitArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._device_classes = DeviceClasses(handle.informers)
        self._ignores_some = bool(args.ignored_resources or args.ignored_resource_groups)
        self._strategy = strategy_of(args.scoring_strategy)
        self._scored = ScoredResources(args.scoring_strategy.resources)

    # --- Filter -----------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> None:
        needs = self._needs(pod)
        if self._ignores_some:
            needs = [need for need in needs if not self._ignores(need.resource)]
        state.write(self.name, tuple(needs))

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        needs = state.get(self.name, tuple)
        if needs is None:
            return fail_all(nodes, _UNREAD)
        verdict = nodes.accept_all()
        if len(nodes) <= FEW and _all_fit(needs, nodes):
            return verdict
        if nodes.is_whole and self._leave_room(needs, nodes):
            return verdict
        full = nodes.pod_counts() >= nodes.allocatable(PODS)
        if full.any():
            verdict = verdict.reject(full, TOO_MANY_PODS)
        for need in needs:
            verdict = _reject_short(verdict, need, nodes)
        return verdict

    def _leave_room(self, needs: Sequence[_Need], nodes: NodeTable) -> bool:
        """Whether all nodes have enough of everything, by bounds alone; False means that it is not certain."""
        amounts = float_amounts(nodes, self._scored.native[0])
        if amounts is None or not amounts.leave_room_for_a_pod:
            return False
        return all(amounts.leave_room(need.resource, need.amount) for need in needs)

    def _needs(self, pod: Pod) -> list[_Need]:
        """How much the pod needs of each resource, native resources first."""
        requests = pod.spec_requests
        needs = []
        for name in _NATIVE:
            amount = requests.get(name, 0)
            if amount:
                needs.append(_Need(name, amount))
        if len(requests) > len(needs):
            others = {name: amount for name, amount in requests.items() if amount and name not in _NATIVE}
            backed = self._device_classes.backed(others)
            needs += [_Need(name, amount, name in backed) for name, amount in others.items()]
        return needs

    def _ignores(self, resource: str) -> bool:
        args = self.args
        group = resource.partition("/")[0]
        return is_extended_resource_name(resource) and (
            resource in args.ignored_resources or group in args.ignored_resource_groups
        )

    # --- Score ------------------------------------------------------------------------------------

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> None:
        """Nothing to prepare; the plugin is at this extension point because it is in kube-scheduler."""

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> ScoreArray:
        strategy, requests = self.args.scoring_strategy, _scoring_requests(pod)
        if strategy.requested_to_capacity_ratio is None:
            least = strategy.type != "MostAllocated"
            few = few_usages(nodes, strategy.resources, requests, nonzero=True)
            if few is not None:
                return allocation_scores(few, len(nodes), least=least)
            names, weights = self._scored.for_pod(requests)
            amounts = float_amounts(nodes, names)
            if (
                amounts is not None
                and (scores := amounts.allocation_scores(requests, weights, least=least)) is not None
            ):
                return scores
        usages = node_usage(nodes, strategy.resources, requests, nonzero=True)
        return self._strategy(usages, len(nodes))

    def sign(self, pod: Pod) -> Hashable:
        """Includes the device classes, so that cached results become invalid when they change."""
        try:
            return pod.request_summary, self._device_classes.backed(pod.spec_requests)
        except ObjectError:
            return None

    # --- events -----------------------------------------------------------------------------------

    def events_to_register(self) -> tuple[ClusterEvent, ...]:
        return (
            ClusterEvent(Resource.POD, Action.DELETE | Action.UPDATE_POD_SCALE_DOWN, self._after_pod_event),
            ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_ALLOCATABLE, self._after_node_change),
            ClusterEvent(Resource.DEVICE_CLASS, Action.ADD | Action.UPDATE, self._after_device_class_change),
        )

    def _after_pod_event(self, pod: Pod, old: Pod, new: Pod | None) -> Hint:
        if new is None:
            was_placed = old.spec.node_name or old.status.nominated_node_name
            return Hint.QUEUE if was_placed else Hint.SKIP
        if new.uid == pod.uid:
            return Hint.QUEUE
        return Hint.QUEUE if new.spec.node_name and _frees(old, new, pod.all_requests) else Hint.SKIP

    def _after_node_change(self, pod: Pod, old: Node | None, new: Node) -> Hint:
        """A node helps if the pod would fit it empty, and it offers more than before of what the pod needs."""
        needs, offered = self._needs(pod), new.allocatable
        if offered.get(PODS, 0) < 1 or not all(need.fits(offered.get(need.resource, 0)) for need in needs):
            return Hint.SKIP
        return Hint.QUEUE if old is None or _offers_more(needs, old, new) else Hint.SKIP

    def _after_device_class_change(self, pod: Pod, old: DeviceClass | None, new: DeviceClass) -> Hint:
        if old is None:
            wanted = resource_names(new)
        elif extended_resource_name(old) != extended_resource_name(new):
            wanted = frozenset((extended_resource_name(new),))
        else:
            return Hint.SKIP
        return Hint.SKIP if wanted.isdisjoint(pod.all_requests) else Hint.QUEUE


def _all_fit(needs: Sequence[_Need], nodes: NodeTable) -> bool:
    """Whether a few nodes have enough of everything, in Python numbers; False means that it is not certain."""
    if not all(map(lt, nodes.pod_counts().tolist(), nodes.allocatable(PODS).tolist())):
        return False
    for resource, amount, _ in needs:
        for offered, taken in zip(
            nodes.allocatable(resource).tolist(), nodes.requested(resource).tolist(), strict=True
        ):
            # Negative amounts are left to the columns, which overflow as in Go.
            if taken < 0 or offered < 0 or amount > offered - taken:
                return False
    return True


def _reject_short(verdict: Verdict, need: _Need, nodes: NodeTable) -> Verdict:
    """*verdict*, with the nodes rejected as well that have too little left of one resource."""
    allocatable = nodes.allocatable(need.resource)
    short = need.amount > allocatable - nodes.requested(need.resource)
    if need.by_devices:
        short &= allocatable > 0
    if not short.any():
        return verdict
    reason = f"Insufficient {need.resource}"
    too_small = short & (need.amount > allocatable)
    return verdict.reject(too_small, reason, Code.UNSCHEDULABLE_AND_UNRESOLVABLE).reject(
        short & ~too_small, reason
    )


def _scoring_requests(pod: Pod) -> Mapping[str, int]:
    status = pod.status
    if pod.spec.resources is None and not (status.container_statuses or status.init_container_statuses):
        return pod.scoring_requests  # the same without the gates, and computed once
    return pod_requests(pod.spec, status, _SCORING, missing=_MISSING)


def _frees(old: Pod, new: Pod, wanted: Mapping[str, int]) -> bool:
    """Whether the update lowered a request for a resource that another pod wants."""
    before, after = old.requests, new.requests
    return any(
        amount and (name in _NATIVE or is_scalar_resource_name(name)) and before.get(name, 0) > after.get(name, 0)
        for name, amount in wanted.items()
    )


def _offers_more(needs: list[_Need], old: Node, new: Node) -> bool:
    before, after = old.allocatable, new.allocatable
    if after.get(PODS, 0) > before.get(PODS, 0):
        return True
    return any(
        after.get(need.resource, 0) > before.get(need.resource, 0)
        or (need.by_devices and after.get(need.resource, 0) == 0)
        for need in needs
    )
