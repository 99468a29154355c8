"""PodTopologySpread's Score: the fewer matching pods in a node's domains, the better.

The count of a domain is weighted by the logarithm of the number of domains, so that keys with many domains do not
outweigh keys with few.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayplan.framework import MAX_SCORE, BoolArray, ClassScores, Domains, IntArray, NodeTable, extremes
from bayplan.plugins.topology_spread._spread_constraints import (
    HOSTNAME,
    Constraint,
    count_in_domains,
    count_matching,
    counted_nodes,
    nodes_with_keys,
)

if TYPE_CHECKING:
    from bayplan.model import Pod

Number = TypeVar("Number", np.float64, np.int64)

#: With more classes of nodes than this, scoring by class does not pay off.
MAX_CLASSES: Final = 512


class SpreadScores(NamedTuple):
    """Columns over the snapshot's whole table."""

    #: int64: matching pods, weighted; the lower the better. By class where that is faster.
    raw: IntArray | ClassScores
    #: The nodes without a score because they lack a topology key; None: no such node, as always with classes.
    ignored: BoolArray | None

    def of(self, nodes: NodeTable) -> IntArray | ClassScores:
        if nodes.is_whole:
            return self.raw
        return self.raw.at_rows(nodes.rows) if isinstance(self.raw, ClassScores) else self.raw.take(nodes.rows)

    def normalized(self, scores: IntArray, nodes: NodeTable) -> IntArray:
        """Inverted and scaled to 0 … 100."""
        if self.ignored is None:
            return _inverted(scores)
        ignored = self.ignored[nodes.rows]
        normalized = np.zeros_like(scores)
        normalized[~ignored] = _inverted(scores[~ignored])
        return normalized


def _inverted(scores: IntArray) -> IntArray:
    lowest, highest = extremes(scores) if len(scores) else (0, 0)
    if highest == 0:
        return np.full_like(scores, MAX_SCORE)
    inverted: IntArray = (highest + lowest) - scores
    inverted *= MAX_SCORE
    inverted //= highest
    return inverted


def spread_scores(
    whole: NodeTable, feasible: NodeTable, pod: Pod, constraints: tuple[Constraint, ...], *, all_keys: bool
) -> SpreadScores:
    """The scores of a pod; with *all_keys*, only nodes that have every topology key count and are scored."""
    candidates = nodes_with_keys(whole, constraints) if all_keys else None
    if candidates is None:
        by_class = _by_class(whole, feasible, pod, constraints)
        if by_class is not None:
            return SpreadScores(by_class, None)
    rows = feasible.rows if candidates is None else feasible.rows[candidates[feasible.rows]]
    by_constraint = [
        _score_constraint(whole, feasible, rows, pod, constraint, candidates) for constraint in constraints
    ]
    if len(by_constraint) == 1:
        raw = by_constraint[0].at_nodes(_rounded(by_constraint[0].scores))  # domains are fewer than nodes
    else:
        raw = _rounded(functools.reduce(np.add, [each.at_nodes(each.scores) for each in by_constraint]))
    if candidates is None:
        return SpreadScores(raw, None)
    return SpreadScores(raw * candidates, ~candidates)


def _by_class(
    whole: NodeTable, feasible: NodeTable, pod: Pod, constraints: tuple[Constraint, ...]
) -> ClassScores | None:
    """The same by class of nodes: one class per domain and, with a host constraint, per count. None for other
    constraints, if nodes lack a key, or if there are too many classes."""
    hosts = [each for each in constraints if each.topology_key == HOSTNAME]
    zones = [each for each in constraints if each.topology_key != HOSTNAME]
    if len(zones) != 1 or len(hosts) > 1 or not feasible.has_pods:
        return None
    domains = whole.domains(zones[0].topology_key)
    if domains.missing is not None or domains.n_domains > MAX_CLASSES:
        return None
    of_zones = _score_constraint(whole, feasible, feasible.rows, pod, zones[0], None).scores
    if not hosts:
        return ClassScores(domains.of_node, _rounded(of_zones))
    if hosts[0].selector.is_empty or whole.domains(HOSTNAME).missing is not None:
        return None
    classes, sizes = whole.count_classes(zones[0].topology_key, hosts[0].query)
    return _by_count_and_zone(classes, sizes, len(feasible), hosts[0], of_zones)


