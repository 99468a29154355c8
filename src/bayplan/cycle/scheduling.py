"""The scheduling cycle: where one pod goes, decided over a snapshot.

Comes in: a pod and the cluster as it stands. Goes out: a Decision with its record. Nothing is sent, assumed or
queued here; that is for whoever asked.
"""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.cycle.decision import NO_NODES, Decision
from bayplan.cycle.evaluation import ProfileEvaluation
from bayplan.cycle.selections import Selections
from bayplan.cycle.window import cut, n_feasible_wanted
from bayplan.framework import (
    Code,
    CycleState,
    Diagnosis,
    FilterOutcome,
    IntArray,
    NodeTable,
    PostFilterResult,
    PreFilterOutcome,
    Runner,
    ScoreOutcome,
    Search,
    Status,
)
from bayplan.framework.outcomes import Positions
from bayplan.observe.record import Record

if TYPE_CHECKING:
    from bayplan.cache.snapshot import CacheSnapshot
    from bayplan.model import Pod

logger = logging.getLogger("bayplan.cycle")

#: upstream logs the steps of an attempt that takes longer.
SLOW_SECONDS: Final = 0.1


class SchedulingCycle:
    """Decides for the pods of one profile."""

    def __init__(
        self,
        runner: Runner,
        evaluation: ProfileEvaluation,
        snapshot: CacheSnapshot,
        *,
        profile_name: str,
        percentage_of_nodes_to_score: int = 0,
        seed: int | None = None,
    ) -> None:
        self._runner = runner
        self._evaluation = evaluation
        self._snapshot = snapshot
        self._profile_name = profile_name
        self._percentage = percentage_of_nodes_to_score
        self._adaptive = runner.has_per_node_form()
        #: Whether nobody looks at the feasible nodes, so that the first one is as good as any.
        self._any_will_do = not runner.has("score")
        #: Ties are broken by this stream, so that a run can be repeated.
        self._random = random.Random(seed)  # noqa: S311  a choice among equals, not a secret
        self._next_start = 0
        self._selections = Selections(snapshot)

    def schedule(self, pod: Pod, state: CycleState | None = None) -> Decision:
        # 1. Ask every PreFilter plugin what this pod needs, once.
        # 2. Filter: one verdict per plugin, the first rejection of a node counts.
        # 3. No node left: ask PostFilter whether evicting someone helps.
        # 4. Score the nodes left, normalise to 0–100, weigh, add up.
        # 5. Take the highest; break ties with the cycle's own random stream.
        record = self._begin(pod)
        decision = self._schedule(pod, state if state is not None else CycleState(), record)
        self._finish(record)
        return decision

    def _begin(self, pod: Pod) -> Record:
        self._runner.take_slow_calls()  # those of the steps after the last decision
        return Record(pod.key, pod.uid, self._profile_name)

    def _finish(self, record: Record) -> None:
        record.finish()
        record.slow_calls = self._runner.take_slow_calls()
        if record.seconds > SLOW_SECONDS:
            logger.info("Slow attempt: pod=%s %s", record.pod_key, record.describe_steps())

    async def schedule_awaiting(self, pod: Pod, state: CycleState) -> Decision:
        """The same for those who may have to wait: here there is nobody to wait for."""
        return self.schedule(pod, state)

    def _schedule(self, pod: Pod, state: CycleState, record: Record) -> Decision:
        nodes = self._snapshot.nodes
        if not len(nodes):
            return Decision(Status.unresolvable(NO_NODES), record, nominate="")
        diagnosis = Diagnosis(nodes)
        asked = self._pre_filter(pod, state, diagnosis, record)
        if not (asked.status.is_success or asked.status.is_rejection):
            return Decision(asked.status, record, nominate="")
        if asked.status.is_rejection:
            return self._post_filter(pod, state, diagnosis, record)
        record.start("Filter")
        found = self._find_feasible(pod, state, asked, diagnosis)
        if isinstance(found, Status):
            return Decision(found, record, nominate="")
        record.note_filter(diagnosis.outcome)
        if not len(found):
            return self._post_filter(pod, state, diagnosis, record)
        return self._choose(pod, state, found, diagnosis, record)

    # --- feasibility ------------------------------------------------------------------------------

    def _pre_filter(self, pod: Pod, state: CycleState, diagnosis: Diagnosis, record: Record) -> PreFilterOutcome:
        record.start("PreFilter")
        asked = self._runner.pre_filter(state, pod, diagnosis.nodes)
        diagnosis.unschedulable_plugins |= asked.narrowed_by
        if asked.status.is_rejection:
            diagnosis.reject_all(asked.status)
        return asked

    def _find_feasible(
        self, pod: Pod, state: CycleState, asked: PreFilterOutcome, diagnosis: Diagnosis
    ) -> NodeTable | Status:
        """The feasible nodes as a table, or the error that ended the search."""
        if (nominated := self._nominated_node(pod, state, diagnosis)) is not None:
            return nominated
        return self._filter(pod, state, asked, diagnosis)

    def _filter(
        self, pod: Pod, state: CycleState, asked: PreFilterOutcome, diagnosis: Diagnosis
    ) -> NodeTable | Status:
        """The same without a look at the promised node."""
        candidates = nodes = diagnosis.nodes
        if asked.result.node_names is not None:
            rows = [row for name in asked.result.node_names if (row := nodes.position(name)) is not None]
            candidates = nodes.select(np.array(sorted(rows), dtype=np.int64))
            # Whoever rejected the promised node is named among them, as in kube-scheduler.
            plugins = "[" + " ".join(sorted(diagnosis.unschedulable_plugins)) + "]"
            diagnosis.absent = Status.unresolvable(f"node(s) didn't satisfy plugin(s) {plugins}")
        search = self._search(candidates)
        outcome = self._evaluation.filter(state, pod, candidates, search)
        if outcome.error is not None:
            return outcome.error
        diagnosis.add_outcome(outcome)
        if search is None and candidates.is_whole:
            return self._selections.passed(outcome)
        return candidates.select(self._window(outcome, search))

    def _nominated_node(self, pod: Pod, state: CycleState, diagnosis: Diagnosis) -> NodeTable | None:
        """The node promised to the pod, if it fits now: then no other is looked at."""
        nodes, name = diagnosis.nodes, pod.status.nominated_node_name
        position = nodes.position(name) if name else None
        if position is None:
            return None
        alone = nodes.select(np.array([position], dtype=np.int64))
        outcome = self._evaluation.filter(state, pod, alone)
        if outcome.error is not None:
            logger.error("Evaluation failed on nominated node: pod=%s node=%s: %s", pod.key, name, outcome.error)
            return None
        status = outcome.status(0)
        if status is None:
            return alone
        diagnosis.reject_beforehand(name, status)
        return None

    def _search(self, candidates: NodeTable) -> Search | None:
        """Where to begin and when to stop; None to look at all nodes."""
        n_nodes = len(candidates)
        wanted = n_feasible_wanted(n_nodes, self._percentage, adaptive=self._adaptive)
        if self._any_will_do:
            wanted = 1
        if wanted >= n_nodes:
            return None
        order = self._snapshot.search_order() if candidates.is_whole else np.arange(n_nodes)
        return Search(np.roll(order, -(self._next_start % n_nodes)), wanted)

    def _window(self, outcome: FilterOutcome, search: Search | None) -> IntArray:
        """The feasible nodes to go on with; the next search begins where this one ended."""
        if search is None:
            return outcome.feasible.nonzero()[0]
        positions, n_seen = cut(outcome.feasible, search)
        n_seen = n_seen if outcome.n_seen is None else outcome.n_seen
        self._next_start = (self._next_start + n_seen) % len(self._snapshot.nodes)
        return positions

    # --- no node ----------------------------------------------------------------------------------

    def _post_filter(self, pod: Pod, state: CycleState, diagnosis: Diagnosis, record: Record) -> Decision:
        result: PostFilterResult | None = None
        if self._runner.has("postFilter"):
            record.start("PostFilter")
            result = self._runner.post_filter(state, pod, diagnosis)
        return self._no_node(diagnosis, result, record)

    @staticmethod
    def _no_node(diagnosis: Diagnosis, result: PostFilterResult | None, record: Record) -> Decision:
        nominate: str | None = ""
        victims: tuple[Pod, ...] = ()
        if result is not None:
            diagnosis.post_filter_message = result.status.message
            nominate, victims, record.preemption = result.nominated_node_name, result.victims, result.detail
        return Decision(
            Status(Code.UNSCHEDULABLE, (diagnosis.message(),)),
            record,
            diagnosis=diagnosis,
            nominate=nominate,
            victims=victims,
            n_evaluated=len(diagnosis.nodes),
        )

    # --- choice -----------------------------------------------------------------------------------

    def _choose(
        self, pod: Pod, state: CycleState, feasible: NodeTable, diagnosis: Diagnosis, record: Record
    ) -> Decision:
        scored = self._score(pod, state, feasible, record) if len(feasible) > 1 else None
        if isinstance(scored, Status):
            return Decision(scored, record, nominate="")
        return self._chosen(feasible, scored, diagnosis, record)

    def _chosen(
        self, feasible: NodeTable, scores: ScoreOutcome | None, diagnosis: Diagnosis, record: Record
    ) -> Decision:
        n_rejected = diagnosis.outcome.n_rejected if diagnosis.outcome is not None else 0
        nodes, position = feasible, 0
        if scores is not None:
            nodes, best = scores.best()
            position = self._pick(best)
            record.note_scores(scores)
        record.node_name = nodes[position].name
        return Decision(
            Status.success(),
            record,
            node_name=record.node_name,
            scores=scores,
            n_evaluated=len(feasible) + n_rejected,
            n_feasible=len(feasible),
        )

    def _score(self, pod: Pod, state: CycleState, feasible: NodeTable, record: Record) -> ScoreOutcome | Status:
        record.start("PreScore")
        status = self._runner.pre_score(state, pod, feasible)
        if not status.is_success:
            return status
        record.start("Score")
        return self._runner.score(state, pod, feasible)

    def _pick(self, best: Positions) -> int:
        return int(best[0] if len(best) == 1 else best[self._random.randrange(len(best))])
