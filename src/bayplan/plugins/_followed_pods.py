"""Pods on nodes, followed: which came and which went since one last looked.

For plugins that keep a sum over all pods of the cluster. It is worked out from the snapshot, so pods that are
assumed count, and nothing that happens elsewhere can be missed; only the nodes that changed are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from bayplan.model import Pod

if TYPE_CHECKING:
    from bayplan.framework import Handle


class Moves(NamedTuple):
    """A pod that changed has gone in its old form and come in its new one."""

    gone: list[Pod]
    come: list[Pod]


class FollowedPods:
    """Remembers which pods were where."""

    def __init__(self, handle: Handle) -> None:
        self._snapshot = handle.snapshot
        #: Node → uid → pod; nodes without pods are left out.
        self._known: dict[str, dict[str, Pod]] = {}
        #: Up to where of the change log that is right.
        self._position = -1

    def moves(self) -> Moves:
        """What happened since the last call; at the first one every pod has come."""
        changes = self._snapshot.usage_changes
        moves = Moves([], [])
        if self._position != changes.position:
            rows = changes.since(self._position) if self._position >= 0 else None
            nodes = self._snapshot.nodes
            if rows is None:
                self._forget_nodes_gone(moves)
            self._look_at(range(len(nodes)) if rows is None else rows.tolist(), moves)
            self._position = changes.position
        return moves

    def _forget_nodes_gone(self, moves: Moves) -> None:
        nodes = self._snapshot.nodes
        for name in [name for name in self._known if nodes.position(name) is None]:
            moves.gone.extend(self._known.pop(name).values())

    def _look_at(self, rows: Iterable[int], moves: Moves) -> None:
        for row in rows:
            node = self._snapshot.nodes[row]
            present = {pod.uid: pod for pod in node.pods}
            before = self._known.get(node.name, {})
            if present:
                self._known[node.name] = present
            else:
                self._known.pop(node.name, None)
            moves.gone.extend(pod for uid, pod in before.items() if present.get(uid) is not pod)
            moves.come.extend(pod for uid, pod in present.items() if before.get(uid) is not pod)
