"""Who took the place of a pod that was preempted, as far as the cluster shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bayplan.explain.explanation import PreemptedReport, PreemptorPod

if TYPE_CHECKING:
    from bayplan.core import SchedulerCore
    from bayplan.model import Pod

#: The reason of the condition DisruptionTarget of a victim.
BY_SCHEDULER: Final = "PreemptionByScheduler"


def preempted_by(core: SchedulerCore, pod: Pod) -> PreemptedReport | None:
    """None if the pod was not preempted.

    The preemptor is nominated to the victim's node until it is bound there. After that it is one of the pods of
    higher priority that came to the node after the victim was chosen.
    """
    target = pod.status.condition("DisruptionTarget")
    if target is None or target.status != "True" or target.reason != BY_SCHEDULER or not pod.node_name:
        return None
    others = [each for each in core.pods.values() if each.priority > pod.priority and each.uid != pod.uid]
    found = [each for each in others if core.nominator.node_of(each) == pod.node_name and not each.node_name]
    if not found:
        found = [
            each
            for each in others
            if each.node_name == pod.node_name and _placed_at(each) >= (target.last_transition_time or "")
        ]
    by = tuple(
        PreemptorPod(
            namespace=each.namespace, name=each.name, priority=each.priority, is_bound=bool(each.node_name)
        )
        for each in found
    )
    return PreemptedReport(summary=_summary(pod, by), node=pod.node_name, by=by)


def _placed_at(pod: Pod) -> str:
    """When the pod was bound; times of the API are texts that sort."""
    condition = pod.status.condition("PodScheduled")
    return (condition.last_transition_time or "") if condition is not None and condition.status == "True" else ""


def _summary(pod: Pod, by: tuple[PreemptorPod, ...]) -> str:
    if not by:
        return f"preempted on {pod.node_name} for a pod of higher priority, which is not there any more"
    names = " or ".join(f"{each.namespace}/{each.name} (priority {each.priority})" for each in by)
    verb = "took" if by[0].is_bound else "will take"
    return f"preempted on {pod.node_name}: {names} {verb} its place"
