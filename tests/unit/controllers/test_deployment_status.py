"""The status of a Deployment, and its conditions in Kubernetes' words."""

from __future__ import annotations

from typing import Any

from bayplan.controllers.deployment_status import deployment_status

NOW = "2026-01-01T00:00:00Z"
LATER = "2026-01-01T00:01:00Z"


def _deployment(replicas: int, status: dict[str, Any] | None = None) -> dict[str, Any]:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    spec = {"replicas": replicas, "strategy": strategy}
    return {"metadata": {"name": "web", "generation": 2}, "spec": spec, "status": status or {}}


def _replica_set(replicas: int, available: int, name: str = "web-1") -> dict[str, Any]:
    counts = {"replicas": replicas, "readyReplicas": available, "availableReplicas": available}
    return {"metadata": {"name": name}, "spec": {"replicas": replicas}, "status": counts}


def _condition(status: dict[str, Any], type: str) -> dict[str, Any]:
    found: dict[str, Any] = next(each for each in status["conditions"] if each["type"] == type)
    return found


def test_a_complete_rollout() -> None:
    status = deployment_status(_deployment(3), _replica_set(3, 3), [], NOW)
    assert status["replicas"] == status["updatedReplicas"] == status["availableReplicas"] == 3
    assert "unavailableReplicas" not in status
    assert _condition(status, "Available")["reason"] == "MinimumReplicasAvailable"
    progressing = _condition(status, "Progressing")
    assert progressing["reason"] == "NewReplicaSetAvailable"
    assert progressing["message"] == 'ReplicaSet "web-1" has successfully progressed.'


def test_a_rollout_under_way() -> None:
    first = deployment_status(_deployment(3), _replica_set(1, 0, "web-2"), [_replica_set(3, 3)], NOW)
    status = deployment_status(_deployment(3, first), _replica_set(1, 0, "web-2"), [_replica_set(3, 3)], LATER)
    assert (status["replicas"], status["updatedReplicas"], status["unavailableReplicas"]) == (4, 1, 1)
    assert _condition(status, "Available")["status"] == "True"
    assert _condition(status, "Progressing")["reason"] == "ReplicaSetUpdated"


def test_too_few_are_available() -> None:
    status = deployment_status(_deployment(3), _replica_set(3, 2), [], NOW)
    available = _condition(status, "Available")
    assert (available["status"], available["reason"]) == ("False", "MinimumReplicasUnavailable")


def test_a_condition_that_stays_keeps_its_times() -> None:
    before = deployment_status(_deployment(3), _replica_set(3, 3), [], NOW)
    after = deployment_status(_deployment(3, before), _replica_set(3, 3), [], LATER)
    assert after == before


def test_pods_that_are_ending() -> None:
    """Reported once every ReplicaSet reports its own count, even zero; not before."""
    new, old = _replica_set(2, 2), _replica_set(1, 1, "web-0")
    new["status"]["terminatingReplicas"] = 0
    assert deployment_status(_deployment(2), new, [], NOW)["terminatingReplicas"] == 0
    assert "terminatingReplicas" not in deployment_status(_deployment(2), new, [old], NOW)
    old["status"]["terminatingReplicas"] = 2
    assert deployment_status(_deployment(2), new, [old], NOW)["terminatingReplicas"] == 2
