"""Pod groups: which pods belong to a group, which of them have a place, and how the group's attempts went.

Follows pods through the informers; what Permit and Unreserve report comes on top. No decisions are made here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from bayplan.model import Pod, PodGroup
from bayplan.model.times import parse_time

if TYPE_CHECKING:
    from bayplan.framework import Clock, Informers

#: Names the group of a pod, in the pod's namespace.
LABEL: Final = "scheduling.x-k8s.io/pod-group"


def group_key(pod: Pod) -> str:
    """`namespace/name` of the pod's group; empty for a pod that is in none."""
    name = pod.labels.get(LABEL)
    return f"{pod.namespace}/{name}" if name else ""


class Expiring:
    """Names that are remembered for a while."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[str, float] = {}

    def add(self, name: str, seconds: float) -> None:
        """Remember *name* from now on; one that is remembered already keeps its time."""
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


class Roll:
    """The pods of one group that the cluster has."""

    __slots__ = ("n_gated", "pods")

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        #: Those with scheduling gates.
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


class PodGroups:
    """Every group that a pod or a PodGroup object names, by `namespace/name`."""

    def __init__(self, informers: Informers, clock: Clock) -> None:
        self._clock = clock
        self._objects = informers.lister(PodGroup)
        self._rolls: defaultdict[str, Roll] = defaultdict(Roll)
        #: Group → the pods with a place, assumed or bound, by name; as the cycle or the watch last showed them.
        self._placed: defaultdict[str, dict[str, Pod]] = defaultdict(dict)
        self._failed_at: dict[str, float] = {}
        informers.on_change(Pod, self._pod_changed)
        informers.on_change(PodGroup, self._group_changed)

    def of(self, pod: Pod) -> PodGroup | None:
        """The group's object; None if the pod names none, or one that does not exist."""
        name = pod.labels.get(LABEL)
        return self._objects.get(name, pod.namespace) if name else None

    def roll(self, key: str) -> Roll:
        """The group's pods that the cluster has."""
        return self._rolls.get(key) or Roll()

    # --- places -----------------------------------------------------------------------------------

    def placed(self, key: str) -> Mapping[str, Pod]:
        return self._placed.get(key, {})

    def place(self, pod: Pod) -> int:
        """*pod* has a place; how many of its group have one."""
        placed = self._placed[group_key(pod)]
        placed[pod.name] = pod
        return len(placed)

    def displace(self, pod: Pod) -> None:
        """*pod* has given its place back. One that the watch shows on a node has kept it after all."""
        key = group_key(pod)
        seen = self.roll(key).pods.get(pod.name)
        if seen is None or seen.uid != pod.uid or not seen.node_name:
            self._discard_place(key, pod)

    def _discard_place(self, key: str, pod: Pod) -> None:
        placed = self._placed.get(key)
        if placed is not None:
            placed.pop(pod.name, None)
            if not placed:
                del self._placed[key]

    # --- order ------------------------------------------------------------------------------------

    def note_failure(self, key: str) -> None:
        """The group was rejected just now: others go first."""
        self._failed_at[key] = self._clock.now()

    def has_failed(self, key: str) -> bool:
        """Whether the group was rejected, and has not been whole since."""
        return key in self._failed_at

    def clear_failure(self, key: str) -> None:
        self._failed_at.pop(key, None)

    def since(self, pod: Pod, otherwise: float) -> float:
        """What a pod's place in the queue counts from: when its group last failed, or was created."""
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
            new = None  # it will never have a node: to the group it is gone already
        for pod in self._left_group(old, new):
            key = group_key(pod)
            self._rolls[key].discard(pod)
            if not self._rolls[key]:
                del self._rolls[key]
            if pod.node_name:
                self._discard_place(key, pod)
        if new is not None and (key := group_key(new)):
            self._rolls[key].set(new)
            if new.node_name:
                self._placed[key][new.name] = new

    def _left_group(self, old: Pod | None, new: Pod | None) -> Iterator[Pod]:
        if old is not None and (key := group_key(old)) and (new is None or group_key(new) != key):
            yield old

    def _group_changed(self, old: PodGroup | None, new: PodGroup | None) -> None:
        if new is None and old is not None:
            self.clear_failure(old.key)
