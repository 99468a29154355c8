"""ShadowJudge: one configuration's word about every placement.

It owns a core that follows the cluster, one change at a time, in the order of `DecisionOrder`. A placement is
judged before it is made. If the decision differs, the cluster is tried as it may have been when the scheduler
decided: with the last changes not seen yet, or with placements that were decided already and seen later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec

from bayplan.core import SchedulerCore
from bayplan.core.feasible_nodes import n_feasible_wanted
from bayplan.core.messages import CustomObjectChanged
from bayplan.explain.explainer import unplaced
from bayplan.explain.explanation import PodReference
from bayplan.explain.what_if_scheduler import ObjectChange, WhatIfScheduler
from bayplan.model import Pod
from bayplan.shadow.batch_model import BatchModel
from bayplan.shadow.comparison import Comparer, PlacementComparison
from bayplan.shadow.decision_order import ClusterChange, DecisionOrder, is_placement, was_tried
from bayplan.shadow.shadow_record import BATCH, ORDER, REAL, ShadowRecord

if TYPE_CHECKING:
    from bayplan.config import Loaded
    from bayplan.framework import Clock, Registry

#: How many changes are undone, or made early, to find the state that the scheduler saw.
_STEPS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


class ShadowJudge:
    """See the module docstring."""

    def __init__(self, name: str, loaded: Loaded, registry: Registry, clock: Clock, *, batches: bool) -> None:
        """*batches*: whether the scheduler that is compared has OpportunisticBatching."""
        self.name = name
        self._clock = clock
        self._percentages = percentages_of_nodes(loaded)
        self.core = SchedulerCore(on_all_nodes(loaded), registry, clock=clock, schedules_pods=False, seed=0)
        self._scheduler = WhatIfScheduler(self.core)
        self._comparer = Comparer(self._scheduler, self._percentages)
        self._batches = {profile: BatchModel() for profile in self.core.profiles} if batches else {}
        self._recent: deque[ObjectChange] = deque(maxlen=_STEPS[-1])

    def follow(self, change: ClusterChange) -> None:
        """Make a change of the cluster."""
        if isinstance(change, CustomObjectChanged):
            self.core.handle(change)
            return
        if isinstance(change.new, Pod):
            # Its placement may have come before its turn.
            change = ObjectChange(self.core.pods.get(change.new.key), change.new)
        self._scheduler.make(change)
        self._recent.append(change)

    def judge(self, placed: Pod, order: DecisionOrder, time: str) -> ShadowRecord | None:
        """The record of a placement that is about to be made; None if the pod is not one of this configuration.

        *order* says which other placements the scheduler may have decided before this one, or after it.
        """
        known = self.core.pods.get(placed.key)
        if known is None or placed.spec.scheduler_name not in self.core.profiles:
            return None
        pod = known if was_tried(known) else unplaced(known)
        comparison = self._compare(pod, placed.node_name)
        if comparison.class_ == REAL:
            comparison = self._in_another_order(pod, placed.node_name, order) or comparison
        return ShadowRecord(
            time=time,
            pod=PodReference(namespace=pod.namespace, name=pod.name, uid=pod.uid),
            config=self.name,
            node=placed.node_name,
            class_=comparison.class_,
            best=comparison.best,
            n_best=comparison.n_best,
            n_feasible=comparison.n_feasible,
            n_better=comparison.n_better,
            total=comparison.total,
            best_total=comparison.best_total,
            chance=comparison.chance,
            differences=comparison.differences,
            reason=comparison.reason,
        )

    def _compare(self, pod: Pod, node_name: str) -> PlacementComparison:
        comparison = self._comparer.compare(pod, node_name)
        batch = self._batches.get(pod.spec.scheduler_name)
        if batch is not None:
            now, is_real = self._clock.monotonic(), comparison.class_ == REAL
            n_outside = self._n_outside(pod, comparison.n_feasible)
            if is_real and batch.would_choose(pod, node_name, comparison.totals, now, n_outside):
                comparison.class_ = BATCH
                comparison.reason += "; the ranking made for the pod before leads there"
            by_ranking = comparison.class_ == BATCH
            batch.note(pod, node_name, comparison.totals, now, by_ranking=by_ranking)
        return comparison

    def _n_outside(self, pod: Pod, n_feasible: int) -> int:
        percentage = self._percentages[pod.spec.scheduler_name]
        return max(n_feasible - n_feasible_wanted(self.core.cache.n_nodes, percentage, samples=True), 0)

    # --- other orders -------------------------------------------------------------------------------------

    def _in_another_order(self, pod: Pod, node_name: str, order: DecisionOrder) -> PlacementComparison | None:
        """The comparison in a state of the cluster that explains the choice; None if there is none nearby."""
        for changes, what in self._other_states(pod, order):
            with self._scheduler.changed(changes):
                comparison = self._comparer.compare(pod, node_name)
            if comparison.class_ != REAL:
                detail = f" ({comparison.class_}: {comparison.reason})" if comparison.reason else ""
                comparison.class_, comparison.reason = ORDER, f"as if {what}{detail}"
                return comparison
        return None

    def _other_states(self, pod: Pod, order: DecisionOrder) -> Iterator[tuple[list[ObjectChange], str]]:
        undone = [ObjectChange(new, old) for old, new in self._changes_since(pod, order)]
        early = [
            ObjectChange(known, placed)
            for placed in order.coming(pod)
            if placed.key != pod.key and (known := self.core.pods.get(placed.key)) is not None
        ]
        for count in _STEPS:
            if count <= len(undone):
                yield undone[:count], f"the last {count} change(s) had not been seen"
            if count <= len(early):
                yield early[:count], f"the next {count} placement(s) had been decided"
            if count <= len(undone) and early:
                yield undone[:count] + early[:1], f"the last {count} change(s) had not been seen, and the next had"

    def _changes_since(self, pod: Pod, order: DecisionOrder) -> Iterator[ObjectChange]:
        """The changes since the pod was created that the scheduler need not have seen, the last one first."""
        for change in reversed(self._recent):
            old, new = change
            if isinstance(new, Pod) and new.key == pod.key:
                if old is None:
                    return  # it was decided after this
                continue
            if not (isinstance(new, Pod) and is_placement(change) and order.is_certain(new, pod)):
                yield change


def percentages_of_nodes(loaded: Loaded) -> dict[str, int]:
    """Profile → its percentageOfNodesToScore."""
    general = loaded.config.percentage_of_nodes_to_score
    return {
        profile.scheduler_name: general
        if profile.percentage_of_nodes_to_score is None
        else profile.percentage_of_nodes_to_score
        for profile in loaded.profiles
    }


def on_all_nodes(loaded: Loaded) -> Loaded:
    """The configuration without samples, and without extenders, which are not called here."""
    whole = msgspec.structs.replace(loaded.config, percentage_of_nodes_to_score=100, extenders=())
    profiles = tuple(msgspec.structs.replace(each, percentage_of_nodes_to_score=100) for each in loaded.profiles)
    return msgspec.structs.replace(loaded, config=whole, profiles=profiles)
