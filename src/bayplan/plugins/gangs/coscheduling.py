"""Coscheduling: the pods of a group are placed together or not at all.

A pod names its group in the label `scheduling.x-k8s.io/pod-group`; a PodGroup of that name, in the pod's
namespace, says how many members the group needs (`minMember`). A member that finds a node waits at Permit until
that many members have one. If a member finds no node or its wait times out, all waiting members give up their
nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from bayplan.config.args import CoschedulingArgs
from bayplan.framework import SKIP_ALIKE, Action, ClusterEvent, Hint, Plugin, PostFilterResult, Resource, Status
from bayplan.model import CPU, MEMORY, Pod
from bayplan.plugins.gangs._activations import ActivationReason, GroupActivations
from bayplan.plugins.gangs._cluster_capacity import resource_gap, wanted_by
from bayplan.plugins.gangs._pod_groups import ExpiringSet, PodGroupTracker, group_key

if TYPE_CHECKING:
    from bayplan.framework import CycleState, Diagnosis, Handle, NodeTable, QueuedPod, WaitingPod
    from bayplan.model import PodGroup

#: upstream DefaultWaitTime: for a group without a timeout under arguments that say 0.
DEFAULT_WAIT_SECONDS: Final = 60.0
#: upstream: the default expiration of the cache of groups for which the cluster has enough resources.
DEFAULT_CAPACITY_SECONDS: Final = 3.0


def _after_group_change(pod: Pod, old: PodGroup | None, new: PodGroup) -> Hint:
    """Status updates, which the controller writes often, and other groups are skipped."""
    is_same = old is not None and old.whole.get("spec") == new.whole.get("spec")
    return Hint.SKIP if is_same or group_key(pod) != new.key else Hint.QUEUE


class Coscheduling(Plugin[CoschedulingArgs]):
    name = "Coscheduling"
    # Until v0.23 the plugin counted the bound pods of a group there; the PodGroup controller does now.
    former_points = frozenset({"postBind"})
    events_to_register = (
        ClusterEvent(Resource.POD, Action.ADD),
        ClusterEvent("podgroups.v1alpha1.scheduling.x-k8s.io", Action.ADD | Action.UPDATE, _after_group_change),
    )

    def __init__(self, args: CoschedulingArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._groups = PodGroupTracker(handle.informers, handle.clock)
        self._activations = GroupActivations()
        #: Groups that were rejected recently.
        self._backing_off = ExpiringSet(handle.clock)
        #: Waiting pods (uid) that were rejected and have not been unreserved yet.
        self._rejected: set[str] = set()
        #: Groups for which the cluster as a whole recently had enough resources.
        self._has_capacity = ExpiringSet(handle.clock)
        # Registered after the tracker, so that the tracker has already removed the member.
        handle.informers.on_change(Pod, self._member_changed)

    def sign(self, pod: Pod) -> tuple[()]:
        """The plugin has neither Filter nor Score, so it does not distinguish pods."""
        return ()

    # --- QueueSort --------------------------------------------------------------------------------

    def sort_key(self, pod_info: QueuedPod) -> tuple[int, float, str]:
        """Priority, then the age of the group (or pod), then the name: members are tried one after another."""
        pod, entered = pod_info.pod, pod_info.initial_attempt_timestamp
        since = self._groups.since(pod, pod_info.timestamp if entered is None else entered)
        return -pod.priority, since, pod.key

    # --- PreFilter --------------------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        key = group_key(pod)
        if not key:
            return SKIP_ALIKE
        reason = self._activations.take_reason(key, pod)
        state.write(self.name, reason)
        group = self._groups.of(pod)
        if group is None:
            return None
        is_late = reason is ActivationReason.SECOND_ACTIVATION and not self._groups.placed(key)
        refusal = self._refusal(key, group, pod, nodes, is_late=is_late)
        return Status.unresolvable(refusal) if refusal else None

    def _refusal(self, key: str, group: PodGroup, pod: Pod, nodes: NodeTable, *, is_late: bool) -> str:
        if is_late or key in self._backing_off:
            return f"podGroup {key} failed recently"
        members, min_member = self._groups.members(key), group.spec.min_member
        if len(members) < min_member:
            return (
                f"pre-filter pod {pod.name} cannot find enough sibling pods, "
                f"current pods number: {len(members)}, minMember of group: {min_member}"
            )
        if members.n_gated and len(members) - members.n_gated < min_member:
            return f"pre-filter pod {pod.name} cannot proceed due to gated pods in the same PodGroup"
        if not group.spec.min_resources or key in self._has_capacity:
            return ""
        gap = resource_gap(nodes, wanted_by(group), self._groups.placed(key).values())
        if gap:
            return f"resource gap: {gap}"
        self._has_capacity.add(key, self.args.permit_waiting_time_seconds or DEFAULT_CAPACITY_SECONDS)
        return ""

    # --- PostFilter: a member found no node -------------------------------------------------------

    def post_filter(self, state: CycleState, pod: Pod, verdicts: Diagnosis) -> PostFilterResult:
        group, key = self._groups.of(pod), group_key(pod)
        if group is None:
            return _unschedulable("can not find pod group")
        # The PreFilter of another plugin may have rejected the pod before this plugin's was called.
        self._activations.take_reason(key, pod)
        min_member = group.spec.min_member
        n_missing = min_member - len(self._groups.placed(key))
        if n_missing <= 0 or n_missing / min_member <= self.args.pod_group_reject_percentage / 100:
            # The group has enough members without this one, or will have when another one fits.
            return _unschedulable()
        self._give_up(key, "optimistic rejection in PostFilter")
        if self.args.pod_group_backoff_seconds and len(self._groups.members(key)) >= min_member:
            self._backing_off.add(key, self.args.pod_group_backoff_seconds)
        return _unschedulable(
            f"PodGroup {key} gets rejected due to Pod {pod.name} is unschedulable even after PostFilter"
        )

    # --- Reserve and Permit: a member found a node ------------------------------------------------

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Nothing to reserve; the plugin is here for `unreserve`."""

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        key = group_key(pod)
        if not key:
            return None
        group = self._groups.of(pod)
        if group is None:
            return Status.unschedulable("PodGroup not found")
        self._displace_leaving(key)
        n_placed = self._groups.place(pod)
        if n_placed >= group.spec.min_member:
            self._groups.clear_failure(key)
            self._activations.forget(key)
            for waiting in self._waiting(key):
                waiting.allow(self.name)
            return None
        if n_placed == 1:
            self._activate_others(key, pod, state.get(self.name, ActivationReason) or ActivationReason.EVENT)
        return Status.wait(timeout_seconds=self._wait_seconds(group))

    def _activate_others(self, key: str, pod: Pod, reason: ActivationReason) -> None:
        others = [each for each in self._groups.members(key).pods.values() if each.uid != pod.uid]
        self._activations.record(key, others, because=reason)
        self.handle.activate(others)

    def waits_with(self, pod: Pod, other: Pod) -> bool:
        key = group_key(pod)
        return bool(key) and group_key(other) == key

    def waits_for(self, pod: Pod) -> list[Pod]:
        """As many other members as the group lacks, those with the smallest requests."""
        group, key = self._groups.of(pod), group_key(pod)
        if group is None:
            return []
        placed = self._groups.placed(key)
        n_missing = group.spec.min_member - len(placed.keys() | {pod.name})
        others = (
            each
            for name, each in self._groups.members(key).pods.items()
            if name not in placed and name != pod.name
        )
        return sorted(others, key=_size)[: max(0, n_missing)]

    def _wait_seconds(self, group: PodGroup) -> float:
        of_group = group.spec.schedule_timeout_seconds
        if of_group is None:
            return self.args.permit_waiting_time_seconds or DEFAULT_WAIT_SECONDS
        return of_group or self.args.permit_waiting_time_seconds

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """The member gives up its node; so do all waiting members, unless it was rejected together with them."""
        key = group_key(pod)
        if not key:
            return
        self._groups.displace(pod)
        if pod.uid in self._rejected:
            self._rejected.discard(pod.uid)
        else:
            # No member failed to find a node, so the members still to be tried may activate the group again.
            self._activations.forget(key)
            self._give_up(key, "rejection in Unreserve")

    # --- deleted members --------------------------------------------------------------------------

    def _member_changed(self, old: Pod | None, new: Pod | None) -> None:
        """A deleted member without a node may be why the others gave up theirs: they are activated again."""
        if new is not None or old is None or old.node_name or not (key := group_key(old)):
            return
        group, left = self._groups.of(old), list(self._groups.members(key).pods.values())
        is_enough = group is not None and len(left) >= group.spec.min_member
        if is_enough and self._groups.has_failed(key) and not self._groups.placed(key):
            self._activations.forget(key)
            self.handle.activate(left)

    # --- waiting members --------------------------------------------------------------------------

    def _waiting(self, key: str) -> Iterator[WaitingPod]:
        return (waiting for waiting in self.handle.waiting_pods if group_key(waiting.pod) == key)

    def _displace_leaving(self, key: str) -> None:
        """Stop counting waiting members whose rejection or timeout is under way: they will not be bound."""
        for waiting in self._waiting(key):
            if waiting.is_leaving:
                self._groups.displace(waiting.pod)

    def _give_up(self, key: str, message: str) -> None:
        """Reject all waiting members. They are unreserved later, but no longer count from now on: the next member
        that finds a node is the first again, and activates the others."""
        for waiting in self._waiting(key):
            if waiting.reject(self.name, message):
                self._rejected.add(waiting.pod.uid)
                self._groups.displace(waiting.pod)
        self._has_capacity.discard(key)
        self._groups.note_failure(key)


def _size(pod: Pod) -> tuple[int, int]:
    return pod.requests.get(CPU, 0), pod.requests.get(MEMORY, 0)


def _unschedulable(*reasons: str) -> PostFilterResult:
    return PostFilterResult(None, Status.unschedulable(*reasons))
