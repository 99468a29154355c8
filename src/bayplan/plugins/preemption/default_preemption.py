"""DefaultPreemption: if no node fits, evicts pods of lower priority, on the node where it does the least harm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayplan.config.args import DefaultPreemptionArgs
from bayplan.framework import (
    Action,
    ClusterEvent,
    CycleState,
    Diagnosis,
    Handle,
    Hint,
    Plugin,
    PostFilterResult,
    Preemption,
    Resource,
    Status,
    VictimRules,
)

if TYPE_CHECKING:
    from bayplan.model import Pod

FOUND = "found a potential placement for pod on node {node}, preempting {victims} victims"
WAITING = "waiting for the preemption for this pod to be finished"


def _never(pod: Pod, old: object, new: object) -> Hint:
    """A pod held here was rejected by other plugins too, whose hints decide when it is tried again."""
    return Hint.SKIP


class DefaultPreemption(Plugin[DefaultPreemptionArgs]):
    name = "DefaultPreemption"
    events_to_register = (ClusterEvent(Resource.POD, Action.DELETE, _never),)

    def __init__(self, args: DefaultPreemptionArgs, handle: Handle) -> None:
        super().__init__(args, handle)
        facts = handle.release.facts
        self._preemption = Preemption(
            handle,
            min_candidate_nodes_percentage=args.min_candidate_nodes_percentage,
            min_candidate_nodes_absolute=args.min_candidate_nodes_absolute,
            rules=VictimRules(
                first_violated_budget_only=facts.counts_first_violated_budget_only,
                keeps_first_unstarted=facts.keeps_first_unstarted_pod,
            ),
        )
        self._reports = facts.reports_preemption

    def pre_enqueue(self, pod: Pod) -> Status | None:
        return Status.unresolvable(WAITING) if self.handle.is_preempting(pod) else None

    def post_filter(self, state: CycleState, pod: Pod, verdicts: Diagnosis) -> PostFilterResult:
        result = self._preemption.preempt(state, pod, verdicts)
        message = result.status.message
        if result.status.is_success and self._reports:
            message = FOUND.format(node=result.nominated_node_name, victims=len(result.victims))
        if not message:
            return result
        return result._replace(status=Status(result.status.code, (f"preemption: {message}",)))
