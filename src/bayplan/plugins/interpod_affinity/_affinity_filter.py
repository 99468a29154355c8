"""InterPodAffinity's Filter: required affinity, required anti-affinity, and the anti-affinity of existing pods."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from bayplan.framework import BoolArray, Code, IntArray, NodeTable, TermColumn, Verdict, has_any

if TYPE_CHECKING:
    from bayplan.model import Pod
    from bayplan.plugins.interpod_affinity._affinity_terms import PodTargets, TermTarget

AFFINITY: Final = "node(s) didn't match pod affinity rules"
ANTI_AFFINITY: Final = "node(s) didn't match pod anti-affinity rules"
EXISTING_ANTI_AFFINITY: Final = "node(s) didn't satisfy existing pods anti-affinity rules"


class AffinityRejections(NamedTuple):
    """The nodes of the whole table that fail each check; bool, shape (n_nodes,); None: no node fails."""

    affinity: BoolArray | None
    anti_affinity: BoolArray | None
    existing_anti_affinity: BoolArray | None

    def verdict(self, nodes: NodeTable) -> Verdict:
        """The reason for a node is that of the first check it fails."""
        verdict = nodes.accept_all()
        seen: BoolArray | None = None
        for mask, reason, code in (
            (self.affinity, AFFINITY, Code.UNSCHEDULABLE_AND_UNRESOLVABLE),
            (self.anti_affinity, ANTI_AFFINITY, Code.UNSCHEDULABLE),
            (self.existing_anti_affinity, EXISTING_ANTI_AFFINITY, Code.UNSCHEDULABLE),
        ):
            if mask is None:
                continue
            where = mask if nodes.is_whole else mask.take(nodes.rows)
            if seen is None:
                first = seen = where
            else:
                first = where > seen
                seen = seen | where
                if not has_any(first):
                    continue
            verdict = verdict.reject(first, reason, code)
        return verdict


def lacking_required(nodes: NodeTable, pod: Pod, targets: PodTargets) -> BoolArray | None:
    """The nodes that lack, for some term, a pod in their domain that matches all terms."""
    if not targets.required:
        return None
    far: BoolArray | None = None
    unlabelled: BoolArray | None = None
    is_anywhere = False
    for key in {target.topology_key: None for target in targets.required}:
        domains = nodes.domains(key)
        absent = nodes.count_pods_in_domains(key, targets.all_required) <= 0
        if domains.missing is not None:
            absent[-1] = True
            unlabelled = _or(unlabelled, domains.missing)
        is_anywhere = is_anywhere or not absent.all()
        far = _or(far, domains.at_nodes(absent))
    # The first of a group of pods with affinity to each other may go to any node with the topology keys.
    if not is_anywhere and all(target.matches(pod) for target in targets.required):
        return unlabelled
    return far


def near_anti_affinity_pods(nodes: NodeTable, targets: tuple[TermTarget, ...]) -> BoolArray | None:
    """The nodes in a domain with a pod that the pod's own anti-affinity matches."""
    return _in_occupied_domain(nodes, ((key, nodes.count_pods_in_domains(key, query)) for key, query in targets))


def near_repelling_pods(nodes: NodeTable, terms: Iterable[TermColumn]) -> BoolArray | None:
    """The nodes in a domain with a pod that has one of *terms*."""
    return _in_occupied_domain(nodes, ((term.topology_key, in_domains) for term, _, _, in_domains in terms))


def _in_occupied_domain(nodes: NodeTable, counts: Iterable[tuple[str, IntArray]]) -> BoolArray | None:
    """The nodes whose domain has a count above 0; each of *counts* is a topology key with the counts by domain."""
    by_key: dict[str, IntArray] = {}
    for key, in_domains in counts:
        by_key[key] = by_key[key] + in_domains if key in by_key else in_domains
    mask: BoolArray | None = None
    for key, in_domains in by_key.items():
        domains = nodes.domains(key)
        taken = in_domains > 0
        if domains.missing is not None:
            taken[-1] = False
        if has_any(taken):
            mask = _or(mask, domains.at_nodes(taken))
    return mask


def _or(first: BoolArray | None, second: BoolArray) -> BoolArray:
    return second if first is None else first | second
