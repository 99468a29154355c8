"""InterPodAffinity's Score: preferences of the pod, and those of the pods on nodes that speak of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.framework import MAX_SCORE, ClassScores, IntArray, NodeTable, TermKind, extremes
from bayplan.plugins._affinity_terms import Namespaces, Target

if TYPE_CHECKING:
    from bayplan.model import Pod

#: More different scores than this are normalised node by node.
MAX_CLASSES: Final = 512


class Preference(NamedTuple):
    """Each pod counted in a domain is worth *weight* to all nodes of that domain."""

    topology_key: str
    weight: int
    #: One entry per domain, as `Domains.totals` has them.
    in_domains: IntArray


def own_preferences(nodes: NodeTable, targets: Iterable[tuple[int, Target]]) -> Iterable[Preference]:
    """What the pod's own terms say; the weights of anti-affinity are negative."""
    for weight, (key, query) in targets:
        yield Preference(key, weight, nodes.count_pods_in_domains(key, query))


def preferences_of_others(
    nodes: NodeTable, pod: Pod, namespaces: Namespaces, hard_weight: int
) -> Iterable[Preference]:
    """What the terms of pods on nodes say of *pod*; a required affinity counts with *hard_weight*."""
    for term, weight, _, in_domains in namespaces.terms_about(pod, nodes, TermKind.PREFERRED_AFFINITY):
        yield Preference(term.topology_key, weight, in_domains)
    for term, weight, _, in_domains in namespaces.terms_about(pod, nodes, TermKind.PREFERRED_ANTI_AFFINITY):
        yield Preference(term.topology_key, -weight, in_domains)
    if hard_weight > 0:
        for term, _, _, in_domains in namespaces.terms_about(pod, nodes, TermKind.REQUIRED_AFFINITY):
            yield Preference(term.topology_key, hard_weight, in_domains)


def affinity_scores(nodes: NodeTable, preferences: Iterable[Preference]) -> IntArray | None:
    """The score of every node of the whole table; None if no preference applies anywhere.

    One applies if a pod it speaks of is on a node that has the key, even if the weights then cancel out.
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


def by_class(scores: IntArray) -> IntArray | ClassScores:
    """The nodes by their score, where there are few: then few are normalised."""
    lowest, highest = extremes(scores) if len(scores) else (0, MAX_CLASSES)
    if highest - lowest >= MAX_CLASSES:
        return scores
    # Between the two, no node need have a score: only the lowest and the highest matter to the others.
    return ClassScores(scores - lowest if lowest else scores, np.arange(lowest, highest + 1))


def normalized(scores: IntArray) -> IntArray:
    """Stretched so that the lowest is 0 and the highest 100; all 0 if they are equal."""
    lowest, highest = extremes(scores)
    if lowest == highest:
        return np.zeros_like(scores)
    stretched = (scores - lowest) / float(highest - lowest)
    stretched *= MAX_SCORE
    return stretched.astype(np.int64)
