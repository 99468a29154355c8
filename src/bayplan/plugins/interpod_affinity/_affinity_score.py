"""InterPodAffinity's Score: preferred terms of the pod, and terms of existing pods that match it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.framework import MAX_SCORE, ClassScores, IntArray, NodeTable, TermKind, extremes
from bayplan.plugins.interpod_affinity._affinity_terms import NamespaceResolver, TermTarget

if TYPE_CHECKING:
    from bayplan.model import Pod

#: With more different scores than this, scores are normalized node by node.
MAX_CLASSES: Final = 512


class Preference(NamedTuple):
    """Each counted pod in a domain adds *weight* to all nodes of the domain."""

    topology_key: str
    weight: int
    #: One entry per domain, as `Domains.totals` has them.
    in_domains: IntArray


def own_preferences(nodes: NodeTable, targets: Iterable[tuple[int, TermTarget]]) -> Iterable[Preference]:
    """Of the pod's own terms; the weights of anti-affinity are negative."""
    for weight, (key, query) in targets:
        yield Preference(key, weight, nodes.count_pods_in_domains(key, query))


def preferences_of_existing_pods(
    nodes: NodeTable, pod: Pod, namespaces: NamespaceResolver, hard_weight: int
) -> Iterable[Preference]:
    """Of the terms of existing pods that match *pod*; a required affinity term has the weight *hard_weight*."""
    for term, weight, _, in_domains in namespaces.terms_matching(pod, nodes, TermKind.PREFERRED_AFFINITY):
        yield Preference(term.topology_key, weight, in_domains)
    for term, weight, _, in_domains in namespaces.terms_matching(pod, nodes, TermKind.PREFERRED_ANTI_AFFINITY):
        yield Preference(term.topology_key, -weight, in_domains)
    if hard_weight > 0:
        for term, _, _, in_domains in namespaces.terms_matching(pod, nodes, TermKind.REQUIRED_AFFINITY):
            yield Preference(term.topology_key, hard_weight, in_domains)


def affinity_scores(nodes: NodeTable, preferences: Iterable[Preference]) -> IntArray | None:
    """The score of every node of the whole table; None if no preference applies anywhere.

    A preference applies if a matching pod is on a node that has the key, even if the weights then cancel out.
    """
    by_key: dict[str, IntArray] = {}
    applies = False
    for key, weight, in_domains in preferences:
        applies = applies or _counts_any(in_domains[: nodes.domains(key).n_domains])
        if key not in by_key:
            by_key[key] = in_domains * weight
        else:
            by_key[key] += in_domains if weight == 1 else in_domains * weight
    if not applies:
        return None
    scores: IntArray | None = None
    for key, weighed in by_key.items():
        domains = nodes.domains(key)
        if domains.missing is not None:
            weighed[-1] = 0
        at_nodes = domains.at_nodes(weighed)
        scores = at_nodes if scores is None else scores + at_nodes
    return scores


def _counts_any(counts: IntArray) -> bool:
    return bool(len(counts) and counts[counts.argmax()] > 0)


def group_by_score(scores: IntArray) -> IntArray | ClassScores:
    """The nodes grouped by score, if there are few different scores: then only these are normalized."""
    lowest, highest = extremes(scores) if len(scores) else (0, MAX_CLASSES)
    if highest - lowest >= MAX_CLASSES:
        return scores
    # Some scores in between may have no node; normalization only needs the lowest and the highest.
    return ClassScores(scores - lowest if lowest else scores, np.arange(lowest, highest + 1))


def normalized(scores: IntArray) -> IntArray:
    """Scaled so that the lowest is 0 and the highest 100; all 0 if they are equal."""
    lowest, highest = extremes(scores)
    if lowest == highest:
        return np.zeros_like(scores)
    stretched = (scores - lowest) / float(highest - lowest)
    stretched *= MAX_SCORE
    return stretched.astype(np.int64)
