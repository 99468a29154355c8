"""The status of a Deployment: counts, and the conditions Available and Progressing in Kubernetes' words. Pure."""

from __future__ import annotations

from copy import deepcopy

from bayplan.controllers.api_objects import Object, set_condition
from bayplan.controllers.replica_sets import REPLICA_FAILURE
from bayplan.controllers.rollout import limits_of


def deployment_status(deployment: Object, new: Object | None, old: list[Object], now: str) -> Object:
    """*new* is the ReplicaSet of the current template, *old* are the others."""
    spec = deployment["spec"]
    every = [*old, new] if new is not None else old
    desired = spec.get("replicas", 1)
    counts = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": _total(every, "replicas"),
        "updatedReplicas": _total([new], "replicas") if new is not None else 0,
        "readyReplicas": _total(every, "readyReplicas"),
        "availableReplicas": _total(every, "availableReplicas"),
    }
    available = counts["availableReplicas"]
    wanted = _total_spec(every)
    counts["unavailableReplicas"] = max(wanted - available, 0)
    conditions = deepcopy((deployment.get("status") or {}).get("conditions") or [])
    _set(conditions, now, *_availability(available >= desired - limits_of(spec).max_unavailable))
    progress = _progress(counts, desired, new, conditions)
    if progress is not None:
        _set(conditions, now, *progress)
    conditions = _with_failure(conditions, new, old)
    status = {field: value for field, value in counts.items() if value}
    if all("terminatingReplicas" in (each.get("status") or {}) for each in every):
        status["terminatingReplicas"] = _total(every, "terminatingReplicas")
    return {**status, "conditions": conditions}


def _with_failure(conditions: list[Object], new: Object | None, old: list[Object]) -> list[Object]:
    """ReplicaFailure is that of the new ReplicaSet, else of an old one."""
    kept = [each for each in conditions if each["type"] != REPLICA_FAILURE]
    for each in [new, *old] if new is not None else old:
        for condition in (each.get("status") or {}).get("conditions") or []:
            if condition["type"] == REPLICA_FAILURE:
                return [*kept, {**condition, "lastUpdateTime": condition["lastTransitionTime"]}]
    return kept


def _availability(available: bool) -> tuple[str, str, str, str]:
    if available:
        return "Available", "True", "MinimumReplicasAvailable", "Deployment has minimum availability."
    return "Available", "False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."


def _progress(
    counts: Object, desired: int, new: Object | None, conditions: list[Object]
) -> tuple[str, str, str, str] | None:
    if new is None:
        return None
    name = new["metadata"]["name"]
    complete = (
        counts["updatedReplicas"] == desired
        and counts["replicas"] == desired
        and counts["availableReplicas"] == desired
    )
    if complete:
        message = f'ReplicaSet "{name}" has successfully progressed.'
        return "Progressing", "True", "NewReplicaSetAvailable", message
    if not any(condition["type"] == "Progressing" for condition in conditions):
        return "Progressing", "True", "NewReplicaSetCreated", f'Created new replica set "{name}"'
    if counts["replicas"] == 0 and counts["updatedReplicas"] == 0:
        return None
    return "Progressing", "True", "ReplicaSetUpdated", f'ReplicaSet "{name}" is progressing.'


def _set(conditions: list[Object], now: str, type: str, status: str, reason: str, message: str) -> None:
    known = next((each for each in conditions if each["type"] == type), None)
    wanted = {"type": type, "status": status, "reason": reason, "message": message}
    if known is not None and wanted.items() <= known.items():
        return
    set_condition(conditions, {**wanted, "lastUpdateTime": now, "lastTransitionTime": now})


def _total(sets: list[Object], field: str) -> int:
    return sum((each.get("status") or {}).get(field, 0) for each in sets)


def _total_spec(sets: list[Object]) -> int:
    return sum(each["spec"].get("replicas", 1) for each in sets)
