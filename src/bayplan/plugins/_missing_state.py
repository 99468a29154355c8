"""The errors of Filter and Score if PreFilter or PreScore did not run.

A profile may disable one extension point of a plugin and keep the next one. Some of kube-scheduler's plugins then
find no cycle state, and every attempt that gets there ends with an error, worded by the plugin. So a PreFilter or
PreScore that does not skip always writes to the state, if only to show that it ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.framework import Code

if TYPE_CHECKING:
    from bayplan.framework import NodeTable, Verdict

#: The error of kube-scheduler's cycle state for a missing key.
NOT_FOUND: Final = "not found"


def fail_all(nodes: NodeTable, error: str) -> Verdict:
    """Return *error* for every node. It ends the attempt if any of them has not been rejected before."""
    return nodes.reject(np.ones(len(nodes), dtype=np.bool_), error, Code.ERROR)
