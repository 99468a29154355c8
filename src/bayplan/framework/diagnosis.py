"""Diagnosis: why an attempt found no node, for the pod's message, for PostFilter and for the queue."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np

from bayplan.framework.nodes import NodeTable
from bayplan.framework.outcomes import FilterOutcome
from bayplan.framework.status import Code, Status
from bayplan.framework.verdict import IntArray

_ABSENT: Final = Status(Code.UNSCHEDULABLE_AND_UNRESOLVABLE)


class Diagnosis:
    """A status for every node of the snapshot.

    Nodes that Filter looked at have their own; all others share `absent`: what PreFilter said when it rejected
    the pod outright, or that they were not among the nodes PreFilter allowed.
    """

    def __init__(self, nodes: NodeTable) -> None:
        #: Every node of the snapshot.
        self.nodes = nodes
        self.outcome: FilterOutcome | None = None
        #: The statuses of nodes that Filter did not reject when it looked at all of them, by name: a promised node
        #: that was looked at before the others, nodes that only an extender spoke of.
        self.beforehand: dict[str, Status] = {}
        self.absent = _ABSENT
        self.pre_filter_message = ""
        self.post_filter_message = ""
        #: Plugins that rejected the pod; an event that one of them waits for tries the pod again.
        self.unschedulable_plugins: set[str] = set()
        self.pending_plugins: set[str] = set()

    def reject_all(self, status: Status) -> None:
        """PreFilter turned the pod down: every node has this status."""
        self.absent = status
        self.pre_filter_message = status.message
        self._blame(status.plugin, status.code)

    def reject_beforehand(self, node_name: str, status: Status) -> None:
        """The node promised to the pod does not fit."""
        self.beforehand[node_name] = status
        self._blame(status.plugin, status.code)

    def add_outcome(self, outcome: FilterOutcome) -> None:
        self.outcome = outcome
        if self.beforehand:
            self.beforehand = {
                name: status for name, status in self.beforehand.items() if not outcome.rejects(name)
            }
        for plugin, code in outcome.rejecting_plugins():
            self._blame(plugin, code)

    def set_status(self, node_name: str, status: Status) -> None:
        """An extender's word on a node, whatever the plugins said; the node need not exist."""
        position = self.outcome.nodes.position(node_name) if self.outcome is not None else None
        if self.outcome is None or position is None:
            self.beforehand[node_name] = status
        else:
            self.beforehand.pop(node_name, None)
            self.outcome.override(position, status)

    def _blame(self, plugin: str, code: Code) -> None:
        if not plugin:
            return
        self.unschedulable_plugins.add(plugin)
        if code is Code.PENDING:
            self.pending_plugins.add(plugin)

    def status(self, node_name: str) -> Status:
        """Why the pod cannot run on the node."""
        if self.outcome is not None:
            position = self.outcome.nodes.position(node_name)
            if position is not None:
                found = self.outcome.status(position)
                if found is not None:
                    return found
        return self.beforehand.get(node_name, self.absent)

    def rows_with(self, code: Code) -> IntArray:
        """The rows, in the whole table, of the nodes whose status has *code*."""
        codes = np.full(len(self.nodes), self.absent.code, dtype=np.int8)
        for name, status in self.beforehand.items():
            if (position := self.nodes.position(name)) is not None:
                codes[position] = status.code
        if self.outcome is not None:
            own = self.outcome.codes()
            judged = own != Code.SUCCESS
            codes[self.outcome.nodes.rows[judged]] = own[judged]
        return np.flatnonzero(codes == code)

    def message(self) -> str:
        """`0/N nodes are available: …`, as kube-scheduler words it."""
        n_nodes = len(self.nodes)
        if self.pre_filter_message:
            text = f"{_head(n_nodes)} {self.pre_filter_message}."
        else:
            text = none_available(n_nodes, self._reasons(n_nodes))
        return f"{text} {self.post_filter_message}" if self.post_filter_message else text

    def _reasons(self, n_nodes: int) -> Counter[str]:
        reasons: Counter[str] = Counter()
        n_judged = len(self.beforehand)
        for status in self.beforehand.values():
            reasons.update(status.reasons)
        if self.outcome is not None:
            reasons.update(self.outcome.reasons())
            n_judged += int(np.count_nonzero(~self.outcome.feasible))
        if n_judged < n_nodes:
            for reason in self.absent.reasons:
                reasons[reason] += n_nodes - n_judged
        return reasons


def none_available(n_nodes: int, reasons: Counter[str]) -> str:
    """`0/N nodes are available: 2 this, 3 that.`"""
    if not reasons:
        return _head(n_nodes)
    # Sorted as text, so "10 x" comes before "9 x".
    counted = ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))
    return f"{_head(n_nodes)} {counted}."


def _head(n_nodes: int) -> str:
    return f"0/{n_nodes} nodes are available:"
