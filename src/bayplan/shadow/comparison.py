"""How a scheduler's choice compares with Bayplan's decision about the same pod in the same cluster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from bayplan.core.feasible_nodes import n_feasible_wanted
from bayplan.explain.explanation import ScoreDifference
from bayplan.framework import CycleState, Runner, ScoreOutcome, Status
from bayplan.shadow.shadow_record import REAL, SAME, SAMPLE, TIE

if TYPE_CHECKING:
    from bayplan.core import Decision
    from bayplan.explain.what_if_scheduler import WhatIfScheduler
    from bayplan.framework import BoolArray, IntArray
    from bayplan.model import Pod

#: How often a sample is made smaller, because the scores of its nodes depend on each other.
_ROUNDS: Final = 4
#: What is less likely than this was no sample.
MIN_CHANCE: Final = 1e-6
#: How many of the best nodes are named.
N_NAMED: Final = 5


@dataclass(slots=True)
class PlacementComparison:
    """The class of a choice, and the figures behind it."""

    class_: str
    reason: str = ""
    best: tuple[str, ...] = ()
    n_best: int = 0
    n_feasible: int = 0
    n_better: int = 0
    total: int | None = None
    best_total: int | None = None
    chance: float | None = None
    differences: tuple[ScoreDifference, ...] = ()
    #: Node → total, of all feasible nodes; for what a batch remembers.
    totals: dict[str, int] = field(default_factory=dict)


class Comparer:
    """Compares choices with the decisions of one configuration."""

    def __init__(self, scheduler: WhatIfScheduler, percentages: Mapping[str, int]) -> None:
        """*percentages*: profile → percentageOfNodesToScore of the scheduler that is compared."""
        self._scheduler = scheduler
        self._percentages = percentages
        #: Cached results are about whole clusters; samples are scored afresh.
        self._runners: dict[str, Runner] = {}

    def compare(self, pod: Pod, node_name: str) -> PlacementComparison:
        """*pod* has no node yet; the scheduler chose *node_name*."""
        decision = self._scheduler.decide(pod)
        if not decision.node_name:
            return PlacementComparison(REAL, f"Bayplan finds no node: {decision.message}")
        if decision.scores is None:
            return self._compare_only_node(decision, pod, node_name)
        scores = decision.scores
        totals = np.asarray(scores.totals, dtype=np.int64)
        best = np.flatnonzero(totals == totals.max())
        comparison = PlacementComparison(
            SAME if len(best) == 1 else TIE,
            best=tuple(str(name) for name in scores.nodes.names[best[:N_NAMED]]),
            n_best=len(best),
            n_feasible=len(totals),
            best_total=int(totals.max()),
            totals=dict(zip(scores.nodes.names.tolist(), totals.tolist(), strict=True)),
        )
        position = scores.nodes.position(node_name)
        if position is None:
            comparison.class_, comparison.reason = REAL, self._rejection(pod, node_name)
            return comparison
        comparison.total = int(totals[position])
        comparison.n_better = int(np.count_nonzero(totals > totals[position]))
        if comparison.n_better:
            self._explain_lower(comparison, pod, scores, position)
        return comparison

    def _compare_only_node(self, decision: Decision, pod: Pod, node_name: str) -> PlacementComparison:
        chosen = decision.node_name
        comparison = PlacementComparison(SAME, best=(chosen,), n_best=1, n_feasible=1)
        if chosen != node_name:
            comparison.class_, comparison.reason = REAL, self._rejection(pod, node_name)
        return comparison

    def _rejection(self, pod: Pod, node_name: str) -> str:
        if self._scheduler.node(node_name) is None:
            return f"{node_name} is not a node of the cluster"
        status = self._scheduler.fits(pod, node_name)
        plugin = f" by {status.plugin}" if status.plugin else ""
        return f"{node_name} is rejected{plugin}: {', '.join(status.reasons) or 'it is not among the candidates'}"

    # --- nodes that score lower ---------------------------------------------------------------------------

    def _explain_lower(self, comparison: PlacementComparison, pod: Pod, scores: Any, position: int) -> None:
        """A better node exists: it may have been outside the sample that the scheduler looked at."""
        totals = np.asarray(scores.totals, dtype=np.int64)
        best = int(np.argmax(totals))
        comparison.differences = _differences(scores, best, position)
        detail = ", ".join(f"{each.plugin} {each.difference:+d}" for each in comparison.differences)
        comparison.class_ = REAL
        comparison.reason = (
            f"{scores.nodes.names[best]} scores {totals[best]}, {scores.nodes.names[position]} {totals[position]}"
            + (f": {detail}" if detail else "")
        )
        n_nodes = len(self._scheduler.core.cache.snapshot().nodes)
        wanted = n_feasible_wanted(n_nodes, self._percentages[pod.spec.scheduler_name], samples=True)
        if wanted >= len(totals):
            return
        comparison.chance = self._chance(scores, position, wanted)
        if comparison.chance >= MIN_CHANCE and self._can_be_sampled(pod, scores, position, wanted):
            comparison.class_ = SAMPLE
            n_better = comparison.n_better
            comparison.reason += f"; a sample of {wanted} of {len(totals)} nodes may leave {n_better} out"

    def _chance(self, scores: Any, position: int, wanted: int) -> float:
        """The chance that a sample leaves out all better nodes.

        With one worker a sample is a run of nodes in the order of the search; with many it is rather random. The
        higher of both chances counts, because neighbours are often alike.
        """
        totals = np.asarray(scores.totals, dtype=np.int64)
        order = self._scheduler.core.cache.snapshot().search_order()
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        in_order = np.argsort(place[np.asarray(scores.nodes.rows)])
        is_better = (totals > totals[position])[in_order]
        own = int(np.flatnonzero(in_order == position)[0])
        at_random = chance_of_sample(len(totals), int(is_better.sum()), wanted)
        return max(at_random, chance_of_run(is_better, own, wanted))

    def _can_be_sampled(self, pod: Pod, scores: Any, position: int, wanted: int) -> bool:
        """Whether the node is the best one of some sample of *wanted* feasible nodes."""
        rows: IntArray = np.asarray(scores.nodes.rows)
        own, totals = int(rows[position]), np.asarray(scores.totals, dtype=np.int64)
        for _ in range(_ROUNDS):
            rows = rows[totals <= totals[position]]
            if len(rows) < wanted:
                return False
            rescored = self._score(pod, rows)
            if rescored is None:
                return False
            totals, position = rescored, int(np.flatnonzero(rows == own)[0])
            if totals[position] == totals.max():
                return True
        return False

    def _score(self, pod: Pod, rows: IntArray) -> IntArray | None:
        """The totals of these nodes, scored among themselves."""
        profile, state = self._scheduler.profile(pod), CycleState()
        nodes = self._scheduler.core.cache.snapshot().nodes
        runner = self._runners.setdefault(profile.name, Runner(profile.plugins))
        sample = nodes.select(rows)
        if not runner.pre_filter(state, pod, nodes).status.is_success:
            return None
        if len(sample) == 1:
            return np.zeros(1, dtype=np.int64)
        if not runner.pre_score(state, pod, sample).is_success:
            return None
        scored: ScoreOutcome | Status = runner.score(state, pod, sample)
        return None if isinstance(scored, Status) else scored.totals


def chance_of_sample(n_feasible: int, n_better: int, wanted: int) -> float:
    """The chance that *wanted* of *n_feasible* nodes, taken at random with the chosen one, have no better one."""
    chance = 1.0
    for number in range(n_better):
        chance *= max(n_feasible - wanted - number, 0) / max(n_feasible - 1 - number, 1)
    return round(chance, 9)


def chance_of_run(is_better: BoolArray, own: int, wanted: int) -> float:
    """The share of the runs of *wanted* nodes, the first one following the last, that have the node at *own* and
    no better one."""
    n_nodes = len(is_better)
    n_before = np.concatenate([[0], np.cumsum(np.concatenate([is_better, is_better]))])
    starts = (own - np.arange(wanted)) % n_nodes
    n_better_in_run = n_before[starts + wanted] - n_before[starts]
    return float(np.count_nonzero(n_better_in_run == 0)) / n_nodes


def _differences(scores: Any, best: int, position: int) -> tuple[ScoreDifference, ...]:
    found = [
        ScoreDifference(plugin=plugin, difference=int(own.weighted[best]) - int(own.weighted[position]))
        for plugin, own in scores.by_plugin.items()
    ]
    return tuple(sorted((each for each in found if each.difference), key=lambda each: -abs(each.difference)))
