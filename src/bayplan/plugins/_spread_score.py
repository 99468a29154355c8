"""PodTopologySpread's Score: the fewer matching pods in a node's domains, the better.

A domain's count is weighed by the logarithm of how many domains there are, so that keys with few domains are
not outweighed by keys with many.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayplan.framework import MAX_SCORE, ClassScores, Domains
from bayplan.model import NOTHING
from bayplan.plugins._spread_constraints import (
    HOSTNAME,
    Constraint,
    count_in_domains,
    count_matching,
    counted_nodes,
    nodes_with_keys,
)

if TYPE_CHECKING:
    from bayplan.framework import BoolArray, IntArray, NodeTable
    from bayplan.model import Pod

Number = TypeVar("Number", np.float64, np.int64)

#: More classes of nodes than this are not worth the while.
MAX_CLASSES: Final = 512


class SpreadScores(NamedTuple):
    """Columns over the snapshot's whole table."""

    #: int64: matching pods, weighed; the lower the better. By class where that is the quicker way.
    raw: IntArray | ClassScores
    #: The nodes that get no score for want of a topology key; None for no node, as it is with classes.
    ignored: BoolArray | None

    def of(self, nodes: NodeTable) -> IntArray | ClassScores:
        if nodes.is_whole:
            return self.raw
        return self.raw.at_rows(nodes.rows) if isinstance(self.raw, ClassScores) else self.raw.take(nodes.rows)

    def normalized(self, scores: IntArray, nodes: NodeTable) -> IntArray:
        """Turned round and brought into 0..100."""
        if self.ignored is None:
            return _turned(scores)
        ignored = self.ignored[nodes.rows]
        normalized = np.zeros_like(scores)
        normalized[~ignored] = _turned(scores[~ignored])
        return normalized


def _turned(scores: IntArray) -> IntArray:
    highest = int(scores.max(initial=0))
    if highest == 0:
        return np.full_like(scores, MAX_SCORE)
    lowest = int(scores.min())
    turned: IntArray = (highest + lowest) - scores
    turned *= MAX_SCORE
    turned //= highest
    return turned


def spread_scores(
    whole: NodeTable, feasible: NodeTable, pod: Pod, constraints: tuple[Constraint, ...], *, all_keys: bool
) -> SpreadScores:
    """The scores of a pod; with *all_keys*, only nodes that have every topology key count and are scored."""
    candidates = nodes_with_keys(whole, constraints) if all_keys else None
    rows = feasible.rows if candidates is None else feasible.rows[candidates[feasible.rows]]
    parts = [_part(whole, feasible, rows, pod, constraint, candidates) for constraint in constraints]
    if candidates is None:
        by_class = _by_class(parts)
        return SpreadScores(_by_node(parts) if by_class is None else by_class, None)
    return SpreadScores(_by_node(parts) * candidates, ~candidates)


def _by_node(parts: Sequence[_Part]) -> IntArray:
    """What the parts come to for each node of the whole table."""
    if len(parts) == 1:
        return parts[0].at_nodes(_rounded(parts[0].scores()))  # domains are fewer than nodes
    return _rounded(functools.reduce(np.add, [part.at_nodes(part.scores()) for part in parts]))


def _by_class(parts: Sequence[_Part]) -> ClassScores | None:
    """The same for few classes of nodes: those in the same domain that have, where hosts count too, the same count.
    None where the parts are others than these, or the classes many."""
    hosts = [part for part in parts if part.domains is None]
    if len(parts) - len(hosts) != 1 or len(hosts) > 1 or any(part.missing is not None for part in parts):
        return None
    zones = next(part for part in parts if part.domains is not None)
    assert zones.domains is not None  # noqa: S101  the line above
    of_node, n_zones = zones.domains.of_node, len(zones.counts)
    if not hosts:
        return ClassScores(of_node, _rounded(zones.scores())) if n_zones <= MAX_CLASSES else None
    counts = hosts[0].counts
    n_counts = int(counts[counts.argmax()]) + 1
    if n_counts * n_zones > MAX_CLASSES:
        return None
    of_hosts = hosts[0]._replace(counts=np.arange(n_counts)).scores()
    classes: IntArray = counts * n_zones
    classes += of_node
    scores = _rounded(np.add.outer(of_hosts, zones.scores()).ravel())
    return ClassScores(classes, scores, np.bincount(classes, minlength=len(scores)) > 0)


class _Part(NamedTuple):
    """What one constraint adds to the scores."""

    constraint: Constraint
    #: Matching pods, one entry per domain.
    counts: IntArray
    #: How many domains the nodes to be scored are in.
    n_domains: int
    #: None where each node of the whole table is a domain.
    domains: Domains | None
    #: bool, shape (n_nodes,): the nodes to which nothing is added; None for no node.
    missing: BoolArray | None

    def at_nodes(self, scores: NDArray[Number]) -> NDArray[Number]:
        """What the nodes of the whole table get, by the domains' *scores*."""
        spread = scores if self.domains is None else self.domains.at_nodes(scores)
        return spread if self.missing is None else np.where(self.missing, scores.dtype.type(0), spread)

    def scores(self) -> NDArray[np.float64]:
        """One entry per domain. maxSkew waters the differences down: within it, they should hardly matter."""
        scores: NDArray[np.float64] = np.multiply(self.counts, math.log(self.n_domains + 2), dtype=np.float64)
        scores += float(self.constraint.max_skew - 1)
        return scores


def _part(
    whole: NodeTable,
    feasible: NodeTable,
    rows: IntArray,
    pod: Pod,
    constraint: Constraint,
    candidates: BoolArray | None,
) -> _Part:
    """*rows* are the nodes to be scored."""
    domains = whole.domains(constraint.topology_key)
    missing = domains.missing if candidates is None else None
    if constraint.topology_key == HOSTNAME:
        # A host name means the node itself, whatever the policies say of it: the only count that is taken there.
        counted_here = constraint if feasible.has_pods else constraint._replace(selector=NOTHING)
        return _Part(constraint, count_matching(whole, pod, counted_here), len(rows), None, missing)
    if missing is not None:
        domains = _absent_is_empty(whole, constraint.topology_key, domains)
    counted = counted_nodes(whole, pod, constraint, candidates)
    totals = count_in_domains(whole, pod, constraint, domains, counted)
    return _Part(constraint, totals, _n_domains(domains, rows), domains, missing)


def _n_domains(domains: Domains, rows: IntArray) -> int:
    """How many domains the nodes at *rows* are in; nodes without the label are a domain of their own."""
    if domains.missing is None and len(rows) == len(domains.of_node):
        return domains.n_domains
    return int(np.count_nonzero(np.bincount(domains.of_node.take(rows))))


def _absent_is_empty(whole: NodeTable, key: str, domains: Domains) -> Domains:
    """An absent label and an empty one are the same domain here, as a lookup in Go's maps has it."""
    empty = np.flatnonzero(whole.label(key) == "")
    if not len(empty):
        return domains
    of_node = np.where(domains.of_node == domains.n_domains, domains.of_node[empty[0]], domains.of_node)
    return Domains(of_node, domains.n_domains, domains.missing)


def _rounded(scores: NDArray[np.float64]) -> IntArray:
    """Halves away from zero, as Go rounds; scores are never negative."""
    rounded: IntArray = (scores * 2).astype(np.int64)  # exact, so that nothing is lost before halves are looked at
    rounded += 1
    rounded >>= 1
    return rounded
