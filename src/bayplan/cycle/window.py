"""How many feasible nodes to look for, and where the search begins: `percentageOfNodesToScore`.

An explicit percentage means what it means in kube-scheduler. 0, the default, means kube-scheduler's adaptive
window only where looking at a node is expensive, that is, when some plugin looks at nodes one at a time;
columns look at every node for less than the window would cost to cut out.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from bayplan.framework import BoolArray, IntArray, Search

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


def cut(feasible: BoolArray, search: Search) -> tuple[IntArray, int]:
    """The first feasible positions, as many as wanted, in the order of the search, and how many were looked at."""
    hits = np.flatnonzero(feasible[search.order])
    if len(hits) <= search.wanted:
        return search.order[hits], len(search.order)
    # Like kube-scheduler, the search notices that it has enough at the next feasible node.
    return search.order[hits[: search.wanted]], int(hits[search.wanted])
