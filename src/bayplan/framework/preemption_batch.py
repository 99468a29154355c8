"""Preemption's dry runs on many nodes at once.

For pods whose filters look at nothing of a node but the object and the amounts requested on it, taking pods away
is a subtraction, so the nodes of a chunk are tried together: every step of `Preemption.select_victims` is made for
all of them before the next one. What is found for a node is exactly what `select_victims` finds for it;
tests/unit/framework/test_preemption_batch.py holds it to that.

It follows from the pod, the node and the pods there (and those promised it), so for pods alike it is kept until
one of these changes: of the hundreds of nodes that are considered for a pod, one was changed by the pod before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from bayplan.framework.candidates import Candidate, DryRun, none_needed
from bayplan.framework.disruption import Budgets
from bayplan.framework.flat_pods import FlatPods, RankedPods
from bayplan.framework.kept_rows import are_same
from bayplan.framework.status import Status
from bayplan.framework.verdict import BoolArray, IntArray
from bayplan.model import micros_of

if TYPE_CHECKING:
    from bayplan.framework.handle import AmountsWhatIf, Handle
    from bayplan.framework.nodes import NodeInfo
    from bayplan.framework.outcomes import FilterOutcome
    from bayplan.model import Pod

Found: TypeAlias = Candidate | Status


#: What was found, and the pods that were promised the node then.
KeptRun: TypeAlias = "tuple[Found, Sequence[Pod]]"


class BatchedDryRun:
    """Looks for victims on chunks of nodes, for one pod."""

    def __init__(
        self,
        given: DryRun,
        handle: Handle,
        potential_victims: Callable[[NodeInfo, Pod], list[Pod]],
        dry_run_one: Callable[[DryRun, NodeInfo], Found],
        no_victims: Callable[[str, Pod], Status],
        kept: dict[int, KeptRun] | None = None,
    ) -> None:
        """*kept*: what was found for pods alike, by row, where that still holds; added to. None: keep nothing."""
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
        found = self._remembered(rows.tolist())
        unknown = [i for i, each in enumerate(found) if each is None]
        if not unknown:
            return zip(names, cast("list[Found]", found), strict=True)
        for i, answer in zip(unknown, self._together(rows[unknown]) or (), strict=False):
            found[i] = answer
        return self._filled(rows, names, found)

    def _filled(
        self, rows: IntArray, names: Sequence[str], found: Sequence[Found | None]
    ) -> Iterator[tuple[str, Found]]:
        for name, row, each in zip(names, rows.tolist(), found, strict=True):
            yield name, each if each is not None else self._dry_run_one(self._given, self._nodes[row])

    def _remembered(self, rows: Sequence[int]) -> list[Found | None]:
        """What is known of each row."""
        kept, rivals = self._kept, self._rivals
        if not kept:
            return [None] * len(rows)
        found: list[Found | None] = []
        for row in rows:
            answer, promised = kept.get(row, (None, ()))
            found.append(answer if are_same(promised, rivals.get(row, ())) else None)
        return found

    def _together(self, rows: IntArray) -> list[Found] | None:
        """What was found at each row; None if a plugin failed: one by one it shows where."""
        pod, nodes = self._given.pod, [self._nodes[row] for row in rows.tolist()]
        potential = [self._potential_victims(node, pod) for node in nodes]
        tried = [i for i, pods in enumerate(potential) if pods]
        tries = self._try(rows[tried], FlatPods([potential[i] for i in tried])) if tried else []
        if tries is None:
            return None
        none = [i for i, pods in enumerate(potential) if not pods]
        refused = [self._no_victims(nodes[i].name, pod) for i in none]
        self._keep(rows[none], refused)
        found = dict(zip((*tried, *none), (*tries, *refused), strict=True))
        return [found[i] for i in range(len(nodes))]

    def _try(self, rows: IntArray, pods: FlatPods) -> list[Found] | None:
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
        answers = _answers(outcome, ranked, is_victim)
        if ranked.is_lasting:
            self._keep(rows, answers)
        return answers

    def _keep(self, rows: IntArray, found: Sequence[Found]) -> None:
        if self._kept is not None:
            for row, each in zip(rows.tolist(), found, strict=True):
                self._kept[row] = each, self._rivals.get(row, ())


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
