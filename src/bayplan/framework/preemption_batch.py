"""Preemption's dry runs on many nodes at once.

For pods whose filters look at nothing of a node but the object and the amounts requested on it, taking pods away
is a subtraction, so the nodes of a chunk are tried together: every step of `Preemption.select_victims` is made for
all of them before the next one. What is found for a node is exactly what `select_victims` finds for it;
tests/unit/framework/test_preemption_batch.py holds it to that.

It follows from the pod, the node and the pods there (and those promised it), so for pods alike it is kept until
one of these changes: of the hundreds of nodes that are considered for a pod, one was changed by the pod before.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from bayplan.framework.candidates import Candidate, DryRun, none_needed
from bayplan.framework.disruption import Budgets
from bayplan.framework.flat_pods import FlatPods, RankedPods
from bayplan.framework.status import Status
from bayplan.framework.verdict import BoolArray, IntArray
from bayplan.model import micros_of

if TYPE_CHECKING:
    from bayplan.framework.handle import AmountsWhatIf, Handle
    from bayplan.framework.nodes import NodeInfo
    from bayplan.framework.outcomes import FilterOutcome
    from bayplan.model import Pod

Found: TypeAlias = Candidate | Status


class Run(NamedTuple):
    """What a dry run found at a node."""

    found: Found
    #: Whether the rank is as of the time of the dry run, for the victims have not started.
    is_now: bool = False
    #: Whether it would find the same at any later time, the rank apart.
    is_lasting: bool = True


class BatchedDryRun:
    """Looks for victims on chunks of nodes, for one pod."""

    def __init__(
        self,
        given: DryRun,
        handle: Handle,
        potential_victims: Callable[[NodeInfo, Pod], list[Pod]],
        dry_run_one: Callable[[DryRun, NodeInfo], Found],
        no_victims: Callable[[str, Pod], Status],
        kept: dict[int, tuple[Run, Sequence[Pod]]] | None = None,
    ) -> None:
        """*kept*: row → what was found there for pods alike, where that still holds, and the pods that were
        promised the node then; added to. None to keep nothing."""
        self._given = given
        self._nodes = handle.snapshot.nodes
        self._evaluation = handle.evaluation
        self._potential_victims = potential_victims
        self._dry_run_one = dry_run_one
        self._no_victims = no_victims
        self._budgets = Budgets(given.budgets)
        self._now_micros = micros_of(given.now)
        #: Row → pods that count there although they are not there yet.
        self._rivals = self._evaluation.rivals(given.pod)
        self._kept = kept

    def at(self, rows: IntArray) -> Iterator[tuple[str, Found]]:
        """What was found at each of *rows*, in their order."""
        names: list[str] = self._nodes.names[rows].tolist()
        found = [self._remembered(row) for row in rows.tolist()]
        unknown = [i for i, each in enumerate(found) if each is None]
        if unknown:
            runs = self._together(rows[unknown])
            for i, run in zip(unknown, runs or (), strict=False):
                found[i] = run.found
        for name, row, each in zip(names, rows.tolist(), found, strict=True):
            yield name, each if each is not None else self._dry_run_one(self._given, self._nodes[row])

    def _remembered(self, row: int) -> Found | None:
        known = self._kept.get(row) if self._kept is not None else None
        if known is None or not _are_same(known[1], self._rivals.get(row, ())):
            return None
        found, is_now, _ = known[0]
        if is_now and isinstance(found, Candidate):
            return Candidate(found.node_name, found.victims, (*found.rank[:4], -(self._now_micros / 10**6)))
        return found

    def _together(self, rows: IntArray) -> list[Run] | None:
        """A dry run at each row; None if a plugin failed: one by one it shows where."""
        pod, nodes = self._given.pod, [self._nodes[row] for row in rows.tolist()]
        potential = [self._potential_victims(node, pod) for node in nodes]
        tried = [i for i, pods in enumerate(potential) if pods]
        tries = self._try(rows[tried], FlatPods([potential[i] for i in tried])) if tried else []
        if tries is None:
            return None
        found = dict(zip(tried, tries, strict=True))
        runs = [found[i] if i in found else Run(self._no_victims(node.name, pod)) for i, node in enumerate(nodes)]
        self._keep(rows, runs)
        return runs

    def _keep(self, rows: IntArray, runs: Sequence[Run]) -> None:
        if self._kept is not None:
            for row, run in zip(rows.tolist(), runs, strict=True):
                if run.is_lasting:
                    self._kept[row] = run, self._rivals.get(row, ())

    def _try(self, rows: IntArray, pods: FlatPods) -> list[Run] | None:
        given = self._given
        what_if = self._evaluation.amounts_what_if(given.state, given.pod, rows, pods.exemplars, self._rivals)
        # 1. Without all pods that may go, the pod must fit.
        what_if.remove(pods.of_node, pods.kinds)
        outcome = what_if.filter()
        if outcome.error is not None:
            return None
        # 2. Spare as many as possible: first those whose budget would be violated, the most important first.
        ranked = pods.ranked(outcome.feasible, self._now_micros, self._budgets)
        is_victim = _spare(ranked, what_if)
        if is_victim is None:
            return None
        return _runs(outcome, ranked, is_victim)


def _are_same(pods: Sequence[Pod], others: Sequence[Pod]) -> bool:
    """Whether these are the very same objects."""
    return pods is others or (len(pods) == len(others) and all(map(operator.is_, pods, others)))


def _spare(pods: RankedPods, what_if: AmountsWhatIf) -> BoolArray | None:
    """Put the pods back, one of every node in each turn, and take those away again beside which the pod does not
    fit: the victims. None if a plugin failed."""
    is_victim = np.zeros(len(pods), dtype=np.bool_)
    for turn in pods.turns():
        of_node, kinds = pods.of_node[turn], pods.kinds[turn]
        what_if.add(of_node, kinds)
        outcome = what_if.filter()
        if outcome.error is not None:
            return None
        must_go = ~outcome.feasible[of_node]
        what_if.remove(of_node[must_go], kinds[must_go])
        is_victim[turn[must_go]] = True
    return is_victim


def _runs(outcome: FilterOutcome, pods: RankedPods, is_victim: BoolArray) -> list[Run]:
    """For each node the candidate, or why it is none."""
    names: list[str] = outcome.nodes.names.tolist()
    victims = pods.victims(is_victim)
    runs: list[Run] = []
    for i, name in enumerate(names):
        if i in victims:
            evicted, rank, is_now = victims[i]
            runs.append(Run(Candidate(name, evicted, rank), is_now, pods.is_lasting))
        else:
            runs.append(Run(outcome.status(i) or none_needed(name), False, pods.is_lasting))
    return runs
