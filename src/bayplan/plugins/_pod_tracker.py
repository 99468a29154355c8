"""PodTracker: which pods were added to and removed from nodes since the last call.

For plugins that keep a sum over all pods of the cluster. It compares snapshots, so assumed pods count and no event
can be missed; only the nodes that changed are read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from bayplan.model import Pod

if TYPE_CHECKING:
    from bayplan.framework import Handle


class PodChanges(NamedTuple):
    """A pod that changed is in both: removed in its old version, added in its new one."""

    removed: list[Pod]
    added: list[Pod]


class PodTracker:
    """Remembers which pods each node had at the last call."""

    def __init__(self, handle: Handle) -> None:
        self._snapshot = handle.snapshot
        #: Node → uid → pod; nodes without pods are left out.
        self._known: dict[str, dict[str, Pod]] = {}
        #: The position in the change log up to which `_known` is right.
        self._position = -1

    def changes(self) -> PodChanges:
        """The changes since the last call; at the first call every pod is added."""
        log = self._snapshot.usage_changes
        changes = PodChanges([], [])
        if self._position != log.position:
            rows = log.since(self._position) if self._position >= 0 else None
            nodes = self._snapshot.nodes
            if rows is None:
                self._drop_removed_nodes(changes)
            self._compare(range(len(nodes)) if rows is None else rows.tolist(), changes)
            self._position = log.position
        return changes

    def _drop_removed_nodes(self, changes: PodChanges) -> None:
        nodes = self._snapshot.nodes
        for name in [name for name in self._known if nodes.position(name) is None]:
            changes.removed.extend(self._known.pop(name).values())

    def _compare(self, rows: Iterable[int], changes: PodChanges) -> None:
        for row in rows:
            node = self._snapshot.nodes[row]
            present = {pod.uid: pod for pod in node.pods}
            before = self._known.get(node.name, {})
            if present:
                self._known[node.name] = present
            else:
                self._known.pop(node.name, None)
            changes.removed.extend(pod for uid, pod in before.items() if present.get(uid) is not pod)
            changes.added.extend(pod for uid, pod in present.items() if before.get(uid) is not pod)
