"""Answers of a running scheduler: from the record of the last attempt, as it was, and from its queue.

The scheduler waits while an answer is made, so what is the same for every question about a record is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from bayplan.explain.explainer import unplaced_outcome
from bayplan.explain.explanation import (
    AnswerSource,
    Explanation,
    NodeSummary,
    PastAttempt,
    Placement,
    PodOutcome,
    PodReference,
    QueueState,
)
from bayplan.explain.node_answers import placement_of, recorded_detail, summarize_nodes
from bayplan.explain.preempted_pods import preempted_by
from bayplan.explain.related import (
    devices_of,
    extenders_of,
    gang_of,
    preemption_of,
    quotas_of,
    volumes_of,
    waking_events,
)
from bayplan.model import format_time

if TYPE_CHECKING:
    from bayplan.core import SchedulerCore
    from bayplan.framework import Clock
    from bayplan.model import Pod
    from bayplan.observe.record import Record, Ring

T = TypeVar("T")

#: How many records what was said about their nodes is kept of, and how many attempts an answer names.
N_KEPT: Final = 16
N_ATTEMPTS: Final = 5
#: To count the pods of a gang or a quota takes a look at all pods; this often is enough.
RECOUNT_SECONDS: Final = 2.0


class LiveAnswers:
    """Explains the pods of a running scheduler; reads it, and changes nothing."""

    def __init__(self, core: SchedulerCore, records: Ring) -> None:
        self._core = core
        self._records = records
        self._about_nodes = lru_cache(maxsize=N_KEPT)(_about_nodes)
        self._counts = RecentCounts(core.clock)

    def source(self) -> AnswerSource:
        return AnswerSource(
            kind="scheduler",
            description=", ".join(self._core.profiles),
            n_nodes=self._core.cache.n_nodes,
            n_pods=len(self._core.pods),
        )

    def explain(self, pod: Pod, *, node: str = "") -> Explanation:
        """The answer about *pod*, with what the last attempt found out about *node*."""
        record = self._records.latest(pod.key)
        if record is None or record.pod_uid != pod.uid:
            queue = self.queue_state(pod)
            return self._explanation(pod, self._outcome_without_record(pod, queue), queue=queue)
        nodes, placement = self._about_nodes(record, self._core.cache.n_nodes)
        parts: dict[str, Any] = {
            "nodes": nodes,
            "node": self._detail(record, node),
            "placement": placement,
            "queue": self.queue_state(pod),
            "attempts": self._attempts(pod),
            "extenders": extenders_of(record.extenders),
            "notes": (f"the attempt was {_ago(record.age_seconds)} ago",),
        }
        if record.node_name:
            return self._explanation(pod, _placed_outcome(pod, record), **parts)
        nominated = self._core.nominator.node_of(pod)
        why = record.message.partition(" preemption: ")[2]
        outcome = unplaced_outcome(pod, nodes, record.message, nominated, is_rejection=True)
        preemption = preemption_of(record.preemption, nominated, why)
        return self._explanation(pod, outcome, preemption=preemption, **parts)

    def _detail(self, record: Record, node: str) -> Any:
        profile = self._core.profiles.get(record.profile_name)
        if not node or record.filter is None or profile is None:
            return None
        filters = [method.name for method in profile.plugins.on("filter")]
        return recorded_detail(record.filter, node, filters, record.scores)

    def _attempts(self, pod: Pod) -> tuple[PastAttempt, ...]:
        now = self._core.clock.now()
        own = (record for record in self._records.history(pod.key) if record.pod_uid == pod.uid)
        return tuple(
            PastAttempt(at=_time(now - record.age_seconds), node=record.node_name, message=record.message)
            for record in islice(own, N_ATTEMPTS)
        )

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
        core = self._core
        return Explanation(
            pod=PodReference(namespace=pod.namespace, name=pod.name, uid=pod.uid),
            profile=pod.spec.scheduler_name,
            source=self.source(),
            outcome=outcome,
            gang=self._counts.get(("gang", pod.uid), lambda: gang_of(core, pod)),
            quotas=self._counts.get(("quotas", pod.uid), lambda: quotas_of(core, pod)),
            volumes=volumes_of(core, pod),
            devices=devices_of(core, pod),
            preempted=preempted_by(core, pod),
            **parts,
        )


class NodeReport(NamedTuple):
    """What a record says about nodes; it does not change any more."""

    nodes: NodeSummary
    placement: Placement | None


def _about_nodes(record: Record, n_nodes: int) -> NodeReport:
    outcome = record.filter
    nodes = summarize_nodes(outcome, len(outcome.nodes) if outcome is not None else n_nodes)
    placement = placement_of(record.scores, record.node_name, nodes.feasible) if record.node_name else None
    return NodeReport(nodes, placement)


class RecentCounts:
    """Results that are expensive to find, for a short time."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until = 0.0
        self._results: dict[Hashable, Any] = {}

    def get(self, key: Hashable, count: Callable[[], T]) -> T:
        now = self._clock.monotonic()
        if now >= self._until:
            self._results.clear()
            self._until = now + RECOUNT_SECONDS
        if key not in self._results:
            self._results[key] = count()
        found: T = self._results[key]
        return found


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