def _by_count_and_zone(
    classes: IntArray, sizes: IntArray, n_hosts: int, host: Constraint, of_zones: NDArray[np.float64]
) -> ClassScores | None:
    """The scores of the classes as `NodeTable.count_classes` numbers them; *sizes*: the number of nodes in
    each."""
    n_counts = -(-len(sizes) // len(of_zones))
    if n_counts * len(of_zones) > MAX_CLASSES:
        return None
    of_counts = _scores(np.arange(n_counts), n_hosts, host)
    scores = _rounded(np.add.outer(of_counts, of_zones).ravel())
    present = np.zeros(len(scores), dtype=np.bool_)
    present[: len(sizes)] = sizes > 0
    return ClassScores(classes, scores, present)


class _ConstraintScores(NamedTuple):
    """What one constraint adds to the scores."""

    #: One entry per domain.
    scores: NDArray[np.float64]
    #: None where each node of the whole table is a domain.
    domains: Domains | None
    #: bool, shape (n_nodes,): the nodes to which nothing is added; None: no such node.
    missing: BoolArray | None

    def at_nodes(self, scores: NDArray[Number]) -> NDArray[Number]:
        """The *scores* of the domains, for each node of the whole table."""
        spread = scores if self.domains is None else self.domains.at_nodes(scores)
        return spread if self.missing is None else np.where(self.missing, scores.dtype.type(0), spread)


def _score_constraint(
    whole: NodeTable,
    feasible: NodeTable,
    rows: IntArray,
    pod: Pod,
    constraint: Constraint,
    candidates: BoolArray | None,
) -> _ConstraintScores:
    """*rows* are the nodes to be scored."""
    domains = whole.domains(constraint.topology_key)
    missing = domains.missing if candidates is None else None
    if constraint.topology_key == HOSTNAME:
        # A host name means the node itself: its count ignores the policies.
        counts = count_matching(whole, constraint) if feasible.has_pods else np.zeros(len(whole), dtype=np.int64)
        return _ConstraintScores(_scores(counts, len(rows), constraint), None, missing)
    if missing is not None:
        domains = _absent_is_empty(whole, constraint.topology_key, domains)
    counted = counted_nodes(whole, pod, constraint, candidates)
    totals = count_in_domains(whole, constraint, domains, counted)
    return _ConstraintScores(_scores(totals, _n_domains(domains, rows), constraint), domains, missing)


def _scores(counts: IntArray, n_domains: int, constraint: Constraint) -> NDArray[np.float64]:
    """Adds maxSkew − 1, so that differences within maxSkew matter little."""
    scores: NDArray[np.float64] = np.multiply(counts, math.log(n_domains + 2), dtype=np.float64)
    scores += float(constraint.max_skew - 1)
    return scores


def _n_domains(domains: Domains, rows: IntArray) -> int:
    """How many domains the nodes at *rows* are in; nodes without the label are a domain of their own."""
    if domains.missing is None and len(rows) == len(domains.of_node):
        return domains.n_domains
    return int(np.count_nonzero(np.bincount(domains.of_node.take(rows))))


def _absent_is_empty(whole: NodeTable, key: str, domains: Domains) -> Domains:
    """A missing label and an empty one are the same domain here, as in a lookup in Go's maps."""
    empty = np.flatnonzero(whole.label(key) == "")
    if not len(empty):
        return domains
    of_node = np.where(domains.of_node == domains.n_domains, domains.of_node[empty[0]], domains.of_node)
    return Domains(of_node, domains.n_domains, domains.missing)


def _rounded(scores: NDArray[np.float64]) -> IntArray:
    """Halves away from zero, as Go rounds; scores are never negative."""
    rounded: IntArray = (scores * 2).astype(np.int64)  # exact, so no precision is lost before rounding
    rounded += 1
    rounded >>= 1
    return rounded
