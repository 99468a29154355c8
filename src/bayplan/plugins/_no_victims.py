"""What the family's preemption says of a node on which nobody may be evicted."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bayplan.framework import Status

if TYPE_CHECKING:
    from bayplan.framework import NodeTable
    from bayplan.model import Pod

#: In larger clusters nodes are not named: a message that names thousands of them helps nobody and fills etcd.
MAX_NAMED: Final = 100


def no_victims(nodes: NodeTable, node_name: str, pod: Pod) -> Status:
    """*nodes* are those of the cluster."""
    where = f" on node {node_name}" if len(nodes) <= MAX_NAMED else ""
    return _said(where, pod.name)


@lru_cache(maxsize=MAX_NAMED)
def _said(where: str, pod_name: str) -> Status:
    return Status.unresolvable(f"No victims found{where} for preemptor pod {pod_name}")
