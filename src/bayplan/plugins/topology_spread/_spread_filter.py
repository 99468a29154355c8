"""PodTopologySpread's Filter: a pod must not raise the skew of any domain above maxSkew.

pods that match in the node's domain + 1 if the pod itself matches − pods in the emptiest domain ≤ maxSkew
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.framework import Code
from bayplan.plugins.topology_spread._spread_constraints import (
    Constraint,
    count_in_domains,
    counted_nodes,
    nodes_with_keys,
)

if TYPE_CHECKING:
    from bayplan.framework import BoolArray, Domains, IntArray, NodeTable, Verdict
    from bayplan.model import Pod

CROWDED: Final = "node(s) didn't match pod topology spread constraints"
NO_LABEL: Final = CROWDED + " (missing required label)"

#: upstream's minimum where there is no domain at all (math.MaxInt32).
_NO_DOMAIN: Final = 2**31 - 1


class DomainCounts:
    """The pods that one constraint counts, by domain of its topology key."""

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
        #: int64, one entry per domain; a copy, which dry runs change.
        self.totals = totals

    def clone(self) -> DomainCounts:
        totals, match = self.totals.copy(), self._self_match
        return DomainCounts(
            self._constraint, self.domains, totals, self._counted, self._inhabited, self_match=match
        )

    def move(self, moved: Pod, row: int, change: int) -> None:
        """*moved* was added to or removed from the node at *row*.

        Like kube-scheduler, this checks neither whether the pod is terminating nor whether the selector is empty.
        """
        if (self._counted is None or self._counted[row]) and self._constraint.selector.matches(moved.labels):
            self.totals[self.domains.of_node[row]] += change

    def is_crowded(self) -> BoolArray:
        """The domains that cannot take another pod."""
        constraint = self._constraint
        crowded: BoolArray = self.totals > constraint.max_skew + self._minimum() - self._self_match
        return crowded

    def _minimum(self) -> int:
        """The lowest count of all domains; 0 if there are fewer domains than minDomains."""
        n_domains = self.domains.n_domains
        inhabited = self.totals[:n_domains]
        if self._inhabited is not None:
            inhabited = inhabited[self._inhabited]
        if len(inhabited) < self._constraint.min_domains:
            return 0
        return int(inhabited.min(initial=_NO_DOMAIN))


class SpreadState:
    """The hard constraints of a pod, in order."""

    __slots__ = ("_counts",)

    def __init__(self, counts: list[DomainCounts]) -> None:
        self._counts = counts

    @classmethod
    def count(cls, nodes: NodeTable, pod: Pod, constraints: tuple[Constraint, ...]) -> SpreadState:
        """Count the pods on the whole table *nodes*."""
        candidates = nodes_with_keys(nodes, constraints)
        return cls([_count_domains(nodes, pod, constraint, candidates) for constraint in constraints])

    def clone(self) -> SpreadState:
        return SpreadState([each.clone() for each in self._counts])

    def move(self, moved: Pod, row: int, change: int) -> None:
        for each in self._counts:
            each.move(moved, row, change)

    def verdict(self, nodes: NodeTable) -> Verdict:
        """The reason for a node is that of the first constraint it fails."""
        unlabelled: BoolArray | None = None
        crowded: BoolArray | None = None
        for each in self._counts:
            domains = each.domains if nodes.is_whole else each.domains.select(nodes.rows)
            if domains.missing is not None:
                unlabelled = _also(unlabelled, domains.missing, unless=crowded)
            in_crowd = each.is_crowded()
            if in_crowd.any():
                crowded = _also(crowded, domains.at_nodes(in_crowd), unless=unlabelled)
        verdict = nodes.accept_all()
        if unlabelled is not None:
            verdict = verdict.reject(unlabelled, NO_LABEL, Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
        return verdict if crowded is None else verdict.reject(crowded, CROWDED)


def _count_domains(
    nodes: NodeTable, pod: Pod, constraint: Constraint, candidates: BoolArray | None
) -> DomainCounts:
    domains = nodes.domains(constraint.topology_key)
    counted = counted_nodes(nodes, pod, constraint, candidates)
    totals = count_in_domains(nodes, constraint, domains, counted)
    inhabited: IntArray | None = None
    if counted is not None:
        present = domains.totals(counted.astype(np.int64))
        inhabited = np.flatnonzero(present[: domains.n_domains])
    match = constraint.selector.matches(pod.labels)
    # Copied, because dry runs change the totals, which may belong to the cache.
    return DomainCounts(constraint, domains, totals.copy(), counted, inhabited, self_match=match)


def _also(mask: BoolArray | None, more: BoolArray, *, unless: BoolArray | None) -> BoolArray:
    if unless is not None:
        more = more & ~unless
    return more if mask is None else mask | more
