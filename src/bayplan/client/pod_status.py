"""The patch that brings a pod's status to where it should be: a condition, a nomination, or nothing to do."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from bayplan.model import Condition, Pod, format_time


def status_patch(
    pod: Pod, *, condition: Condition | None = None, nominated_node_name: str | None = None, now: float
) -> dict[str, Any] | None:
    """A strategic merge patch for the status of *pod*; None where it says all that already.

    *nominated_node_name*: "" withdraws the nomination, None leaves it. The time of the condition changes with its
    status only. The uid makes the server refuse the patch if the pod is another one of the same name by now.
    """
    status: dict[str, Any] = {}
    if condition is not None and _differs(pod.status.condition(condition.type), condition):
        status["conditions"] = [_condition(pod.status.condition(condition.type), condition, now)]
        status["$setElementOrder/conditions"] = _order(pod, condition.type)
    if nominated_node_name is not None and nominated_node_name != pod.status.nominated_node_name:
        status["nominatedNodeName"] = nominated_node_name or None
    if not status:
        return None
    return {"metadata": {"uid": pod.uid}, "status": status} if pod.uid else {"status": status}


def _differs(old: Condition | None, new: Condition) -> bool:
    return old is None or (old.status, old.reason, old.message) != (new.status, new.reason, new.message)


def _order(pod: Pod, kind: str) -> list[dict[str, str]]:
    """Conditions stay where they are, and a new one comes last; else the server would put it first."""
    kinds = [each.type for each in pod.status.conditions]
    return [{"type": each} for each in (kinds if kind in kinds else [*kinds, kind])]


def _condition(old: Condition | None, new: Condition, now: float) -> dict[str, Any]:
    since = format_time(datetime.fromtimestamp(now, UTC))
    if old is not None and old.status == new.status and old.last_transition_time:
        since = old.last_transition_time
    written: dict[str, Any] = {
        "type": new.type,
        "status": new.status,
        "lastProbeTime": None,
        "lastTransitionTime": since,
        # Null removes what an older condition of this type had.
        "reason": new.reason or None,
        "message": new.message or None,
    }
    if new.observed_generation:
        written["observedGeneration"] = new.observed_generation
    return written
