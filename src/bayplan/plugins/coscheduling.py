"""Coscheduling: the pods of a group get places together, or none of them does.

A pod names its group in the label `scheduling.x-k8s.io/pod-group`; a PodGroup of that name, in the pod's
namespace, says how many members make the group worth running (`minMember`). A member that finds a node waits
there, at Permit, until so many have one. If one of them finds none or waits in vain, all give their places back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

from bayplan.config.args import CoschedulingArgs
from bayplan.framework import Action, ClusterEvent, Hint, Plugin, PostFilterResult, Resource, Status
from bayplan.model import CPU, MEMORY, Pod
from bayplan.plugins._cluster_room import resource_gap, wanted_by
from bayplan.plugins._group_calls import Calls, Reason
from bayplan.plugins._pod_groups import Expiring, PodGroups, group_key

if TYPE_CHECKING:
    from bayplan.framework import CycleState, Diagnosis, Handle, NodeTable, WaitingPod
    from bayplan.model import PodGroup

#: upstream DefaultWaitTime: for a group without a timeout under arguments that say 0.
DEFAULT_WAIT_SECONDS: Final = 60.0
#: upstream: the standard expiration of the cache of groups that the cluster has room for.
DEFAULT_ROOM_SECONDS: Final = 3.0


class _Queued(Protocol):
    """What the queue knows of a pod that waits."""

    @property
    def pod(self) -> Pod: ...

    @property
    def timestamp(self) -> float: ...

    @property
    def initial_attempt_timestamp(self) -> float | None: ...


def _after_group_change(pod: Pod, old: PodGroup | None, new: PodGroup) -> Hint:
    """A controller keeps writing the status of groups, and the group of others is none of the pod's business."""
    is_same = old is not None and old.raw.get("spec") == new.raw.get("spec")
    return Hint.SKIP if is_same or group_key(pod) != new.key else Hint.QUEUE


