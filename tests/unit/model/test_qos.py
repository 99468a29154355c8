"""The quality of service class of a pod."""

from typing import Any

import pytest

from bayplan.model import Pod

FULL = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1000m", "memory": "1024Mi"}}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"containers": [{}]}, "BestEffort", id="nothing set"),
        pytest.param({"containers": [{"resources": {"requests": {"cpu": "0"}}}]}, "BestEffort", id="zero"),
        pytest.param(
            {"containers": [{"resources": {"limits": {"example.com/gpu": "1"}}}]}, "BestEffort", id="only a gpu"
        ),
        pytest.param({"containers": [{"resources": FULL}]}, "Guaranteed", id="requests equal limits"),
        pytest.param(
            {"containers": [{"resources": {"limits": FULL["limits"]}}]}, "Burstable", id="limits without requests"
        ),
        pytest.param({"containers": [{"resources": FULL}, {}]}, "Burstable", id="one container without"),
        pytest.param(
            {"containers": [{"resources": FULL}], "initContainers": [{}]}, "Burstable", id="init container without"
        ),
        pytest.param(
            {"containers": [{}], "resources": FULL}, "Guaranteed", id="the pod's own resources decide alone"
        ),
        pytest.param(
            {"containers": [{"resources": FULL}], "resources": {}}, "BestEffort", id="even when there are none"
        ),
        pytest.param(
            {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}}}, "Burstable", id="no memory limit"
        ),
    ],
)
def test_class_by_requests_and_limits(spec: dict[str, Any], expected: str) -> None:
    """Guaranteed: cpu and memory limited everywhere and equal to requests; BestEffort: neither set anywhere."""
    assert Pod.from_dict({"spec": spec}).qos_class == expected


def test_status_has_the_last_word() -> None:
    """The class that the API server recorded is not computed again."""
    assert Pod.from_dict({"status": {"qosClass": "Guaranteed"}}).qos_class == "Guaranteed"
