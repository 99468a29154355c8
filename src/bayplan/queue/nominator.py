"""The nominator: pods that preemption nominated to a node, until they are bound or the nomination is withdrawn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayplan.model import Pod


class PodNominator:
    """Implements `framework.Nominator`: node name → nominated pods, and back.

    The public dicts are for reading: without nominated pods they are empty, and nothing need be called.
    """

    def __init__(self) -> None:
        #: Node name → its nominated pods, by uid.
        self.by_node: dict[str, dict[str, Pod]] = {}
        #: Pod (uid) → the node it is nominated to.
        self.node_by_pod: dict[str, str] = {}
        #: Pod (uid) → the node that its status may still show although the nomination was withdrawn.
        self._withdrawn: dict[str, str] = {}

    def add(self, pod: Pod, node_name: str) -> None:
        """Nominate *pod* to *node_name*, and to no other node any more."""
        self.forget(pod)
        self.by_node.setdefault(node_name, {})[pod.uid] = pod
        self.node_by_pod[pod.uid] = node_name

    def read(self, pod: Pod) -> None:
        """Take the nomination from the pod's status; without one there, the pod is not nominated any more."""
        node_name = pod.status.nominated_node_name
        if not node_name:
            if self.node_by_pod or self._withdrawn:
                self.forget(pod)
        elif self._withdrawn.get(pod.uid) == node_name:
            self.remove(pod)
        else:
            self.add(pod, node_name)

    def withdraw(self, pod: Pod, node_name: str) -> None:
        """The bind of *pod* to *node_name* failed after its status had been set to that node: ignore the status
        that the watch shows from now on."""
        self.remove(pod)
        self._withdrawn[pod.uid] = node_name

    def after_failure(self, pod: Pod, nominate: str | None, announced_node: str) -> None:
        """An attempt failed. *nominate*: a node, "" for none any more, None to leave things as they are;
        *announced_node*: the node that the pod's status was set to before its bind failed."""
        if nominate:
            self.add(pod, nominate)
        elif announced_node:
            self.withdraw(pod, announced_node)
        elif nominate == "":
            self.remove(pod)
        elif pod.status.nominated_node_name:
            self.add(pod, pod.status.nominated_node_name)

    def is_withdrawn(self, pod: Pod) -> bool:
        """Whether the nomination in the pod's status was withdrawn already."""
        node_name = pod.status.nominated_node_name
        return bool(node_name) and self._withdrawn.get(pod.uid) == node_name

    def update(self, old: Pod, new: Pod) -> None:
        """The pod changed. Its status decides, unless it has no nomination and had none before: then the
        nomination was made here, and the API server does not have it yet."""
        node_name = self.node_of(old)
        self.remove(old)
        if node_name and not old.status.nominated_node_name and not new.status.nominated_node_name:
            self.add(new, node_name)
        else:
            self.read(new)

    def forget(self, pod: Pod) -> None:
        """The pod is gone, or its status has neither a nomination nor one that was withdrawn."""
        self._withdrawn.pop(pod.uid, None)
        self.remove(pod)

    def remove(self, pod: Pod) -> None:
        """Remove the nomination. A node in `_withdrawn` stays there until the pod's status is without it."""
        node_name = self.node_by_pod.pop(pod.uid, None)
        if node_name is None:
            return
        pods = self.by_node[node_name]
        del pods[pod.uid]
        if not pods:
            del self.by_node[node_name]

    def node_of(self, pod: Pod) -> str:
        """The node that *pod* is nominated to; empty if there is none."""
        return self.node_by_pod.get(pod.uid, "")

    def nominated(self, node_name: str) -> Sequence[Pod]:
        return tuple(self.by_node.get(node_name, {}).values())

    def nodes(self) -> Collection[str]:
        return tuple(self.by_node)
