"""The pods of many nodes as arrays: what batched preemption counts with.

Entry *i* of every array speaks of pod *i*; the pods of one node follow each other. A node is known by its position
in the table that is being tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np

from bayplan.framework.candidates import PRIORITY_SHIFT, Rank, Victims
from bayplan.framework.disruption import Budgets
from bayplan.framework.verdict import BoolArray, IntArray

if TYPE_CHECKING:
    from bayplan.model import Pod


class FlatPods:
    """The pods that may go."""

    def __init__(self, by_node: Sequence[Sequence[Pod]]) -> None:
        self.pods = list(chain.from_iterable(by_node))
        #: int64, shape (n_pods,): the position of the pod's node.
        self.of_node: IntArray = np.repeat(np.arange(len(by_node)), [len(pods) for pods in by_node])
        summaries = [pod.request_summary for pod in self.pods]
        distinct = dict(zip(summaries, self.pods, strict=True))
        #: A pod of each kind; pods of one kind request the same.
        self.exemplars = list(distinct.values())
        numbers = {summary: number for number, summary in enumerate(distinct)}
        #: int64, shape (n_pods,): the number of the pod's kind.
        self.kinds: IntArray = np.fromiter((numbers[each] for each in summaries), np.int64, len(summaries))

    def ranked(self, is_tried: BoolArray, now_micros: int, budgets: Budgets) -> RankedPods:
        """The pods of the nodes in *is_tried* (bool, shape (n_nodes,)), the most important of each node first."""
        kept = np.flatnonzero(is_tried[self.of_node])
        pods = self.pods if len(kept) == len(self.pods) else [self.pods[i] for i in kept.tolist()]
        priorities = np.fromiter((pod.priority for pod in pods), np.int64, len(pods))
        started = [pod.started_micros for pod in pods]
        starts = np.array([now_micros if start is None else start for start in started], dtype=np.int64)
        has_not = np.array([start is None for start in started], dtype=np.bool_)
        # A pod that has not started counts as started now: after all others, unless clocks differ.
        is_lasting = not has_not.any() or bool((starts[~has_not] < now_micros).all())
        order = np.lexsort((starts, -priorities, self.of_node[kept]))
        kept = kept[order]
        return RankedPods(
            [self.pods[i] for i in kept.tolist()],
            self.of_node[kept],
            self.kinds[kept],
            priorities[order],
            starts[order],
            has_not[order],
            budgets,
            is_lasting=is_lasting,
        )


class RankedPods:
    """The pods that may go from nodes where that helps, by importance."""

    def __init__(
        self,
        pods: list[Pod],
        of_node: IntArray,
        kinds: IntArray,
        priorities: IntArray,
        starts: IntArray,
        has_not_started: BoolArray,
        budgets: Budgets,
        *,
        is_lasting: bool,
    ) -> None:
        self.pods = pods
        self.of_node = of_node
        self.kinds = kinds
        self._priorities = priorities
        self._starts = starts
        self._has_not_started = has_not_started
        #: Whether the order will be the same at any later time.
        self.is_lasting = is_lasting
        #: Where in the arrays each node's pods begin.
        self._firsts = _firsts(of_node)
        #: bool, shape (n_pods,): whose eviction a budget forbids; None if nobody's.
        self._protected = self._find_protected(budgets) if budgets else None

    def __len__(self) -> int:
        return len(self.pods)

    def _find_protected(self, budgets: Budgets) -> BoolArray | None:
        found = [
            violated
            for first, end in pairwise([*self._firsts.tolist(), len(self.pods)])
            for violated in budgets.violations(self.pods[first:end])
        ]
        return np.array(found, dtype=np.bool_) if any(found) else None

    def turns(self) -> Iterator[IntArray]:
        """The first pod to be spared of every node, the second of every node that has one, and so on."""
        n_pods = len(self.pods)
        if not n_pods:
            return
        order = np.arange(n_pods)
        if self._protected is not None:
            order = np.lexsort((~self._protected, self.of_node))
        sizes = np.diff(self._firsts, append=n_pods)
        for turn in range(int(sizes.max())):
            yield order[self._firsts[sizes > turn] + turn]

    def victims(self, is_victim: BoolArray) -> dict[int, tuple[Victims, Rank, float | None]]:
        """Position of a node → its victims, the most important first, with their rank and their start (see
        Candidate); nodes without are absent."""
        chosen = np.flatnonzero(is_victim)
        if not len(chosen):
            return {}
        violations = np.zeros(len(chosen), dtype=np.int64)
        if self._protected is not None:
            # Of equally important pods, those with a budget come first.
            keys = (~self._protected, self._starts, -self._priorities, self.of_node)
            chosen = chosen[np.lexsort([key[chosen] for key in keys])]
            violations = self._protected[chosen].astype(np.int64)
        firsts = _firsts(self.of_node[chosen])
        sizes = np.diff(firsts, append=len(chosen))
        priorities = self._priorities[chosen]
        leading = chosen[firsts]
        pods = [self.pods[i] for i in chosen.tolist()]
        found: dict[int, tuple[Victims, Rank, float | None]] = {}
        for node, first, size, n_violations, highest, total, start, has_not in zip(
            self.of_node[leading].tolist(),
            firsts.tolist(),
            sizes.tolist(),
            np.add.reduceat(violations, firsts).tolist(),
            self._priorities[leading].tolist(),
            (np.add.reduceat(priorities, firsts) + sizes * PRIORITY_SHIFT).tolist(),
            # The first is the most important, and of those as important the one that started first.
            self._starts[leading].tolist(),
            self._has_not_started[leading].tolist(),
            strict=True,
        ):
            victims = Victims(tuple(pods[first : first + size]), n_violations)
            found[node] = victims, (n_violations, highest, total, size), None if has_not else start / 10**6
        return found


def _firsts(of_node: IntArray) -> IntArray:
    """Where in *of_node*, whose equal entries follow each other, a new node begins."""
    return np.flatnonzero(np.diff(of_node, prepend=-1))
