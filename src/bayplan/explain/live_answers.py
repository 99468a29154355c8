"""Answers of a running scheduler: from the record of the last attempt, as it was, and from its queue."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from bayplan.explain.explainer import unplaced_outcome
from bayplan.explain.explanation import (
    AnswerSource,
    Explanation,
    PodOutcome,
    PodReference,
    QueueState,
)
from bayplan.explain.node_answers import placement_of, summarize_nodes
from bayplan.explain.preempted_pods import preempted_by
from bayplan.explain.related import devices_of, extenders_of, preemption_of, waking_events
from bayplan.model import format_time

if TYPE_CHECKING:
    from bayplan.core import SchedulerCore
    from bayplan.model import Pod
    from bayplan.observe.record import Record, Ring


class LiveAnswers:
    """Explains the pods of a running scheduler; reads it, and changes nothing."""

    def __init__(self, core: SchedulerCore, records: Ring) -> None:
        self._core = core
        self._records = records

    def source(self) -> AnswerSource:
        return AnswerSource(
            kind="scheduler",
            description=", ".join(self._core.profiles),
            n_nodes=self._core.cache.n_nodes,
            n_pods=len(self._core.pods),
        )

    def explain(self, pod: Pod) -> Explanation:
        record = next((each for each in self._records.history(pod.key) if each.pod_uid == pod.uid), None)
        queue = self.queue_state(pod)
        if record is None:
            return self._explanation(pod, self._outcome_without_record(pod, queue), queue=queue)
        outcome = record.filter
        nodes = summarize_nodes(outcome, len(outcome.nodes) if outcome is not None else self._core.cache.n_nodes)
        parts: dict[str, Any] = {"nodes": nodes, "queue": queue, "extenders": extenders_of(record.extenders)}
        notes = [f"the attempt was {_ago(record.age_seconds)} ago"]
        if record.node_name:
            parts["placement"] = placement_of(record.scores, record.node_name, nodes.feasible)
            found = _placed_outcome(pod, record)
        else:
            nominated = self._core.nominator.node_of(pod)
            parts["preemption"] = preemption_of(
                record.preemption, nominated, record.message.partition(" preemption: ")[2]
            )
            found = unplaced_outcome(pod, nodes, record.message, nominated, is_rejection=True)
        return self._explanation(pod, found, notes=tuple(notes), **parts)

    def _outcome_without_record(self, pod: Pod, queue: QueueState | None) -> PodOutcome:
        if pod.node_name:
            summary = f"{pod.key} is on {pod.node_name}; the record of its attempt is not there any more."
            return PodOutcome(state="Bound", node=pod.node_name, summary=summary)
        if pod.spec.scheduler_name not in self._core.profiles:
            summary = f"{pod.key} waits for the scheduler {pod.spec.scheduler_name!r}."
            return PodOutcome(state="OtherScheduler", summary=summary)
        if queue is not None and queue.queue == "gated":
            summary = f"{pod.key} is not tried yet: {queue.message}."
            return PodOutcome(state="Gated", summary=summary, message=queue.message)
        return PodOutcome(state="Waiting", summary=f"{pod.key} waits for its first attempt.")

    def queue_state(self, pod: Pod) -> QueueState | None:
        waiting = self._core.waiting_pods.get(pod.uid)
        if waiting is not None:
            plugins = ", ".join(waiting.pending_plugins)
            return QueueState(queue="permit", message=f"waits at Permit for {plugins}")
        place = self._core.queue.place_of(pod)
        if place is None:
            return None
        info = place.info
        if info is None:
            return QueueState(queue=place.queue)
        profile = self._core.profiles.get(pod.spec.scheduler_name)
        return QueueState(
            queue=place.queue,
            since=_time(info.timestamp),
            attempts=info.attempts,
            next_try=None if place.next_try is None else _time(place.next_try),
            message=info.message,
            wakes=waking_events(profile, info.rejectors) if profile is not None else (),
        )

    def _explanation(self, pod: Pod, outcome: PodOutcome, **parts: Any) -> Explanation:
        return Explanation(
            pod=PodReference(namespace=pod.namespace, name=pod.name, uid=pod.uid),
            profile=pod.spec.scheduler_name,
            source=self.source(),
            outcome=outcome,
            devices=devices_of(self._core, pod),
            preempted=preempted_by(self._core, pod),
            **parts,
        )


def _placed_outcome(pod: Pod, record: Record) -> PodOutcome:
    if record.message:
        summary = f"{pod.key} was to run on {record.node_name}, but was not bound: {record.message}"
        return PodOutcome(state="Unschedulable", node=record.node_name, summary=summary, message=record.message)
    state = "Bound" if pod.node_name else "Waiting"
    return PodOutcome(state=state, node=record.node_name, summary=f"{pod.key} was given {record.node_name}.")


def _ago(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _time(timestamp: float) -> str:
    return format_time(datetime.fromtimestamp(timestamp, UTC))
