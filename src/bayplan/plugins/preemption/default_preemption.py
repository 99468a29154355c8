"""DefaultPreemption: if no node fits, evicts pods of lower priority, on the node where it does the least harm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
)

if TYPE_CHECKING:
    from bayplan.model import Pod

WAITING = "waiting for the preemption for this pod to be finished"


def _never(pod: Pod, old: object, new: object) -> Hint:
    """A pod held here was rejected by other plugins too, whose hints decide when it is tried again."""
    return Hint.SKIP


class DefaultPreemption(Plugin):
    name = "DefaultPreemption"
    Args = DefaultPreemptionArgs
    events_to_register = (ClusterEvent(Resource.POD, Action.DELETE, _never),)

    def __init__(self, args: Any, handle: Handle) -> None:
        super().__init__(args, handle)
        self._preemption = Preemption(
            handle,
            min_candidate_nodes_percentage=args.min_candidate_nodes_percentage,
            min_candidate_nodes_absolute=args.min_candidate_nodes_absolute,
        )

    def pre_enqueue(self, pod: Pod) -> Status | None:
        return Status.unresolvable(WAITING) if self.handle.is_preempting(pod) else None

    def post_filter(self, state: CycleState, pod: Pod, verdicts: Diagnosis) -> PostFilterResult:
        result = self._preemption.preempt(state, pod, verdicts)
        if not result.status.message:
            return result
        return result._replace(status=Status(result.status.code, (f"preemption: {result.status.message}",)))
