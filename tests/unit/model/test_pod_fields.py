"""Fields of pods that are more than what they hold."""

import pytest

from bayplan.model import Container, Pod, PodStatus


@pytest.mark.parametrize(("policy", "expected"), [(None, False), ("Never", False), ("Always", True)])
def test_init_container_that_always_restarts_is_a_sidecar(policy: str | None, expected: bool) -> None:
    assert Container(restart_policy=policy).is_sidecar == expected


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({}, False, id="nothing"),
        pytest.param({"containerStatuses": [{"name": "c"}]}, False, id="a status without resources"),
        pytest.param({"containerStatuses": [{}, {"resources": {}}]}, True, id="a container"),
        pytest.param({"initContainerStatuses": [{"resources": {}}]}, True, id="an init container"),
        pytest.param({"resources": {}}, True, id="the pod"),
    ],
)
def test_reported_resources(status: dict[str, object], expected: bool) -> None:
    """Whether the kubelet says what the pod or one of its containers has."""
    assert Pod.from_dict({"status": status}).status.reports_resources == expected


@pytest.mark.parametrize(("reason", "expected"), [("Infeasible", True), ("Deferred", False)])
def test_infeasible_resize(reason: str, expected: bool) -> None:
    conditions = [{"type": "Ready"}, {"type": "PodResizePending", "reason": reason}]
    pod = Pod.from_dict({"status": {"conditions": conditions}})

    assert pod.status.resize_infeasible == expected
    assert not PodStatus().resize_infeasible


def test_conditions_are_found_by_type() -> None:
    status = Pod.from_dict({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}).status

    found = status.condition("Ready")
    assert found is not None
    assert found.status == "True"
    assert status.condition("PodScheduled") is None


def test_affinity_has_short_names() -> None:
    """`required` and `preferred` for the long names of the API."""
    rules = {
        "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}],
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 3}],
    }
    affinity = Pod.from_dict({"spec": {"affinity": {"podAffinity": rules}}}).spec.affinity

    assert affinity is not None
    assert affinity.pod_affinity is not None
    assert affinity.pod_affinity.required[0].topology_key == "zone"
    assert affinity.pod_affinity.preferred[0].weight == 3
