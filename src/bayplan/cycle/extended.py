"""The scheduling cycle with extenders: the one that awaits.

The same steps as `SchedulingCycle`, with a question to the extenders after Filter, within PostFilter and after
Score. While an answer is awaited nothing may change in the snapshot and no other cycle may begin: `Stillness` sees
to it. What each verb means for a decision is in `asking`.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from bayplan.cycle.asking import Asking
from bayplan.cycle.decision import NO_NODES, Decision
from bayplan.cycle.scheduling import SchedulingCycle
from bayplan.framework import (
    CycleState,
    Diagnosis,
    NodeTable,
    PostFilterResult,
    PreFilterOutcome,
    Runner,
    ScoreOutcome,
    Status,
)
from bayplan.framework.candidates import Consulted
from bayplan.framework.extenders import EXTENDER, Extender, ExtenderError
from bayplan.observe.record import Record

if TYPE_CHECKING:
    from bayplan.cache.snapshot import CacheSnapshot
    from bayplan.cycle.evaluation import ProfileEvaluation
    from bayplan.framework import Clock
    from bayplan.model import Pod

logger = logging.getLogger("bayplan.cycle")


class ExtendedCycle(SchedulingCycle):
    """Decides for the pods of one profile, extenders asked."""

    def __init__(
        self,
        runner: Runner,
        evaluation: ProfileEvaluation,
        snapshot: CacheSnapshot,
        *,
        extenders: Sequence[Extender],
        forgetful: Runner,
        clock: Clock,
        profile_name: str,
        percentage_of_nodes_to_score: int = 0,
        seed: int | None = None,
    ) -> None:
        """*forgetful* runs the same plugins without kept answers: those are about the snapshot's own nodes."""
        super().__init__(
            runner,
            evaluation,
            snapshot,
            profile_name=profile_name,
            percentage_of_nodes_to_score=percentage_of_nodes_to_score,
            seed=seed,
        )
        self._extenders = tuple(extenders)
        self._forgetful = forgetful
        self._clock = clock
        # Nodes that are sent over a wire are costly.
        self._adaptive = True
        self._any_will_do = self._any_will_do and not any(
            extender.is_filter or extender.is_prioritizer for extender in extenders
        )

    def schedule(self, pod: Pod, state: CycleState | None = None) -> Decision:
        raise RuntimeError("a profile with extenders has to wait for their answers: await schedule_awaiting()")

    async def schedule_awaiting(self, pod: Pod, state: CycleState) -> Decision:
        record = self._begin(pod)
        decision = await self._decide(pod, state, record)
        self._finish(record)
        return decision

    async def _decide(self, pod: Pod, state: CycleState, record: Record) -> Decision:
        nodes = self._snapshot.nodes
        if not len(nodes):
            return Decision(Status.unresolvable(NO_NODES), record, nominate="")
        diagnosis = Diagnosis(nodes)
        asking = Asking(self._extenders, pod, self._snapshot, self._clock, record)
        asked = self._pre_filter(pod, state, diagnosis, record)
        if not (asked.status.is_success or asked.status.is_rejection):
            return Decision(asked.status, record, nominate="")
        if asked.status.is_rejection:
            return await self._ask_post_filter(asking, state, diagnosis)
        record.start("Filter")
        found = await self._find(asking, state, asked, diagnosis)
        record.note_filter(diagnosis.outcome)
        if isinstance(found, Status):
            return Decision(found, record, nominate="")
        if not len(found):
            return await self._ask_post_filter(asking, state, diagnosis)
        return await self._ask_and_choose(asking, state, found, diagnosis)

    # --- feasibility ------------------------------------------------------------------------------

    async def _find(
        self, asking: Asking, state: CycleState, asked: PreFilterOutcome, diagnosis: Diagnosis
    ) -> NodeTable | Status:
        """The nodes that neither a plugin nor an extender turned down, or the error that ended the search."""
        promised = await self._promised_node(asking, state, diagnosis)
        if promised is not None:
            return promised
        found = self._filter(asking.pod, state, asked, diagnosis)
        if isinstance(found, Status):
            return found
        asking.record.start("ExtenderFilter")
        try:
            left = await asking.filter(found, diagnosis)
        except ExtenderError as error:
            return Status.failed(error)
        if len(left) != len(found):
            diagnosis.unschedulable_plugins.add(EXTENDER)
        return left

    async def _promised_node(self, asking: Asking, state: CycleState, diagnosis: Diagnosis) -> NodeTable | None:
        """As without extenders; they are asked about that node alone, and may turn it down."""
        pod = asking.pod
        alone = self._nominated_node(pod, state, diagnosis)
        if alone is None:
            return None
        asking.record.start("ExtenderFilter")
        try:
            left = await asking.filter(alone, diagnosis)
            if len(left):
                return left
        except ExtenderError as error:
            name = pod.status.nominated_node_name
            logger.error("Evaluation failed on nominated node: pod=%s node=%s: %s", pod.key, name, error)
        asking.record.start("Filter")
        return None

    # --- no node ----------------------------------------------------------------------------------

    async def _ask_post_filter(self, asking: Asking, state: CycleState, diagnosis: Diagnosis) -> Decision:
        if not self._runner.has("postFilter"):
            return self._no_node(diagnosis, None, asking.record)
        asking.record.start("PostFilter")
        steps = self._runner.post_filter_steps(state, asking.pod, diagnosis)
        consulted: Consulted | None = None
        while True:
            try:
                considered = steps.send(consulted)
            except StopIteration as end:
                result: PostFilterResult = end.value
                return self._no_node(diagnosis, result, asking.record)
            consulted = await asking.process_preemption(considered.candidates)

    # --- choice -----------------------------------------------------------------------------------

    async def _ask_and_choose(
        self, asking: Asking, state: CycleState, feasible: NodeTable, diagnosis: Diagnosis
    ) -> Decision:
        if len(feasible) == 1:
            return self._chosen(feasible, None, diagnosis, asking.record)
        scored = self._score_by(asking, state, feasible)
        if isinstance(scored, Status):
            return Decision(scored, asking.record, nominate="")
        asking.record.start("ExtenderPrioritize")
        totals = scored.totals + await asking.prioritize(feasible)
        return self._chosen(feasible, scored.with_totals(totals), diagnosis, asking.record)

    def _score_by(self, asking: Asking, state: CycleState, feasible: NodeTable) -> ScoreOutcome | Status:
        if feasible.has_pods:
            return self._score(asking.pod, state, feasible, asking.record)
        asking.record.start("PreScore")
        status = self._forgetful.pre_score(state, asking.pod, feasible)
        if not status.is_success:
            return status
        asking.record.start("Score")
        return self._forgetful.score(state, asking.pod, feasible)
