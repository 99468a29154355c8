"""Preemption's dry runs on many nodes at once.

For pods whose filters look at nothing of a node but the object and the amounts requested on it, taking pods away
is a subtraction, so the nodes of a chunk are tried together: every step of `Preemption.select_victims` is made for
all of them before the next one. What is found for a node is exactly what `select_victims` finds for it;
tests/unit/framework/test_preemption_batch.py holds it to that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

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


class BatchedDryRun:
    """Looks for victims on chunks of nodes, for one pod."""

    def __init__(
        self,
        given: DryRun,
        handle: Handle,
        potential_victims: Callable[[NodeInfo, Pod], list[Pod]],
        dry_run_one: Callable[[DryRun, NodeInfo], Found],
        no_victims: Callable[[str, Pod], Status],
    ) -> None:
        self._given = given
        self._nodes = handle.snapshot.nodes
        self._evaluation = handle.evaluation
        self._potential_victims = potential_victims
        self._dry_run_one = dry_run_one
        self._no_victims = no_victims
        self._budgets = Budgets(given.budgets)
        self._now_micros = micros_of(given.now)
        #: Nodes where pods count that are not there yet; those are looked at one by one.
        self._contested = self._evaluation.contested_nodes(given.pod)

    def at(self, rows: IntArray) -> Iterator[tuple[str, Found]]:
        """What was found at each of *rows*, in their order."""
        nodes = [self._nodes[row] for row in rows.tolist()]
        names: list[str] = self._nodes.names[rows].tolist()
        alone = {name for name in names if name in self._contested} if self._contested else set()
        together = [i for i, name in enumerate(names) if name not in alone]
        found = self._together([nodes[i] for i in together], rows[together]) if together else []
        known = {} if found is None else dict(zip(together, found, strict=True))
        for i, name in enumerate(names):
            yield name, known[i] if i in known else self._dry_run_one(self._given, nodes[i])

    def _together(self, nodes: Sequence[NodeInfo], rows: IntArray) -> list[Found] | None:
        """What was found at each node; None if a plugin failed: one by one it shows where."""
        potential = [self._potential_victims(node, self._given.pod) for node in nodes]
        found: dict[int, Found] = {}
        tried = [i for i, pods in enumerate(potential) if pods]
        if tried:
            answers = self._try(rows[tried], FlatPods([potential[i] for i in tried]))
            if answers is None:
                return None
            found = dict(zip(tried, answers, strict=True))
        pod = self._given.pod
        return [found[i] if i in found else self._no_victims(node.name, pod) for i, node in enumerate(nodes)]

    def _try(self, rows: IntArray, pods: FlatPods) -> list[Found] | None:
        given = self._given
        what_if = self._evaluation.amounts_what_if(given.state, given.pod, rows, pods.exemplars)
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
        return _answers(outcome, ranked, is_victim)


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


def _answers(outcome: FilterOutcome, pods: RankedPods, is_victim: BoolArray) -> list[Found]:
    """For each node the candidate, or why it is none."""
    names: list[str] = outcome.nodes.names.tolist()
    victims = pods.victims(is_victim)
    answers: list[Found] = []
    for i, name in enumerate(names):
        if i in victims:
            answers.append(Candidate(name, *victims[i]))
        else:
            answers.append(outcome.status(i) or none_needed(name))
    return answers
