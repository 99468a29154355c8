"""The nominator: pods that preemption promised a node, until they are there or no longer need it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.model import Pod


class PodNominator:
    """Implements `framework.Nominator`: node name → pods, and back."""

    def __init__(self) -> None:
        self._by_node: dict[str, dict[str, Pod]] = {}
        self._node_of: dict[str, str] = {}
        #: Pod (uid) → the node that its status may still show, although the pod has given its place there back.
        self._taken_back: dict[str, str] = {}

    def add(self, pod: Pod, node_name: str) -> None:
        """Promise *node_name* to *pod*; an earlier promise to it is withdrawn."""
        self.forget(pod)
        self._by_node.setdefault(node_name, {})[pod.uid] = pod
        self._node_of[pod.uid] = node_name

    def read(self, pod: Pod) -> None:
        """Take the promise from the pod's status; none there withdraws an earlier one."""
        if self.is_taken_back(pod):
            self.remove(pod)
        elif pod.status.nominated_node_name:
            self.add(pod, pod.status.nominated_node_name)
        else:
            self.forget(pod)

    def take_back(self, pod: Pod, node_name: str) -> None:
        """*pod* was about to be bound to *node_name*, as its status was told, and is not: what the watch shows of
        that from now on is old."""
        self.remove(pod)
        self._taken_back[pod.uid] = node_name

    def is_taken_back(self, pod: Pod) -> bool:
        """Whether what the pod's status promises was taken back already."""
        node_name = pod.status.nominated_node_name
        return bool(node_name) and self._taken_back.get(pod.uid) == node_name

    def update(self, old: Pod, new: Pod) -> None:
        """The pod changed. What its status says about the promise counts, unless it says nothing and never has:
        then the promise was made here, and the API server has not heard of it yet."""
        node_name = self.node_of(old)
        self.remove(old)
        if node_name and not old.status.nominated_node_name and not new.status.nominated_node_name:
            self.add(new, node_name)
        else:
            self.read(new)

    def forget(self, pod: Pod) -> None:
        """The pod is gone, or its status says nothing of a promise, nor of one that was taken back."""
        self._taken_back.pop(pod.uid, None)
        self.remove(pod)

    def remove(self, pod: Pod) -> None:
        """The promise is withdrawn. What was taken back before stays so until the watch has shown it."""
        node_name = self._node_of.pop(pod.uid, None)
        if node_name is None:
            return
        pods = self._by_node[node_name]
        del pods[pod.uid]
        if not pods:
            del self._by_node[node_name]

    def node_of(self, pod: Pod) -> str:
        """The node promised to *pod*; empty if none is."""
        return self._node_of.get(pod.uid, "")

    def nominated(self, node_name: str) -> Sequence[Pod]:
        return tuple(self._by_node.get(node_name, {}).values())

    def nodes(self) -> Collection[str]:
        return tuple(self._by_node)
