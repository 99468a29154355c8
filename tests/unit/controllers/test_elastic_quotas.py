"""The status of an ElasticQuota: what the running pods of its namespace request."""

from __future__ import annotations

from bayplan.controllers.elastic_quotas import used_by
from bayplan.model import Pod
from bayplan.testing import make_pod

QUOTA = {"spec": {"min": {"cpu": "4"}, "max": {"cpu": "8", "nvidia.com/gpu": "2"}}}


def running(name: str, **amounts: str) -> Pod:
    return make_pod(name, requests=amounts, status={"phase": "Running"})


def test_nothing_runs() -> None:
    """Every resource of the quota is reported, with zero usage."""
    assert used_by(QUOTA, [make_pod("pending", cpu="1")]) == {"cpu": "0", "nvidia.com/gpu": "0"}


def test_running_pods_are_added_up() -> None:
    """Pods that are not running do not count; resources without a limit are reported as well."""
    ended = make_pod("ended", cpu="1", status={"phase": "Succeeded"})
    pods = [running("a", cpu="500m", memory="512Mi"), running("b", cpu="1", memory="1Gi"), ended]

    assert used_by(QUOTA, pods) == {"cpu": "1500m", "nvidia.com/gpu": "0", "memory": "1536Mi"}


def test_quota_without_limits() -> None:
    """An empty spec is not an error."""
    assert used_by({}, [running("a", cpu="2")]) == {"cpu": "2"}
