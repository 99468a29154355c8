"""What came of running a profile's Filter or Score plugins over a table of nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayplan.framework.nodes import NodeTable
from bayplan.framework.status import Code, Status
from bayplan.framework.verdict import BoolArray, IntArray, Verdict


class Decided(NamedTuple):
    """A plugin's verdict, and the nodes for which it was the first to reject."""

    plugin: str
    verdict: Verdict
    #: bool, shape (n_nodes,)
    where: BoolArray

    def status(self, position: int) -> Status:
        status = self.verdict.status(position)
        if status is None:
            raise LookupError(f"{self.plugin} did not reject node {position}")
        return status.by(self.plugin)

    def count_reasons(self, reasons: Counter[str]) -> None:
        for rejection in self.verdict.rejections:
            if count := int(np.count_nonzero(rejection.where & self.where)):
                reasons[rejection.reason] += count
        for position, status in self.verdict.statuses.items():
            if self.where[position]:
                reasons.update(status.reasons)


class FilterOutcome:
    """Which nodes of a table passed every Filter plugin, and for the others who rejected them."""

    __slots__ = ("decided", "error", "feasible", "n_seen", "nodes", "overrides")

    def __init__(
        self, nodes: NodeTable, feasible: BoolArray, decided: list[Decided], error: Status | None = None
    ) -> None:
        self.nodes = nodes
        #: bool, shape (n_nodes,)
        self.feasible = feasible
        #: In the order of the plugins; the masks do not overlap.
        self.decided = decided
        #: An ERROR of any plugin on any node: the attempt is over.
        self.error = error
        #: How many nodes a search looked at that stopped when it had found enough; None if all were.
        self.n_seen: int | None = None
        #: Position → status, for nodes whose answer was settled in another way (nominated pods, extenders).
        self.overrides: dict[int, Status] = {}

    def override(self, position: int, status: Status) -> None:
        """Settle one node by hand; success makes it feasible."""
        self.feasible[position] = status.is_success
        for entry in self.decided:
            entry.where[position] = False
        self.overrides.pop(position, None)
        if not status.is_success:
            self.overrides[position] = status

    @property
    def rejects_none(self) -> bool:
        """Whether every node passed for sure; False may still turn out so."""
        return not self.decided and not self.overrides and self.n_seen is None

    def rejects(self, node_name: str) -> bool:
        """Whether the node is in the table and did not pass."""
        position = self.nodes.position(node_name)
        return position is not None and not self.feasible[position]

    def status(self, position: int) -> Status | None:
        """Why the node at *position* was rejected; None if it passed."""
        if position in self.overrides:
            return self.overrides[position]
        for entry in self.decided:
            if entry.where[position]:
                return entry.status(position)
        return None

    def codes(self) -> NDArray[np.int8]:
        """The status code of every node; int8, shape (n_nodes,)."""
        codes = np.zeros(len(self.nodes), dtype=np.int8)
        for entry in self.decided:
            # Later rejections of a node only ever make its code stronger.
            for rejection in sorted(entry.verdict.rejections, key=lambda rejection: _strength(rejection.code)):
                codes[rejection.where & entry.where] = rejection.code
            for position, status in entry.verdict.statuses.items():
                if entry.where[position]:
                    codes[position] = status.code
        for position, status in self.overrides.items():
            codes[position] = status.code
        return codes

    def reasons(self) -> Counter[str]:
        """How many nodes give each reason."""
        reasons: Counter[str] = Counter()
        for entry in self.decided:
            entry.count_reasons(reasons)
        for status in self.overrides.values():
            reasons.update(status.reasons)
        return reasons

    def rejecting_plugins(self) -> Iterable[tuple[str, Code]]:
        """Every (plugin, code) by which some node was rejected."""
        for entry in self.decided:
            for rejection in entry.verdict.rejections:
                if (rejection.where & entry.where).any():
                    yield entry.plugin, rejection.code
            for position, status in entry.verdict.statuses.items():
                if entry.where[position]:
                    yield entry.plugin, status.code
        for status in self.overrides.values():
            if status.plugin:
                yield status.plugin, status.code


def _strength(code: Code) -> int:
    return 1 if code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE else 0


class PluginScores(NamedTuple):
    """One plugin's scores for a table of nodes, at every stage; int64, shape (n_nodes,) each."""

    raw: IntArray
    normalized: IntArray
    weighted: IntArray
    weight: int


class ScoreOutcome(NamedTuple):
    """What the Score plugins made of the feasible nodes."""

    nodes: NodeTable
    by_plugin: Mapping[str, PluginScores]
    #: int64, shape (n_nodes,)
    totals: IntArray