class Coscheduling(Plugin):
    name = "Coscheduling"
    Args = CoschedulingArgs
    # Until v0.23 it counted the group's bound pods there; the PodGroup controller does now.
    former_points = frozenset({"postBind"})
    events_to_register = (
        ClusterEvent(Resource.POD, Action.ADD),
        ClusterEvent("podgroups.v1alpha1.scheduling.x-k8s.io", Action.ADD | Action.UPDATE, _after_group_change),
    )

    def __init__(self, args: CoschedulingArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        self._groups = PodGroups(handle.informers, handle.clock)
        self._calls = Calls()
        #: Groups that were rejected not long ago.
        self._backing_off = Expiring(handle.clock)
        #: Pods (uid) that were told to give their places back and have not done it yet.
        self._told: set[str] = set()
        #: Groups that the whole cluster was found to have room for.
        self._has_room = Expiring(handle.clock)
        # After the groups, which know then that the member is gone.
        handle.informers.on_change(Pod, self._member_changed)

    def sign(self, pod: Pod) -> tuple[()]:
        """Nodes are all the same to it: it has neither Filter nor Score."""
        return ()

    # --- order ------------------------------------------------------------------------------------

    def sort_key(self, pod_info: _Queued) -> tuple[int, float, str]:
        """Priority, then the age of the group (or pod), then the name: members follow each other."""
        pod, entered = pod_info.pod, pod_info.initial_attempt_timestamp
        since = self._groups.since(pod, pod_info.timestamp if entered is None else entered)
        return -pod.priority, since, pod.key

    # --- may the group be tried? ------------------------------------------------------------------

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Status | None:
        key = group_key(pod)
        if not key:
            return Status.skip_alike()
        reason = self._calls.answer(key, pod)
        state.write(self.name, reason)
        group = self._groups.of(pod)
        if group is None:
            return None
        is_late = reason is Reason.SECOND_CALL and not self._groups.placed(key)
        refusal = self._refusal(key, group, pod, nodes, is_late=is_late)
        return Status.unresolvable(refusal) if refusal else None

    def _refusal(self, key: str, group: PodGroup, pod: Pod, nodes: NodeTable, *, is_late: bool) -> str:
        if is_late or key in self._backing_off:
            return f"podGroup {key} failed recently"
        roll, min_member = self._groups.roll(key), group.spec.min_member
        if len(roll) < min_member:
            return (
                f"pre-filter pod {pod.name} cannot find enough sibling pods, "
                f"current pods number: {len(roll)}, minMember of group: {min_member}"
            )
        if roll.n_gated and len(roll) - roll.n_gated < min_member:
            return f"pre-filter pod {pod.name} cannot proceed due to gated pods in the same PodGroup"
        if not group.spec.min_resources or key in self._has_room:
            return ""
        gap = resource_gap(nodes, wanted_by(group), self._groups.placed(key).values())
        if gap:
            return f"resource gap: {gap}"
        self._has_room.add(key, self.args.permit_waiting_time_seconds or DEFAULT_ROOM_SECONDS)
        return ""

    # --- a member found no node -------------------------------------------------------------------

    def post_filter(self, state: CycleState, pod: Pod, verdicts: Diagnosis) -> PostFilterResult:
        group, key = self._groups.of(pod), group_key(pod)
        if group is None:
            return _unschedulable("can not find pod group")
        # Where another plugin's PreFilter refused the pod, ours was not asked.
        self._calls.answer(key, pod)
        min_member = group.spec.min_member
        n_missing = min_member - len(self._groups.placed(key))
        if n_missing <= 0 or n_missing / min_member <= self.args.pod_group_reject_percentage / 100:
            # The group has enough members without this one, or will when another one fits.
            return _unschedulable()
        self._give_up(key, "optimistic rejection in PostFilter")
        if self.args.pod_group_backoff_seconds and len(self._groups.roll(key)) >= min_member:
            self._backing_off.add(key, self.args.pod_group_backoff_seconds)
        return _unschedulable(
            f"PodGroup {key} gets rejected due to Pod {pod.name} is unschedulable even after PostFilter"
        )

    # --- a member found one -----------------------------------------------------------------------

    def reserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """Nothing to set aside; its counterpart is what matters."""

    def permit(self, state: CycleState, pod: Pod, node_name: str) -> Status | None:
        key = group_key(pod)
        if not key:
            return None
        group = self._groups.of(pod)
        if group is None:
            return Status.unschedulable("PodGroup not found")
        self._count_out_the_leaving(key)
        n_placed = self._groups.place(pod)
        if n_placed >= group.spec.min_member:
            self._groups.clear_failure(key)
            self._calls.forget(key)
            for waiting in self._waiting(key):
                waiting.allow(self.name)
            return None
        if n_placed == 1:
            self._call_the_others(key, pod, state.get(self.name, Reason) or Reason.NEWS)
        return Status.wait(timeout_seconds=self._wait_seconds(group))

    def _call_the_others(self, key: str, pod: Pod, reason: Reason) -> None:
        others = [each for each in self._groups.roll(key).pods.values() if each.uid != pod.uid]
        self._calls.call(key, others, because=reason)
        self.handle.activate(others)

    def waits_with(self, pod: Pod, other: Pod) -> bool:
        key = group_key(pod)
        return bool(key) and group_key(other) == key

    def waits_for(self, pod: Pod) -> list[Pod]:
        """As many others as the group lacks, of those that request least."""
        group, key = self._groups.of(pod), group_key(pod)
        if group is None:
            return []
        placed = self._groups.placed(key)
        n_missing = group.spec.min_member - len(placed.keys() | {pod.name})
        others = (
            each for name, each in self._groups.roll(key).pods.items() if name not in placed and name != pod.name
        )
        return sorted(others, key=_size)[: max(0, n_missing)]

    def _wait_seconds(self, group: PodGroup) -> float:
        of_group = group.spec.schedule_timeout_seconds
        if of_group is None:
            return self.args.permit_waiting_time_seconds or DEFAULT_WAIT_SECONDS
        return of_group or self.args.permit_waiting_time_seconds

    def unreserve(self, state: CycleState, pod: Pod, node_name: str) -> None:
        """One gives its place back, and so do all that wait for it; unless it was told to with the others."""
        key = group_key(pod)
        if not key:
            return
        self._groups.displace(pod)
        if pod.uid in self._told:
            self._told.discard(pod.uid)
        else:
            # Not because one of them finds no node: whoever is still to come may start anew.
            self._calls.forget(key)
            self._give_up(key, "rejection in Unreserve")

    # --- a member is gone -------------------------------------------------------------------------

    def _member_changed(self, old: Pod | None, new: Pod | None) -> None:
        """One without a place may have been why the others gave theirs back: they begin anew."""
        if new is not None or old is None or old.node_name or not (key := group_key(old)):
            return
        group, left = self._groups.of(old), list(self._groups.roll(key).pods.values())
        is_enough = group is not None and len(left) >= group.spec.min_member
        if is_enough and self._groups.has_failed(key) and not self._groups.placed(key):
            self._calls.forget(key)
            self.handle.activate(left)

    # ----------------------------------------------------------------------------------------------

    def _waiting(self, key: str) -> Iterator[WaitingPod]:
        return (waiting for waiting in self.handle.waiting_pods if group_key(waiting.pod) == key)

    def _count_out_the_leaving(self, key: str) -> None:
        """A member whose time is up, or whose place somebody took, gives it back in its own time; the group is not
        whole with it."""
        for waiting in self._waiting(key):
            if waiting.is_leaving:
                self._groups.displace(waiting.pod)

    def _give_up(self, key: str, message: str) -> None:
        """All that wait give their places back. They do so in their own time, but count no more from now on: the
        next member to find a node is the first of a new round, and calls the others."""
        for waiting in self._waiting(key):
            if waiting.reject(self.name, message):
                self._told.add(waiting.pod.uid)
                self._groups.displace(waiting.pod)
        self._has_room.discard(key)
        self._groups.note_failure(key)


def _size(pod: Pod) -> tuple[int, int]:
    return pod.requests.get(CPU, 0), pod.requests.get(MEMORY, 0)


def _unschedulable(*reasons: str) -> PostFilterResult:
    return PostFilterResult(None, Status.unschedulable(*reasons))
