"""Failure: what becomes of a pod whose attempt found no node, or whose bind did not go through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from bayplan.cycle.decision import NO_NODES
from bayplan.framework import Code, EventRecorder, Status
from bayplan.framework.diagnosis import none_available
from bayplan.observe import klog

if TYPE_CHECKING:
    from bayplan.cycle.decision import Decision
    from bayplan.model import Pod
    from bayplan.queue import PodNominator, QueuedPodInfo

log = klog.get_logger("bayplan.cycle")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an attempt ended without a bind."""

    status: Status
    #: For the pod's condition and its event.
    message: str
    #: Whose rejection it was: an event that one of them waits for tries the pod again.
    unschedulable_plugins: frozenset[str] = field(default_factory=frozenset)
    pending_plugins: frozenset[str] = field(default_factory=frozenset)
    #: A node to promise, "" to withdraw a promise, None to leave it.
    nominate: str | None = ""
    #: The node that the pod's status was told before its bind failed; the watch may not have shown it yet.
    announced: str = ""

    @property
    def reason(self) -> str:
        """Of the PodScheduled condition."""
        return "Unschedulable" if self.status.is_rejection else "SchedulerError"

    @classmethod
    def of_decision(cls, decision: Decision) -> Failure:
        diagnosis = decision.diagnosis
        return cls(
            decision.status,
            decision.message,
            frozenset(diagnosis.unschedulable_plugins) if diagnosis is not None else frozenset(),
            frozenset(diagnosis.pending_plugins) if diagnosis is not None else frozenset(),
            decision.nominate,
        )

    @classmethod
    def on_node(cls, status: Status, *, announced: str = "") -> Failure:
        """A plugin said no after a node was chosen: the message speaks of that one node."""
        if not status.is_rejection:
            return cls(status, status.message, announced=announced)
        plugins = frozenset({status.plugin} if status.plugin else ())
        return cls(
            status,
            none_available(1, Counter(status.reasons)),
            plugins,
            plugins if status.code is Code.PENDING else frozenset(),
            announced=announced,
        )


class FailureQueue(Protocol):
    """What failure handling needs of the queue."""

    def add_unschedulable(self, info: QueuedPodInfo) -> None: ...

    def done(self, uid: str) -> None: ...


class StatusWriter(Protocol):
    """Writes a pod's status, in its own time."""

    def write_status(self, pod: Pod, *, failure: Failure) -> None: ...


class FailureHandler:
    """Puts the pod back into the queue, keeps or withdraws its nomination, and tells the world."""

    def __init__(
        self,
        queue: FailureQueue,
        nominator: PodNominator,
        recorder: EventRecorder,
        writer: StatusWriter,
        current_pod: Callable[[Pod], Pod | None],
    ) -> None:
        self._queue = queue
        self._nominator = nominator
        self._recorder = recorder
        self._writer = writer
        #: The pod as the watch last showed it.
        self._current_pod = current_pod

    def handle(self, info: QueuedPodInfo, failure: Failure) -> None:
        _log_failure(info.pod, failure)
        info.note_failure(failure.unschedulable_plugins, failure.pending_plugins, failure.message)
        pod = self._back_to_the_queue(info)
        if pod is None:
            return
        if failure.nominate:
            self._nominator.add(pod, failure.nominate)
        elif failure.announced:
            self._nominator.take_back(pod, failure.announced)
        elif failure.nominate == "":
            self._nominator.remove(pod)
        elif pod.status.nominated_node_name:
            self._nominator.add(pod, pod.status.nominated_node_name)
        self._recorder.event(
            pod, kind="Warning", reason="FailedScheduling", action="Scheduling", note=failure.message
        )
        self._writer.write_status(pod, failure=failure)

    def _back_to_the_queue(self, info: QueuedPodInfo) -> Pod | None:
        """The pod to go on with; None if it is gone, bound, or another one of the same name by now."""
        current = self._current_pod(info.pod)
        if current is None or current.spec.node_name or current.uid != info.pod.uid:
            log.info("Not queued again: the pod is gone, bound or replaced", pod=info.pod)
            self._queue.done(info.pod.uid)
            return None
        info.pod = current
        self._queue.add_unschedulable(info)
        return current


def _log_failure(pod: Pod, failure: Failure) -> None:
    if not failure.status.is_rejection:
        log.error(failure.message, "Error scheduling pod; retrying", pod=pod)
    elif failure.message == NO_NODES:
        log.info("Unable to schedule pod; no nodes are registered to the cluster; waiting", v=2, pod=pod)
    else:
        log.info("Unable to schedule pod; no fit; waiting", v=2, pod=pod, err=failure.message)
