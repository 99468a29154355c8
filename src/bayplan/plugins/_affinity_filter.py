"""InterPodAffinity's Filter: near required pods, away from unwanted ones and from pods that want none of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from bayplan.framework import Code
from bayplan.plugins._affinity_terms import Target, query_all

if TYPE_CHECKING:
    from bayplan.framework import BoolArray, IntArray, NodeTable, TermColumn, Verdict
    from bayplan.model import Pod

AFFINITY: Final = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY: Final = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY: Final = "node(s) didn't satisfy existing pods anti-affinity rules"


class Rejected(NamedTuple):
    """The nodes of the whole table that fail each check; bool, shape (n_nodes,), None for no node."""

    affinity: BoolArray | None
    anti_affinity: BoolArray | None
    existing_anti_affinity: BoolArray | None

    def verdict(self, nodes: NodeTable) -> Verdict:
        """For each node, the first check that it fails decides the reason."""
        verdict = nodes.accept_all()
        seen: BoolArray | None = None
        for mask, reason, code in (
            (self.affinity, AFFINITY, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
            (self.anti_affinity, ANTI_AFFINITY, Code.UNSCHEDULABLE),
            (self.existing_anti_affinity, EXISTING_ANTI_AFFINITY, Code.UNSCHEDULABLE),
        ):
            if mask is None:
                continue
            where = mask if nodes.is_whole else mask[nodes.rows]
            first = where if seen is None else where & ~seen
            seen = where if seen is None else seen | where
            verdict = verdict.reject(first, reason, code)
        return verdict


def far_from_required(nodes: NodeTable, pod: Pod, targets: tuple[Target, ...]) -> BoolArray | None:
    """The nodes that are not, for every term, in a domain with a pod that meets all terms."""
    if not targets:
        return None
    counts = nodes.count_pods(query_all(targets))
    far: BoolArray | None = None
    unlabelled: BoolArray | None = None
    is_anywhere = False
    for key in {target.topology_key: None for target in targets}:
        domains = nodes.domains(key)
        absent = domains.totals(counts) <= 0
        if domains.missing is not None:
            absent[-1] = True
            unlabelled = _or(unlabelled, domains.missing)
        is_anywhere = is_anywhere or not absent.all()
        far = _or(far, domains.at_nodes(absent))
    # The first of a group of pods that want to be near each other may start anywhere.
    if not is_anywhere and all(target.matches(pod) for target in targets):
        return unlabelled
    return far


def near_unwanted(nodes: NodeTable, targets: tuple[Target, ...]) -> BoolArray | None:
    """The nodes in a domain with a pod that the pod's own anti-affinity speaks of."""
    return _share_domain(nodes, ((target.topology_key, nodes.count_pods(target.query)) for target in targets))


def near_carriers(nodes: NodeTable, terms: Iterable[TermColumn]) -> BoolArray | None:
    """The nodes in a domain with a pod that carries one of *terms*."""
    return _share_domain(nodes, ((term.topology_key, carriers) for term, _, carriers in terms))


def _share_domain(nodes: NodeTable, columns: Iterable[tuple[str, IntArray]]) -> BoolArray | None:
    """The nodes whose domain, by the key of a column, has a node above 0 in that column; None if none has."""
    by_key: dict[str, IntArray] = {}
    for key, column in columns:
        by_key[key] = by_key[key] + column if key in by_key else column
    mask: BoolArray | None = None
    for key, column in by_key.items():
        domains = nodes.domains(key)
        taken = domains.totals(column) > 0
        if domains.missing is not None:
            taken[-1] = False
        if taken.any():
            mask = _or(mask, domains.at_nodes(taken))
    return mask


def _or(first: BoolArray | None, second: BoolArray) -> BoolArray:
    return second if first is None else first | second
