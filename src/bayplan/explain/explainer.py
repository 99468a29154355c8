"""Explainer: from a pod and a cluster to an `Explanation`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from bayplan.explain.explanation import (
    AnswerSource,
    Explanation,
    NodeDetail,
    NodeSummary,
    PodOutcome,
    PodReference,
    QueueState,
)
from bayplan.explain.node_answers import detail_of, placement_of, summarize_diagnosis, summarize_nodes
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
from bayplan.explain.suggestion_search import N_SUGGESTIONS, SuggestionSearch

if TYPE_CHECKING:
    from bayplan.core import Decision
    from bayplan.explain.what_if_scheduler import WhatIfScheduler
    from bayplan.model import Pod


class Explainer:
    """Explains pods of one cluster."""

    def __init__(
        self,
        scheduler: WhatIfScheduler,
        source: AnswerSource,
        *,
        notes: tuple[str, ...] = (),
        owner: Callable[[Pod], Mapping[str, Any] | None] = lambda pod: None,
    ) -> None:
        """*notes* belong to every answer. *owner* finds the workload of a pod."""
        self.scheduler = scheduler
        self._owner = owner
        self._source = source
        self._notes = notes

    def explain(
        self,
        pod: Pod,
        *,
        node: str = "",
        n_suggestions: int = N_SUGGESTIONS,
        owner: Mapping[str, Any] | None = None,
    ) -> Explanation:
        """The answer about *pod*, with every plugin's word about *node*."""
        if (outcome := self._outcome_without_attempt(pod)) is not None:
            return self._explanation(pod, outcome)
        if self._source.lacks_nodes:
            return self._explanation(pod, outcome_by_condition(pod))
        if pod.node_name:
            return self._explain_bound(pod, node)
        gate = self.scheduler.profile(pod).plugins.pre_enqueue(pod)
        if gate is not None:
            return self._explain_gated(pod, gate[0], gate[1].message, self._search(pod, n_suggestions, owner))
        return self._explain_pending(pod, node, self._search(pod, n_suggestions, owner))

    def _outcome_without_attempt(self, pod: Pod) -> PodOutcome | None:
        """The outcome of a pod that no scheduling cycle is about."""
        if pod.is_terminal:
            return PodOutcome(
                state="Ended", node=pod.node_name, summary=f"{pod.key} has ended: {pod.status.phase}."
            )
        if pod.is_terminating and not pod.node_name:
            return PodOutcome(state="Terminating", summary=f"{pod.key} is being deleted, so it is not scheduled.")
        name = pod.spec.scheduler_name
        if name not in self.scheduler.profiles:
            known = ", ".join(self.scheduler.profiles)
            return PodOutcome(
                state="OtherScheduler",
                node=pod.node_name,
                summary=f"{pod.key} waits for the scheduler {name!r}, which is not one of this configuration "
                f"({known})."
                if not pod.node_name
                else f"{pod.key} is on {pod.node_name}; it was placed by {name!r}.",
            )
        return None

    # --- the cases ----------------------------------------------------------------------------------------

    def _explain_bound(self, pod: Pod, node: str) -> Explanation:
        """The decision made again without the pod, with the cluster as it is now."""
        fresh = unplaced(pod)
        with self.scheduler.without(pod):
            decision = self.scheduler.decide(fresh)
            detail = self._detail(fresh, node, decision)
            nodes = self._nodes(decision)
        placement = placement_of(decision.scores, pod.node_name, decision.n_feasible)
        notes = ["scores are those of the cluster as it is now, without the pod"]
        if pod.node_name not in nodes.feasible_nodes:
            notes.append(f"today {pod.node_name} would not take the pod any more")
            placement = placement_of(decision.scores, decision.node_name, decision.n_feasible)
        summary = f"{pod.key} is on {pod.node_name}."
        next_best = placement.next_best
        if placement.node == pod.node_name and next_best is not None:
            summary = f"{pod.key} is on {pod.node_name}, {_margin(next_best.node, next_best.by)}."
        elif placement.node == pod.node_name and decision.n_feasible == 1:
            summary = f"{pod.key} is on {pod.node_name}, the only node that takes it."
        outcome = PodOutcome(state="Bound", node=pod.node_name, summary=summary)
        return self._explanation(
            pod, outcome, nodes=nodes, node=detail, placement=placement if placement.node else None, notes=notes
        )

    def _explain_gated(self, pod: Pod, plugin: str, message: str, search: SuggestionSearch) -> Explanation:
        outcome = PodOutcome(state="Gated", summary=f"{pod.key} is not tried yet: {message}.", message=message)
        wakes = waking_events(self.scheduler.profile(pod), [plugin])
        return self._explanation(
            pod,
            outcome,
            queue=QueueState(queue="gated", since=_since(pod), message=message, wakes=wakes),
            suggestions=tuple(search.run()),
        )

    def _explain_pending(self, pod: Pod, node: str, search: SuggestionSearch) -> Explanation:
        decision = self.scheduler.decide(pod)
        detail = self._detail(pod, node, decision)
        nodes = self._nodes(decision)
        if decision.node_name:
            placement = placement_of(decision.scores, decision.node_name, decision.n_feasible)
            summary = f"{pod.key} fits {_n_nodes(decision.n_feasible)} of {nodes.total}"
            if placement.next_best is not None:
                summary += (
                    f"; {placement.node} is the best, {_margin(placement.next_best.node, placement.next_best.by)}"
                )
            outcome = PodOutcome(state="Schedulable", node=decision.node_name, summary=f"{summary}.")
            return self._explanation(pod, outcome, nodes=nodes, node=detail, placement=placement)
        rejecting = decision.diagnosis.unschedulable_plugins if decision.diagnosis is not None else set()
        wakes = waking_events(self.scheduler.profile(pod), rejecting)
        post_filter = decision.diagnosis.post_filter_message if decision.diagnosis is not None else ""
        preemption = preemption_of(decision.record.preemption, decision.nominate or "", post_filter)
        return self._explanation(
            pod,
            unplaced_outcome(
                pod, nodes, decision.message, decision.nominate or "", is_rejection=decision.status.is_rejection
            ),
            nodes=nodes,
            node=detail,
            queue=QueueState(since=_since(pod), wakes=wakes),
            preemption=preemption,
            extenders=extenders_of(decision.record.extenders),
            suggestions=tuple(search.run()) if decision.status.is_rejection else (),
        )

    # ------------------------------------------------------------------------------------------------------

    def _detail(self, pod: Pod, node: str, decision: Decision) -> NodeDetail | None:
        if not node:
            return None
        filters = [method.name for method in self.scheduler.profile(pod).plugins.on("filter")]
        return detail_of(self.scheduler.assess(pod), node, filters, decision.scores)

    def _nodes(self, decision: Decision) -> NodeSummary:
        if decision.diagnosis is not None:
            return summarize_diagnosis(decision.diagnosis)
        n_nodes = self.scheduler.core.cache.n_nodes
        if decision.record.filter is None and decision.node_name:
            return NodeSummary(total=n_nodes, feasible=1, feasible_nodes=(decision.node_name,))
        return summarize_nodes(decision.record.filter, n_nodes)

    def _search(self, pod: Pod, n_suggestions: int, owner: Mapping[str, Any] | None) -> SuggestionSearch:
        owner = owner if owner is not None else self._owner(pod)
        return SuggestionSearch(self.scheduler, pod, n_wanted=n_suggestions, owner=owner)

    def _explanation(self, pod: Pod, outcome: PodOutcome, **parts: Any) -> Explanation:
        notes = (*self._notes, *parts.pop("notes", ()))
        return Explanation(
            pod=PodReference(namespace=pod.namespace, name=pod.name, uid=pod.uid),
            profile=pod.spec.scheduler_name,
            source=self._source,
            outcome=outcome,
            gang=gang_of(self.scheduler.core, pod),
            quotas=quotas_of(self.scheduler.core, pod),
            volumes=volumes_of(self.scheduler.core, pod),
            devices=devices_of(self.scheduler.core, pod),
            preempted=preempted_by(self.scheduler.core, pod),
            notes=notes,
            **parts,
        )


