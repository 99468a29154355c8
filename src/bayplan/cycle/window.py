"""How many feasible nodes to look for, and where the search begins: `percentageOfNodesToScore`.

An explicit percentage means what it means in kube-scheduler. 0, the default, means kube-scheduler's adaptive
window only where looking at a node is expensive, that is, when some plugin looks at nodes one at a time;
columns look at every node for less than the window would cost to cut out.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bayplan.framework import BoolArray, IntArray

MIN_FEASIBLE_NODES: Final = 100  # upstream minFeasibleNodesToFind: keeps a minimum of spreading
MIN_PERCENTAGE: Final = 5  # upstream minFeasibleNodesPercentageToFind


def n_feasible_wanted(n_nodes: int, percentage: int, *, adaptive: bool) -> int:
    """After how many feasible nodes the search may stop."""
    if n_nodes < MIN_FEASIBLE_NODES:
        return n_nodes
    if percentage == 0:
        if not adaptive:
            return n_nodes
        percentage = max(50 - n_nodes // 125, MIN_PERCENTAGE)
    return max(n_nodes * percentage // 100, MIN_FEASIBLE_NODES)


def cut(feasible: BoolArray, order: IntArray, start: int, wanted: int) -> tuple[IntArray, int]:
    """The first *wanted* feasible positions from *start* on, in search *order*, and how many were looked at."""
    turned = np.roll(order, -start)
    hits = np.flatnonzero(feasible[turned])
    if len(hits) <= wanted:
        return turned[hits], len(order)
    # Like kube-scheduler, the search notices that it has enough at the next feasible node.
    return turned[hits[:wanted]], int(hits[wanted])
