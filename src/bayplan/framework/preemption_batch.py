"""Dry runs of preemption on many nodes at once.

For pods whose filters look at nothing of a node but the object and the amounts requested on it, removing pods is a
subtraction, so the nodes of a chunk are tried together: every step of `Preemption.select_victims` is made for all
of them before the next step. The result for a node is exactly that of `select_victims`, which
tests/unit/framework/test_preemption_batch.py verifies.

The result depends on the pod, the node, the pods there and the pods nominated for it, so it is cached for the
pod's equivalence class until one of these changes: of the hundreds of nodes that are tried for a pod, the pod
before has changed one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from bayplan.framework.candidates import PRIORITY_SHIFT, Candidate, DryRun, Rank, Victims, none_needed
from bayplan.framework.pod_disruption import DisruptionBudgets
from bayplan.framework.row_cache import are_same_objects
from bayplan.framework.status import Status
from bayplan.framework.verdict import BoolArray, IntArray
from bayplan.model import micros_of

if TYPE_CHECKING:
    from bayplan.framework.handle import AmountsWhatIf, Handle
    from bayplan.framework.nodes import NodeInfo
    from bayplan.framework.verdict import FilterOutcome
    from bayplan.model import Pod

Found: TypeAlias = Candidate | Status


#: A result, and the pods that were nominated for the node then.
CachedDryRun: TypeAlias = "tuple[Found, Sequence[Pod]]"


class BatchedDryRun:
    """Looks for victims on chunks of nodes, for one pod."""

    def __init__(
        self,
        given: DryRun,
        handle: Handle,
        potential_victims: Callable[[NodeInfo, Pod], list[Pod]],
        dry_run_one: Callable[[DryRun, NodeInfo], Found],
        no_victims: Callable[[str, Pod], Status],
        cached: dict[int, CachedDryRun] | None = None,
    ) -> None:
        """*cached*: the valid results for the pod's equivalence class by row; new results are added. None: results
        are not cached."""
        self._given = given
        self._nodes = handle.snapshot.nodes
        self._evaluation = handle.evaluation
        self._potential_victims = potential_victims
        self._dry_run_one = dry_run_one
        self._no_victims = no_victims
        rules = given.rules
        self._budgets = DisruptionBudgets(given.budgets, first_violated_only=rules.first_violated_budget_only)
        self._keeps_first_unstarted = rules.keeps_first_unstarted
        self._now_micros = micros_of(given.now)
        #: Row → the pods nominated for the node.
        self._nominated = self._evaluation.nominated_pods(given.pod)
        self._cached = cached

    def at(self, rows: IntArray) -> Iterator[tuple[str, Found]]:
        """Node name and result for each of *rows*, in their order."""
        names: list[str] = self._nodes.names[rows].tolist()
        found = self._cached_results(rows.tolist())
        unknown = [i for i, each in enumerate(found) if each is None]
        if not unknown:
            return zip(names, cast("list[Found]", found), strict=True)
        for i, result in zip(unknown, self._run_together(rows[unknown]) or (), strict=False):
            found[i] = result
        return self._filled(rows, names, found)

    def _filled(
        self, rows: IntArray, names: Sequence[str], found: Sequence[Found | None]
    ) -> Iterator[tuple[str, Found]]:
        for name, row, each in zip(names, rows.tolist(), found, strict=True):
            yield name, each if each is not None else self._dry_run_one(self._given, self._nodes[row])

    def _cached_results(self, rows: Sequence[int]) -> list[Found | None]:
        cached, nominated = self._cached, self._nominated
        if not cached:
            return [None] * len(rows)
        found: list[Found | None] = []
        for row in rows:
            result, then_nominated = cached.get(row, (None, ()))
            found.append(result if are_same_objects(then_nominated, nominated.get(row, ())) else None)
        return found

    def _run_together(self, rows: IntArray) -> list[Found] | None:
        """The result for each row; None if a plugin failed: dry runs one by one then show on which node."""
        pod, nodes = self._given.pod, [self._nodes[row] for row in rows.tolist()]
        potential = [self._potential_victims(node, pod) for node in nodes]
        tried = [i for i, pods in enumerate(potential) if pods]
        tries = self._try(rows[tried], PotentialVictims([potential[i] for i in tried])) if tried else []
        if tries is None:
            return None
        none = [i for i, pods in enumerate(potential) if not pods]
        refused = [self._no_victims(nodes[i].name, pod) for i in none]
        self._store(rows[none], refused)
        found = dict(zip((*tried, *none), (*tries, *refused), strict=True))
        return [found[i] for i in range(len(nodes))]

    def _try(self, rows: IntArray, pods: PotentialVictims) -> list[Found] | None:
        given = self._given
        what_if = self._evaluation.amounts_what_if(
            given.state, given.pod, rows, pods.kind_examples, self._nominated
        )
        # 1. Without all potential victims the pod must fit.
        what_if.remove(pods.of_node, pods.kinds)
        outcome = what_if.filter()
        if outcome.error is not None:
            return None
        # 2. Spare as many as possible: first pods whose budget would be violated, the most important first.
        ranked = pods.ranked(
            outcome.feasible, self._now_micros, self._budgets, keeps_first_unstarted=self._keeps_first_unstarted
        )
        is_victim = _spare(ranked, what_if)
        if is_victim is None:
            return None
        results = _results(outcome, ranked, is_victim)
        if ranked.is_order_final:
            self._store(rows, results)
        return results

    def _store(self, rows: IntArray, found: Sequence[Found]) -> None:
        if self._cached is not None:
            for row, each in zip(rows.tolist(), found, strict=True):
                self._cached[row] = each, self._nominated.get(row, ())


def _spare(pods: RankedVictims, what_if: AmountsWhatIf) -> BoolArray | None:
    """Put the pods back, one per node in each round, and remove again those with which the pod does not fit: the
    victims. None if a plugin failed."""
    is_victim = np.zeros(len(pods), dtype=np.bool_)
    for added in pods.rounds():
        of_node, kinds = pods.of_node[added], pods.kinds[added]
        what_if.add(of_node, kinds)
        outcome = what_if.filter()
        if outcome.error is not None:
            return None
        must_go = ~outcome.feasible[of_node]
        what_if.remove(of_node[must_go], kinds[must_go])
        is_victim[added[must_go]] = True
    return is_victim


def _results(outcome: FilterOutcome, pods: RankedVictims, is_victim: BoolArray) -> list[Found]:
    """For each node the candidate, or why it is none."""
    names: list[str] = outcome.nodes.names.tolist()
    victims = pods.victims(is_victim)
    results: list[Found] = []
    for i, name in enumerate(names):
        if i in victims:
            results.append(Candidate(name, *victims[i]))
        else:
            results.append(outcome.status(i) or none_needed(name))
    return results


class PotentialVictims:
    """The pods that may be evicted from several nodes, as arrays.

    Entry *i* of every array belongs to pod *i*; the pods of one node are consecutive. A node is identified by its
    position in the table that is being tried.
    """

    def __init__(self, by_node: Sequence[Sequence[Pod]]) -> None:
        self.pods = list(chain.from_iterable(by_node))
        #: int64, shape (n_pods,): the position of the pod's node.
        self.of_node: IntArray = np.repeat(np.arange(len(by_node)), [len(pods) for pods in by_node])
        summaries = [pod.request_summary for pod in self.pods]
        distinct = dict(zip(summaries, self.pods, strict=True))
        #: A pod of each kind; pods of one kind have the same requests.
        self.kind_examples = list(distinct.values())
        numbers = {summary: number for number, summary in enumerate(distinct)}
        #: int64, shape (n_pods,): the index of the pod's kind.
        self.kinds: IntArray = np.fromiter((numbers[each] for each in summaries), np.int64, len(summaries))

    def ranked(
        self,
        is_tried: BoolArray,
        now_micros: int,
        budgets: DisruptionBudgets,
        *,
        keeps_first_unstarted: bool = False,
    ) -> RankedVictims:
        """The pods of the nodes in *is_tried* (bool, shape (n_nodes,)), the most important of each node first."""
        chosen = np.flatnonzero(is_tried[self.of_node])
        pods = self.pods if len(chosen) == len(self.pods) else [self.pods[i] for i in chosen.tolist()]
        priorities = np.fromiter((pod.priority for pod in pods), np.int64, len(pods))
        started = [pod.started_micros for pod in pods]
        starts = np.array([now_micros if start is None else start for start in started], dtype=np.int64)
        has_not = np.array([start is None for start in started], dtype=np.bool_)
        # A pod that has not started counts as started now: after all others, unless clocks differ.
        is_order_final = not has_not.any() or bool((starts[~has_not] < now_micros).all())
        # See `sort_by_importance` for pods that have not started.
        numbers = np.arange(len(pods))
        if not keeps_first_unstarted:
            numbers = np.where(has_not, -numbers, numbers)
        order = np.lexsort((numbers, starts, -priorities, self.of_node[chosen]))
        chosen = chosen[order]
        return RankedVictims(
            [self.pods[i] for i in chosen.tolist()],
            self.of_node[chosen],
            self.kinds[chosen],
            priorities[order],
            starts[order],
            has_not[order],
            budgets,
            is_order_final=is_order_final,
        )


class RankedVictims:
    """The potential victims on nodes where evicting all of them helps, by importance; arrays as above."""

    def __init__(
        self,
        pods: list[Pod],
        of_node: IntArray,
        kinds: IntArray,
        priorities: IntArray,
        starts: IntArray,
        has_not_started: BoolArray,
        budgets: DisruptionBudgets,
        *,
        is_order_final: bool,
    ) -> None:
        self.pods = pods
        self.of_node = of_node
        self.kinds = kinds
        self._priorities = priorities
        self._starts = starts
        self._has_not_started = has_not_started
        #: Whether the order will be the same at any later time.
        self.is_order_final = is_order_final
        #: Where in the arrays each node's pods begin.
        self._firsts = _firsts(of_node)
        #: bool, shape (n_pods,): the pods whose eviction violates a budget; None if there is none.
        self._protected = self._find_protected(budgets) if budgets else None

    def __len__(self) -> int:
        return len(self.pods)

    def _find_protected(self, budgets: DisruptionBudgets) -> BoolArray | None:
        found = [
            violated
            for first, end in pairwise([*self._firsts.tolist(), len(self.pods)])
            for violated in budgets.violations(self.pods[first:end])
        ]
        return np.array(found, dtype=np.bool_) if any(found) else None

    def rounds(self) -> Iterator[IntArray]:
        """The first pod to be spared of every node, then the second of every node that has one, and so on."""
        n_pods = len(self.pods)
        if not n_pods:
            return
        order = np.arange(n_pods)
        if self._protected is not None:
            order = np.lexsort((~self._protected, self.of_node))
        sizes = np.diff(self._firsts, append=n_pods)
        for n_done in range(int(sizes.max())):
            yield order[self._firsts[sizes > n_done] + n_done]

    def victims(self, is_victim: BoolArray) -> dict[int, tuple[Victims, Rank, float | None]]:
        """Position of a node → its victims, the most important first, with their rank and start (see Candidate);
        nodes without victims are absent."""
        chosen = np.flatnonzero(is_victim)
        if not len(chosen):
            return {}
        violations = np.zeros(len(chosen), dtype=np.int64)
        if self._protected is not None:
            # Of equally important pods, pods with a budget come first.
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
            # The first victim is the most important, and of equally important ones the earliest started.
            self._starts[leading].tolist(),
            self._has_not_started[leading].tolist(),
            strict=True,
        ):
            victims = Victims(tuple(pods[first : first + size]), n_violations)
            found[node] = victims, (n_violations, highest, total, size), None if has_not else start / 10**6
        return found


def _firsts(of_node: IntArray) -> IntArray:
    """The positions in *of_node*, whose equal entries are consecutive, where a new node begins."""
    return np.flatnonzero(np.diff(of_node, prepend=-1))
