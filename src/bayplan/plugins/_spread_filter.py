"""PodTopologySpread's Filter: a pod must not make any domain more crowded than maxSkew allows.

pods that match in the node's domain + 1 if the pod itself matches − pods in the emptiest domain ≤ maxSkew
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.framework import Code
from bayplan.plugins._spread_constraints import Constraint, count_in_domains, counted_nodes, nodes_with_keys

if TYPE_CHECKING:
    from bayplan.framework import BoolArray, Domains, IntArray, NodeTable, Verdict
    from bayplan.model import Pod

CROWDED: Final = "node(s) didn't match pod topology spread constraints"
NO_LABEL: Final = CROWDED + " (missing required label)"

#: upstream's minimum where there is no domain at all (math.MaxInt32).
_NO_DOMAIN: Final = 2**31 - 1


class Tally:
    """How the pods that one constraint counts are spread over the domains of its key."""

    __slots__ = ("_constraint", "_counted", "_inhabited", "_self_match", "domains", "totals")

    def __init__(
        self,
        constraint: Constraint,
        domains: Domains,
        totals: IntArray,
        counted: BoolArray | None,
        inhabited: IntArray | None,
        *,
        self_match: bool,
    ) -> None:
        self._constraint = constraint
        self._self_match = self_match
        #: bool, shape (n_nodes,): the nodes whose pods count; None for all.
        self._counted = counted
        #: The numbers of the domains with a node that counts; None for all.
        self._inhabited = inhabited
        self.domains = domains
        #: int64, one entry per domain: own, and changed by what-ifs.
        self.totals = totals

    def clone(self) -> Tally:
        totals, match = self.totals.copy(), self._self_match
        return Tally(self._constraint, self.domains, totals, self._counted, self._inhabited, self_match=match)

    def move(self, moved: Pod, row: int, change: int) -> None:
        """*moved* came to or left the node at *row*.

        kube-scheduler asks neither whether it is being deleted nor whether the selector is empty here.
        """
        if (self._counted is None or self._counted[row]) and self._constraint.selector.matches(moved.labels):
            self.totals[self.domains.of_node[row]] += change

    def is_crowded(self) -> BoolArray:
        """Which domains can take no further pod."""
        constraint = self._constraint
        crowded: BoolArray = self.totals > constraint.max_skew + self._minimum() - self._self_match
        return crowded

    def _minimum(self) -> int:
        """Pods in the emptiest domain; 0 as long as there are fewer domains than minDomains."""
        n_domains = self.domains.n_domains
        inhabited = self.totals[:n_domains]
        if self._inhabited is not None:
            inhabited = inhabited[self._inhabited]
        if len(inhabited) < self._constraint.min_domains:
            return 0
        return int(inhabited.min(initial=_NO_DOMAIN))


class SpreadState:
    """The hard constraints of a pod, in order."""

    __slots__ = ("_tallies",)

    def __init__(self, tallies: list[Tally]) -> None:
        self._tallies = tallies

    @classmethod
    def count(cls, nodes: NodeTable, pod: Pod, constraints: tuple[Constraint, ...]) -> SpreadState:
        """The state of the whole table *nodes*."""
        candidates = nodes_with_keys(nodes, constraints)
        return cls([_tally(nodes, pod, constraint, candidates) for constraint in constraints])

    def clone(self) -> SpreadState:
        return SpreadState([tally.clone() for tally in self._tallies])

    def move(self, moved: Pod, row: int, change: int) -> None:
        for tally in self._tallies:
            tally.move(moved, row, change)

    def verdict(self, nodes: NodeTable) -> Verdict:
        """For each node, the first constraint that it fails decides the reason."""
        unlabelled: BoolArray | None = None
        crowded: BoolArray | None = None
        for tally in self._tallies:
            domains = tally.domains if nodes.is_whole else tally.domains.select(nodes.rows)
            if domains.missing is not None:
                unlabelled = _also(unlabelled, domains.missing, unless=crowded)
            in_crowd = tally.is_crowded()
            if in_crowd.any():
                crowded = _also(crowded, domains.at_nodes(in_crowd), unless=unlabelled)
        verdict = nodes.accept_all()
        if unlabelled is not None:
            verdict = verdict.reject(unlabelled, NO_LABEL, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        return verdict if crowded is None else verdict.reject(crowded, CROWDED)


def _tally(nodes: NodeTable, pod: Pod, constraint: Constraint, candidates: BoolArray | None) -> Tally:
    domains = nodes.domains(constraint.topology_key)
    counted = counted_nodes(nodes, pod, constraint, candidates)
    totals = count_in_domains(nodes, constraint, domains, counted)
    inhabited: IntArray | None = None
    if counted is not None:
        present = domains.totals(counted.astype(np.int64))
        inhabited = np.flatnonzero(present[: domains.n_domains])
    match = constraint.selector.matches(pod.labels)
    # What-ifs change the totals, which may be the cache's own.
    return Tally(constraint, domains, totals.copy(), counted, inhabited, self_match=match)


def _also(mask: BoolArray | None, more: BoolArray, *, unless: BoolArray | None) -> BoolArray:
    if unless is not None:
        more = more & ~unless
    return more if mask is None else mask | more
