"""The results of an attempt: `Decision` of a scheduling cycle, `Failure` of an attempt that ends without a
bind."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

import msgspec

from bayplan.framework import Code, Diagnosis, ScoreOutcome, Status
from bayplan.framework.verdict import none_available
from bayplan.model import Condition, Pod
from bayplan.observe import klog
from bayplan.observe.record import Record

log = klog.get_logger("bayplan.core", "decision.py")

NO_NODES: Final = "no nodes available to schedule pods"


def condition_reason(status: Status) -> str:
    """The reason of the PodScheduled condition."""
    return "Unschedulable" if status.is_rejection else "SchedulerError"


class Decision(NamedTuple):
    """Either a node, or the reason why there is none."""

    #: Success, a rejection, or an ERROR.
    status: Status
    record: Record
    #: The chosen node; empty if there is none.
    node_name: str = ""
    #: Scores of the feasible nodes; None if only one was feasible.
    scores: ScoreOutcome | None = None
    #: Set if no node was found: the reason for each node.
    diagnosis: Diagnosis | None = None
    #: PostFilter's result for the pod's nomination: a node, "" to clear it, None to leave it.
    nominate: str | None = None
    #: Pods to evict from the nominated node.
    victims: tuple[Pod, ...] = ()
    n_evaluated: int = 0
    n_feasible: int = 0

    @property
    def reason(self) -> str:
        return condition_reason(self.status)

    @property
    def message(self) -> str:
        """The text for the pod's condition and event."""
        return self.diagnosis.message() if self.diagnosis is not None else self.status.message


class Failure(NamedTuple):
    """Why an attempt ended without a bind."""

    status: Status
    #: The text for the pod's condition and event.
    message: str
    #: The plugins that rejected the pod: events that they registered for try it again.
    unschedulable_plugins: frozenset[str] = frozenset()
    pending_plugins: frozenset[str] = frozenset()
    #: A node to nominate, "" to clear the nomination, None to leave it.
    nominate: str | None = ""
    #: The node already written to the pod's `status.nominatedNodeName`; the watch may not have shown it yet.
    announced_node: str = ""

    def condition(self, pod: Pod) -> Condition:
        """The PodScheduled condition that reports it."""
        return Condition(
            type="PodScheduled",
            status="False",
            reason=condition_reason(self.status),
            message=self.message,
            observed_generation=pod.metadata.generation,
        )

    def log(self, pod: Pod) -> None:
        """In kube-scheduler's words."""
        if not self.status.is_rejection:
            log.error(self.message, "Error scheduling pod; retrying", pod=pod)
        elif self.message == NO_NODES:
            log.info("Unable to schedule pod; no nodes are registered to the cluster; waiting", v=2, pod=pod)
        else:
            log.info("Unable to schedule pod; no fit; waiting", v=2, pod=pod, err=self.message)

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
    def on_node(cls, status: Status, *, announced_node: str = "") -> Failure:
        """A plugin rejected the pod after a node was chosen: the message speaks of that one node."""
        if not status.is_rejection:
            return cls(status, status.message, announced_node=announced_node)
        plugins = frozenset({status.plugin} if status.plugin else ())
        return cls(
            status,
            none_available(1, Counter(status.reasons)),
            plugins,
            plugins if status.code is Code.PENDING else frozenset(),
            announced_node=announced_node,
        )

    @classmethod
    def of_exception(cls, error: Exception) -> Failure:
        """A bug of ours fails one attempt of one pod."""
        return cls(Status.failed(error), f"{type(error).__name__}: {error}")


def with_nominated_node(pod: Pod, node_name: str) -> Pod:
    """A copy of the pod whose status names *node_name* as its nominated node."""
    return msgspec.structs.replace(pod, status=msgspec.structs.replace(pod.status, nominated_node_name=node_name))
