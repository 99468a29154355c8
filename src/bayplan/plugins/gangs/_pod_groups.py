"""Pod groups: which pods belong to a group, which of them have a node, and whether the group failed recently.

Input: pods and PodGroups from the informers, and the placements that Permit and Unreserve report. Makes no
decisions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from bayplan.model import Pod, PodGroup
from bayplan.model.times import parse_time

if TYPE_CHECKING:
    from bayplan.framework import Clock, Informers

#: The label of a pod that names its group, in the pod's namespace.
LABEL: Final = "scheduling.x-k8s.io/pod-group"


def group_key(pod: Pod) -> str:
    """`namespace/name` of the pod's group; empty for a pod without a group."""
    name = pod.labels.get(LABEL)
    return f"{pod.namespace}/{name}" if name else ""


class ExpiringSet:
    """A set of names, each of which expires after some time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def add(self, name: str, seconds: float) -> None:
        """Add *name*; one that is already in the set keeps its expiration."""
        if name not in self:
            self._until[name] = self._clock.now() + seconds

    def discard(self, name: str) -> None:
        self._until.pop(name, None)

    def __contains__(self, name: str) -> bool:
        until = self._until.get(name)
        if until is None:
            return False
        if until < self._clock.now():
            del self._until[name]
            return False
        return True


class GroupMembers:
    """The pods of one group that exist in the cluster."""

    __slots__ = ("n_gated", "pods")

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        #: How many have scheduling gates.
        self.n_gated = 0

    def __len__(self) -> int:
        return len(self.pods)

    def set(self, pod: Pod) -> None:
        self.discard(pod)
        self.pods[pod.name] = pod
        self.n_gated += bool(pod.spec.scheduling_gates)

    def discard(self, pod: Pod) -> None:
        old = self.pods.pop(pod.name, None)
        if old is not None:
            self.n_gated -= bool(old.spec.scheduling_gates)


class PodGroupTracker:
    """Tracks every group that a pod or a PodGroup object names, by `namespace/name`."""

    def __init__(self, informers: Informers, clock: Clock) -> None:
        self._clock = clock
        self._objects = informers.lister(PodGroup)
        self._members: defaultdict[str, GroupMembers] = defaultdict(GroupMembers)
        #: Group → the pods with a node, assumed or bound, by name; in the version last reported or watched.
        self._placed: defaultdict[str, dict[str, Pod]] = defaultdict(dict)
        self._failed_at: dict[str, float] = {}
        informers.on_change(Pod, self._pod_changed)
        informers.on_change(PodGroup, self._group_changed)

    def of(self, pod: Pod) -> PodGroup | None:
        """The PodGroup of the pod; None if the pod names none, or it does not exist."""
        name = pod.labels.get(LABEL)
        return self._objects.get(name, pod.namespace) if name else None

    def members(self, key: str) -> GroupMembers:
        """The pods of the group that exist."""
        return self._members.get(key) or GroupMembers()

    # --- placements -------------------------------------------------------------------------------

    def placed(self, key: str) -> Mapping[str, Pod]:
        return self._placed.get(key, {})

    def place(self, pod: Pod) -> int:
        """Record that *pod* has a node; returns how many pods of its group have one."""
        placed = self._placed[group_key(pod)]
        placed[pod.name] = pod
        return len(placed)

    def displace(self, pod: Pod) -> None:
        """Record that *pod* gave up its node, unless the watch shows that it was bound."""
        key = group_key(pod)
        seen = self.members(key).pods.get(pod.name)
        if seen is None or seen.uid != pod.uid or not seen.node_name:
            self._discard_placement(key, pod)

    def _discard_placement(self, key: str, pod: Pod) -> None:
        placed = self._placed.get(key)
        if placed is not None:
            placed.pop(pod.name, None)
            if not placed:
                del self._placed[key]

    # --- failures, which decide the order in the queue --------------------------------------------

    def note_failure(self, key: str) -> None:
        """The group was rejected now: other groups are tried before it."""
        self._failed_at[key] = self._clock.now()

    def has_failed(self, key: str) -> bool:
        """Whether the group was rejected and has not been complete since."""
        return key in self._failed_at

    def clear_failure(self, key: str) -> None:
        self._failed_at.pop(key, None)

    def since(self, pod: Pod, otherwise: float) -> float:
        """The time by which the pod is sorted in the queue: when its group last failed, or was created."""
        name = pod.labels.get(LABEL)
        if not name:
            return otherwise
        failed_at = self._failed_at.get(f"{pod.namespace}/{name}")
        if failed_at is not None:
            return failed_at
        group = self._objects.get(name, pod.namespace)
        created = group.metadata.creation_timestamp if group is not None else None
        return parse_time(created).timestamp() if created else otherwise

    # --- from the watch ---------------------------------------------------------------------------

    def _pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        if new is not None and new.is_terminating and not new.node_name:
            new = None  # it will never get a node, so it no longer counts
        for pod in self._left_group(old, new):
            key = group_key(pod)
            self._members[key].discard(pod)
            if not self._members[key]:
                del self._members[key]
            if pod.node_name:
                self._discard_placement(key, pod)
        if new is not None and (key := group_key(new)):
            self._members[key].set(new)
            if new.node_name:
                self._placed[key][new.name] = new

    def _left_group(self, old: Pod | None, new: Pod | None) -> Iterator[Pod]:
        if old is not None and (key := group_key(old)) and (new is None or group_key(new) != key):
            yield old

    def _group_changed(self, old: PodGroup | None, new: PodGroup | None) -> None:
        if new is None and old is not None:
            self.clear_failure(old.key)
