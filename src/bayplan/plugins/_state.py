"""What Filter and Score say where PreFilter or PreScore did not run.

A profile may disable one extension point of a plugin and keep the next one. Some of kube-scheduler's plugins then
find nothing in the cycle state, and every attempt that gets as far ends with an error, in the plugin's own words.
So a PreFilter or PreScore that does not skip writes to the state, be it only to show that it ran.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.framework import Code

if TYPE_CHECKING:
    from bayplan.framework import NodeTable, Verdict

#: What kube-scheduler's cycle state says of a key that nobody wrote.
NOT_FOUND: Final = "not found"


def fail_all(nodes: NodeTable, error: str) -> Verdict:
    """*error* on every node. It ends the attempt if any of them is still in question."""
    return nodes.reject(np.ones(len(nodes), dtype=np.bool_), error, Code.ERROR)
