"""The status of a node without victims, in the preemption of the scheduler-plugins family."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from bayplan.framework import Status

if TYPE_CHECKING:
    from bayplan.framework import NodeTable
    from bayplan.model import Pod

#: In larger clusters nodes are not named: a message with thousands of names is useless and fills etcd.
MAX_NAMED: Final = 100


def no_victims(nodes: NodeTable, node_name: str, pod: Pod) -> Status:
    """*nodes*: all nodes of the cluster."""
    where = f" on node {node_name}" if len(nodes) <= MAX_NAMED else ""
    return _status(where, pod.name)


@lru_cache(maxsize=MAX_NAMED)
def _status(where: str, pod_name: str) -> Status:
    return Status.unresolvable(f"No victims found{where} for preemptor pod {pod_name}")
