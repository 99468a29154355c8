"""Life of a pod: from the queue to a node, or back to the queue. Read it top to bottom.

    pop ─▶ PreFilter ─▶ Filter ─▶ Score ─▶ select ─▶ assume ─▶ Reserve ─▶ Permit ─▶ wait ─▶ binding ─▶ bound
                          │ no node fits                          │          │        │        │
                          ▼                                       └──────────┴────────┴────────┤ failed
                        PostFilter ─▶ back to the queue ◀──────── unreserve, forget ◀──────────┘

One `ProfileScheduler` schedules the pods of one profile: `attempt` does everything, `schedule_pod` decides. An
attempt is a generator: it yields `AskExtenders` and is resumed with the results; without them it never yields.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Final

import numpy as np

from bayplan.core.decision import NO_NODES, Decision, Failure, with_nominated_node
from bayplan.core.extender_session import ExtenderSession, ExtenderSteps
from bayplan.core.feasible_nodes import FeasibleNodes, NodeSampler, TieBreaker
from bayplan.core.messages import AssumedPod, RecordEvent, StartBinding, WriteStatus
from bayplan.core.score_logs import log_plugin_scores, log_totals
from bayplan.framework import (
    SUCCESS,
    BindPlan,
    Code,
    CycleState,
    Diagnosis,
    NodeTable,
    PostFilterResult,
    PreFilterOutcome,
    Runner,
    ScoreOutcome,
    Status,
)
from bayplan.framework.calls import wrapped
from bayplan.framework.extenders import EXTENDER, ExtenderError
from bayplan.model import Pod
from bayplan.observe import klog
from bayplan.observe.record import Record
from bayplan.queue import ASSIGNED_POD_DELETE, QueuedPodInfo
from bayplan.queue.queue import QueueError

if TYPE_CHECKING:
    from bayplan.core.parts import CoreParts
    from bayplan.core.profile import Profile
    from bayplan.core.waiting_pods import WaitingPod

log = klog.get_logger("bayplan.core", "schedule_one.py")

#: upstream logs the steps of an attempt that takes longer.
SLOW_SECONDS: Final = 0.1


@dataclass(slots=True)
class CycleContext:
    """What the steps of one scheduling cycle share."""

    pod: Pod
    state: CycleState
    record: Record
    diagnosis: Diagnosis
    #: None without extenders.
    session: ExtenderSession | None


class ProfileScheduler:
    """Schedules the pods of one profile."""

    def __init__(
        self,
        profile: Profile,
        parts: CoreParts,
        *,
        percentage_of_nodes_to_score: int = 0,
        tie_breaker: TieBreaker | None = None,
        seed: int | None = None,
    ) -> None:
        extenders = parts.extenders
        self.profile = profile
        self._name = profile.name
        self._runner = profile.runner
        self._evaluation = profile.evaluation
        self._snapshot = parts.cache.snapshot()
        self._parts = parts
        self._cache = parts.cache
        self._queue = parts.queue
        self._nominator = parts.nominator
        self._extenders = extenders
        self._emit = parts.emit
        self._observer = parts.observer
        #: Extenders may return nodes of their own; cached results are about the snapshot's nodes only.
        self._uncached_runner = Runner(profile.plugins) if extenders else profile.runner
        self._sampler = NodeSampler(
            self._snapshot,
            percentage_of_nodes_to_score,
            # Nodes that are looked at one at a time, or sent over a wire, are expensive.
            is_expensive=bool(extenders) or self._runner.has_per_node_form(),
            # If nothing scores nodes, the first feasible one will do.
            takes_first=not self._runner.has("score")
            and not any(extender.is_filter or extender.is_prioritizer for extender in extenders),
        )
        self._feasible_nodes = FeasibleNodes(self._snapshot)
        self._tie_breaker = tie_breaker
        #: Binding cycles under way; the driver counts them.
        self.n_binding = 0
        #: Seeded, so that a run can be repeated.
        self._random = random.Random(seed)  # noqa: S311  a choice among equals, not a secret

    # --- one attempt --------------------------------------------------------------------------------------

    def attempt(self, info: QueuedPodInfo) -> ExtenderSteps[None]:
        """Try to schedule a pod that was popped from the queue."""
        pod = info.pod
        if log.verbosity >= 4:
            log.info("About to try and schedule pod", v=4, pod=pod)
        if pod.is_terminating or self._cache.is_assumed(pod.uid):
            if pod.is_terminating:
                note = f"skip schedule deleting pod: {pod.namespace}/{pod.name}"
                self._emit(RecordEvent(self._name, pod, "Warning", "FailedScheduling", "Scheduling", note))
            self._queue.done(pod.uid)
            return
        if log.verbosity >= 3:
            log.info("Attempting to schedule pod", v=3, pod=pod)
        if self._observer is not None:
            self._observer.started(self._name)
        start, state = perf_counter(), CycleState()
        try:
            decision = yield from self.schedule_pod(pod, state)
            self._note_decision(state, decision)
            if decision.node_name:
                self._assume(info, state, decision, start)
            else:
                if decision.nominate:
                    self._parts.preemptions.start(pod, decision.nominate, decision.victims, self._name)
                self._handle_failure(info, Failure.of_decision(decision), start)
        except Exception as error:
            log.error(error, "Attempt raised an exception", trace=error, pod=pod)
            if self._cache.is_assumed(pod.uid):
                self._cache.forget(pod.uid)
            self._handle_failure(info, Failure.of_exception(error), start)

    def _note_decision(self, state: CycleState, decision: Decision) -> None:
        if self._observer is not None:
            self._observer.decided(self._name, state, decision)
        if self._parts.records is not None:
            decision.record.message = "" if decision.node_name else decision.message
            self._parts.records.add(decision.record)

    def schedule_pod(self, pod: Pod, state: CycleState) -> ExtenderSteps[Decision]:
        """The decision alone: leaves the cache and the queue as they are."""
        self._runner.take_slow_calls()  # discards those since the last decision
        record = Record(pod.key, pod.uid, self._name)
        decision = yield from self._decide(pod, state, record)
        record.finish()
        record.slow_calls = self._runner.take_slow_calls()
        if record.seconds > SLOW_SECONDS:
            log.info(f"Slow attempt: pod={record.pod_key} {record.describe_steps()}")
        return decision

    def _decide(self, pod: Pod, state: CycleState, record: Record) -> ExtenderSteps[Decision]:
        nodes = self._snapshot.nodes
        if not len(nodes):
            return Decision(Status.unresolvable(NO_NODES), record, nominate="")
        session = None
        if self._extenders:
            session = ExtenderSession(self._extenders, pod, self._snapshot, self._parts.clock, record)
        diagnosis = Diagnosis(nodes)
        cycle = CycleContext(pod, state, record, diagnosis, session)
        # 1. Ask every PreFilter plugin what this pod needs, once.
        record.start("PreFilter")
        pre_filter = self._runner.pre_filter(state, pod, nodes)
        status = pre_filter.status
        diagnosis.unschedulable_plugins |= pre_filter.narrowed_by
        if status.is_rejection:
            diagnosis.reject_all(status)
            return (yield from self._post_filter(cycle))
        if not status.is_success:
            return Decision(status, record, nominate="")
        # 2. Filter: the first plugin that rejects a node decides. Then the extenders' filters.
        record.start("Filter")
        feasible = yield from self._find_feasible(cycle, pre_filter)
        record.filter = diagnosis.outcome
        if isinstance(feasible, Status):
            return Decision(feasible, record, nominate="")
        # 3. No node left: ask PostFilter whether evicting pods helps.
        if not len(feasible):
            return (yield from self._post_filter(cycle))
        # 4. Score the feasible nodes, normalize to 0–100, weigh, add up.
        scores: ScoreOutcome | None = None
        if len(feasible) > 1:
            scored = yield from self._score(cycle, feasible)
            if isinstance(scored, Status):
                return Decision(scored, record, nominate="")
            scores = scored
        # 5. Take the node with the highest total; break ties at random.
        return self._select_node(cycle, feasible, scores)

    # --- Filter -------------------------------------------------------------------------------------------

    def _find_feasible(
        self, cycle: CycleContext, pre_filter: PreFilterOutcome
    ) -> ExtenderSteps[NodeTable | Status]:
        """The feasible nodes, or the error that ended the search."""
        if cycle.pod.status.nominated_node_name:
            nominated = yield from self._evaluate_nominated_node(cycle)
            if nominated is not None:
                return nominated
        found = self._filter(cycle, pre_filter)
        session = cycle.session
        if session is None or isinstance(found, Status):
            return found
        cycle.record.start("ExtenderFilter")
        try:
            left = yield from session.filter(found, cycle.diagnosis)
        except ExtenderError as error:
            return Status.failed(error)
        if len(left) != len(found):
            cycle.diagnosis.unschedulable_plugins.add(EXTENDER)
        return left

    def _evaluate_nominated_node(self, cycle: CycleContext) -> ExtenderSteps[NodeTable | None]:
        """The pod's nominated node, if it is feasible: then no other node is evaluated."""
        pod, diagnosis = cycle.pod, cycle.diagnosis
        nodes, name = diagnosis.nodes, pod.status.nominated_node_name
        position = nodes.position(name)
        if position is None:
            return None
        alone = nodes.select(np.array([position], dtype=np.int64))
        outcome = self._evaluation.filter(cycle.state, pod, alone)
        if outcome.error is not None:
            log.error(outcome.error.message, "Evaluation failed on nominated node", pod=pod, node=name)
            return None
        status = outcome.status(0)
        if status is not None:
            diagnosis.reject_nominated_node(name, status)
            return None
        if cycle.session is None:
            return alone
        cycle.record.start("ExtenderFilter")
        try:
            left = yield from cycle.session.filter(alone, diagnosis)
            if len(left):
                return left
        except ExtenderError as error:
            log.error(error, "Evaluation failed on nominated node", pod=pod, node=name)
        cycle.record.start("Filter")
        return None

    def _filter(self, cycle: CycleContext, pre_filter: PreFilterOutcome) -> NodeTable | Status:
        diagnosis = cycle.diagnosis
        candidates = nodes = diagnosis.nodes
        if pre_filter.result.node_names is not None:
            rows = [row for name in pre_filter.result.node_names if (row := nodes.position(name)) is not None]
            candidates = nodes.select(np.array(sorted(rows), dtype=np.int64))
            # Includes a plugin that rejected the nominated node, as in kube-scheduler.
            plugins = "[" + " ".join(sorted(diagnosis.unschedulable_plugins)) + "]"
            diagnosis.absent = Status.unresolvable(f"node(s) didn't satisfy plugin(s) {plugins}")
        search = None if self._sampler.takes_all else self._sampler.plan(candidates)
        outcome = self._runner.filter(cycle.state, cycle.pod, candidates, search)
        if self._nominator.by_node and outcome.error is None:
            self._evaluation.with_nominated_pods(cycle.state, cycle.pod, outcome)
        if outcome.error is not None:
            return outcome.error
        diagnosis.add_outcome(outcome)
        if search is not None:
            return candidates.select(self._sampler.sample(outcome, search))
        if outcome.rejects_none:
            return candidates
        if candidates.is_whole:
            return self._feasible_nodes.of(outcome)
        return candidates.select(outcome.feasible.nonzero()[0])

    # --- PostFilter ---------------------------------------------------------------------------------------

    def _post_filter(self, cycle: CycleContext) -> ExtenderSteps[Decision]:
        """No node is feasible: PostFilter plugins may make room. Extenders may veto candidates of preemption."""
        diagnosis, record = cycle.diagnosis, cycle.record
        nominate: str | None = ""
        victims: tuple[Pod, ...] = ()
        if self._runner.has("postFilter"):
            record.start("PostFilter")
            steps = self._runner.post_filter_steps(cycle.state, cycle.pod, diagnosis)
            consulted = None
            while True:
                try:
                    considered = steps.send(consulted)
                except StopIteration as end:
                    result: PostFilterResult = end.value
                    break
                if cycle.session is not None:
                    consulted = yield from cycle.session.process_preemption(considered.candidates)
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

    # --- Score --------------------------------------------------------------------------------------------

    def _score(self, cycle: CycleContext, feasible: NodeTable) -> ExtenderSteps[ScoreOutcome | Status]:
        state, pod, record, session = cycle.state, cycle.pod, cycle.record, cycle.session
        # Cached results are about the snapshot's nodes, each of them once.
        is_selection = session is None or (feasible.has_pods and not session.has_repeated_nodes)
        runner = self._runner if is_selection else self._uncached_runner
        record.start("PreScore")
        status = runner.pre_score(state, pod, feasible)
        if not status.is_success:
            return status
        record.start("Score")
        scores = runner.score(state, pod, feasible)
        if log.verbosity >= 10:
            log_plugin_scores(log, pod, scores)
        if session is not None and not isinstance(scores, Status):
            record.start("ExtenderPrioritize")
            added = yield from session.prioritize(feasible)
            scores = scores.with_totals(scores.totals + added)
        if log.verbosity >= 10:
            log_totals(log, pod, scores)
        return scores

    def _select_node(self, cycle: CycleContext, feasible: NodeTable, scores: ScoreOutcome | None) -> Decision:
        record, outcome = cycle.record, cycle.diagnosis.outcome
        nodes, position = feasible, 0
        if scores is not None:
            nodes, best = scores.best()
            if len(best) == 1:
                position = int(best[0])
            elif self._tie_breaker is not None:
                position = self._tie_breaker(cycle.pod, nodes, best)
            else:
                position = int(best[self._random.randrange(len(best))])
            record.scores = scores
        record.node_name = nodes[position].name
        return Decision(
            SUCCESS,
            record,
            node_name=record.node_name,
            scores=scores,
            n_evaluated=len(feasible) + (outcome.n_rejected if outcome is not None else 0),
            n_feasible=len(feasible),
        )

    # --- assume, Reserve, Permit --------------------------------------------------------------------------

    def _assume(self, info: QueuedPodInfo, state: CycleState, decision: Decision, start: float) -> None:
        node_name = decision.node_name
        # 1. The pod counts on its node from now on, and is no longer nominated.
        pod = self._cache.assume(info.pod, node_name)
        was_nominated = pod.uid in self._nominator.node_by_pod
        if was_nominated:
            self._nominator.remove(info.pod)
        assumed = AssumedPod(
            info,
            pod,
            node_name,
            state,
            decision.record.late_message,
            decision.n_evaluated,
            decision.n_feasible,
            was_nominated,
            start,
            self,
        )
        try:
            status = self._reserve_and_permit(assumed)
        except Exception:
            self._unreserve_and_forget(assumed)
            raise
        if not status.is_success:
            self._unreserve_and_forget(assumed)
            failure = Failure.on_node(status)
            decision.record.message = failure.message
            self._handle_failure(info, failure, start)

    def _reserve_and_permit(self, assumed: AssumedPod) -> Status:
        """Success if the pod was handed over to the binding cycle, or waits for it."""
        state, pod, node_name = assumed.state, assumed.pod, assumed.node_name
        # 2. Plugins set aside what the pod needs.
        status = self._runner.reserve(state, pod, node_name)
        if not status.is_success:
            return status
        # 3. Plugins approve, reject, or make the pod wait.
        permit = self._runner.permit(state, pod, node_name)
        must_wait = permit.status.code is Code.WAIT
        if not (permit.status.is_success or must_wait):
            return permit.status
        # 4. Hand over to the binding cycle, after the wait if there is one.
        plan = self.profile.binding.plan(state, pod, node_name)
        if isinstance(plan, Status):
            return plan
        if must_wait:
            self._parts.waiting_pods.add(assumed, plan, permit.waits)
        else:
            self._start_binding(assumed, plan)
        return SUCCESS

    def wait_ended(self, waiting: WaitingPod) -> None:
        """A waiting pod was allowed, or rejected by a plugin, by preemption or by its timeout."""
        seconds = self._parts.waiting_pods.remove(waiting)
        status = waiting.status
        assert status is not None  # noqa: S101  the wait has ended
        if self._observer is not None:
            self._observer.waited_on_permit(status.code, seconds)
        if status.is_success:
            self._start_binding(waiting.assumed, waiting.plan, waiting.announced_node)
            return
        if not status.is_rejection:
            status = wrapped("waiting on permit for pod", status, status.plugin)
        self._fail_assumed(waiting.assumed, Failure.on_node(status, announced_node=waiting.announced_node))

    # --- binding ------------------------------------------------------------------------------------------

    def _start_binding(self, assumed: AssumedPod, plan: BindPlan, announced_node: str = "") -> None:
        """Past Permit no event can help the pod any more, so the queue stops tracking it."""
        self._queue.done(assumed.pod.uid)
        self._emit(StartBinding(assumed, plan, announced_node))

    def bound(self, assumed: AssumedPod) -> None:
        pod, node_name = assumed.pod, assumed.node_name
        if log.verbosity >= 2:
            log.info(
                "Successfully bound pod to node",
                v=2,
                pod=pod,
                node=node_name,
                evaluatedNodes=assumed.n_evaluated,
                feasibleNodes=assumed.n_feasible,
            )
        note = f"Successfully assigned {pod.namespace}/{pod.name} to {node_name}"
        self._emit(RecordEvent(self._name, pod, "Normal", "Scheduled", "Binding", note))
        if self._observer is not None:
            self._observer.bound(self._name, assumed.info, perf_counter() - assumed.start)

    def binding_failed(self, assumed: AssumedPod, status: Status, announced_node: str) -> None:
        self._fail_assumed(assumed, Failure(status, status.message, announced_node=announced_node))

    # --- failure ------------------------------------------------------------------------------------------

    def _unreserve_and_forget(self, assumed: AssumedPod) -> None:
        """Undo Reserve and assume. A pod that the watch has confirmed meanwhile stays on its node."""
        self._runner.unreserve(assumed.state, assumed.pod, assumed.node_name)
        if self._cache.is_assumed(assumed.pod.uid):
            self._cache.forget(assumed.pod.uid)

    def _fail_assumed(self, assumed: AssumedPod, failure: Failure) -> None:
        """An assumed pod does not get its node: undo Reserve, requeue the pod, wake pods that may fit now."""
        assumed.message.text = failure.message
        self._unreserve_and_forget(assumed)
        # Requeue first: otherwise the event would be replayed to this pod and move it.
        self._handle_failure(assumed.info, failure, assumed.start)
        self._queue.move_all_to_active_or_backoff(
            ASSIGNED_POD_DELETE, assumed.pod, None, lambda other: self._may_help(assumed, other)
        )

    def _may_help(self, assumed: AssumedPod, other: QueuedPodInfo) -> bool:
        """Whether the resources that *assumed* gave back are news to *other*.

        They are not if *other* is the same pod, or was tried while they were free and nominated to nobody. Nor if
        the two wait for each other at Permit (`waits_with`), unless *assumed* is gone for good: gangs that do not
        fit would wake themselves and each other forever.
        """
        if other is assumed.info or (other.cycle <= assumed.info.cycle and not assumed.was_nominated):
            return False
        is_gone = self._queue.get(assumed.info.key) is None
        return is_gone or not self._runner.are_waiting_together(assumed.info.pod, other.pod)

    def _handle_failure(self, info: QueuedPodInfo, failure: Failure, start: float) -> None:
        """Back to the queue; the pod's status and an event say why."""
        is_rejection = failure.status.is_rejection
        if self._observer is not None:
            self._observer.failed(self._name, is_rejection=is_rejection, seconds=perf_counter() - start)
        failure.log(info.pod)
        info.note_failure(failure.unschedulable_plugins, failure.pending_plugins, failure.message)
        pod = self._parts.pods.get(info.key)
        if pod is None or pod.spec.node_name or pod.uid != info.pod.uid:
            log.info("Not queued again: the pod is gone, bound or replaced", pod=info.pod)
            self._queue.done(info.pod.uid)
            return
        info.pod = pod
        try:
            self._queue.add_unschedulable(info)
        except QueueError as error:
            log.error(error, "Error occurred while requeueing pod", pod=pod)
        self._nominator.after_failure(pod, failure.nominate, failure.announced_node)
        self._emit(RecordEvent(self._name, pod, "Warning", "FailedScheduling", "Scheduling", failure.message))
        # A nomination that the watch has not shown yet has to be cleared all the same.
        known = with_nominated_node(pod, failure.announced_node) if failure.announced_node else pod
        self._emit(WriteStatus(known, failure.condition(pod), failure.nominate))