def unplaced(pod: Pod) -> Pod:
    """The pod as it was before it had a node."""
    spec = msgspec.structs.replace(pod.spec, node_name="")
    status = msgspec.structs.replace(pod.status, nominated_node_name="")
    return msgspec.structs.replace(pod, spec=spec, status=status)


def outcome_by_condition(pod: Pod) -> PodOutcome:
    """What the pod itself says, where the nodes could not be read."""
    if pod.node_name:
        return PodOutcome(state="Bound", node=pod.node_name, summary=f"{pod.key} is on {pod.node_name}.")
    condition = pod.status.condition("PodScheduled")
    message = condition.message if condition is not None and condition.message else ""
    said = (
        f"its scheduler says: {message.rstrip('.')}" if message else "no scheduler has said anything about it yet"
    )
    summary = f"{pod.key} waits. Nodes could not be read; {said}."
    return PodOutcome(state="Waiting", summary=summary, message=message)


def unplaced_outcome(
    pod: Pod, nodes: NodeSummary, message: str, nominate: str, *, is_rejection: bool
) -> PodOutcome:
    """The outcome of an attempt that found no node, in one sentence."""
    if not is_rejection:
        return PodOutcome(
            state="Error", summary=f"The attempt to place {pod.key} failed: {message}", message=message
        )
    if nominate:
        summary = f"{pod.key} fits no node now; pods are evicted from {nominate} to make room."
        return PodOutcome(state="Preempting", node=nominate, summary=summary, message=message)
    counts: Counter[str] = Counter()
    for group in nodes.groups:
        counts.update(dict.fromkeys(group.reasons, group.count))
    reasons = ", ".join(f"{count} {reason}" for reason, count in counts.most_common()) or message
    return PodOutcome(state="Unschedulable", summary=f"No node takes {pod.key}: {reasons}.", message=message)


def _margin(other: str, by: int) -> str:
    if by > 0:
        return f"{by} points ahead of {other}"
    if by == 0:
        return f"level with {other}: chance decides between them"
    return f"{-by} points behind {other}"


def _n_nodes(count: int) -> str:
    return f"{count} node{'s' if count != 1 else ''}"


def _since(pod: Pod) -> str | None:
    """Since when the pod has waited: the condition's time, or that of its creation."""
    condition = pod.status.condition("PodScheduled")
    if condition is not None and condition.status == "False" and condition.last_transition_time:
        return condition.last_transition_time
    return pod.metadata.creation_timestamp
