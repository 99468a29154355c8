"""The patch that sets a condition and the nominated node in a pod's status, if they differ."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bayplan.model import Condition, Pod, format_time


def status_patch(
    pod: Pod, *, condition: Condition | None = None, nominated_node_name: str | None = None, now: float
) -> dict[str, Any] | None:
    """A strategic merge patch for the status of *pod*; None if nothing would change.

    *nominated_node_name*: "" removes the nomination, None leaves it. The time of the condition changes only with
    its status. The uid makes the server refuse the patch if the pod is another one of the same name by now.
    """
    status: dict[str, Any] = {}
    if condition is not None and _differs(pod.status.condition(condition.type), condition):
        status["conditions"] = [_condition(pod.status.condition(condition.type), condition, now)]
        status["$setElementOrder/conditions"] = _condition_order(pod, condition.type)
    if nominated_node_name is not None and nominated_node_name != pod.status.nominated_node_name:
        status["nominatedNodeName"] = nominated_node_name or None
    if not status:
        return None
    return {"metadata": {"uid": pod.uid}, "status": status} if pod.uid else {"status": status}


def _differs(old: Condition | None, new: Condition) -> bool:
    return old is None or (old.status, old.reason, old.message) != (new.status, new.reason, new.message)


def _condition_order(pod: Pod, condition_type: str) -> list[dict[str, str]]:
    """Conditions keep their order, and a new one comes last; otherwise the server would put it first."""
    types = [each.type for each in pod.status.conditions]
    return [{"type": each} for each in (types if condition_type in types else [*types, condition_type])]


def _condition(old: Condition | None, new: Condition, now: float) -> dict[str, Any]:
    since = format_time(datetime.fromtimestamp(now, UTC))
    if old is not None and old.status == new.status and old.last_transition_time:
        since = old.last_transition_time
    written: dict[str, Any] = {
        "type": new.type,
        "status": new.status,
        "lastProbeTime": None,
        "lastTransitionTime": since,
        # null removes the value of an older condition of this type.
        "reason": new.reason or None,
        "message": new.message or None,
    }
    if new.observed_generation:
        written["observedGeneration"] = new.observed_generation
    return written
