"""Pods: their state, and the derived values that equivalent pods share."""

import json
from typing import Any

import pytest

from bayplan.model import HostPort, ObjectError, Pod

Dict = dict[str, Any]


def pod(name: str = "p", spec: Dict | None = None, status: Dict | None = None, **metadata: Any) -> Pod:
    containers = [{"name": "c", "resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}]
    return Pod.from_dict(
        {
            "metadata": {"name": name, "namespace": "ns", "uid": name, **metadata},
            "spec": {"containers": containers, **(spec or {})},
            "status": status or {},
        }
    )


@pytest.mark.parametrize(
    ("phase", "terminal"), [("Pending", False), ("Running", False), ("Succeeded", True), ("Failed", True)]
)
def test_ended_pods_are_terminal(phase: str, terminal: bool) -> None:
    """A pod is terminal when it succeeded or failed."""
    assert Pod.from_dict({"status": {"phase": phase}}).is_terminal == terminal


def test_pods_of_one_template_have_the_same_equivalence_key() -> None:
    """Names and token volumes differ from pod to pod and make no difference."""
    first = pod("a", {"volumes": [{"name": "token-a", "projected": {}}]})
    second = pod("b", {"volumes": [{"name": "token-b", "projected": {}}]})

    assert first.equivalence_key == second.equivalence_key


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(pod(labels={"a": "b"}), id="labels"),
        pytest.param(pod(annotations={"a": "b"}), id="annotations"),
        pytest.param(pod(namespace="other"), id="namespace"),
        pytest.param(pod(deletionTimestamp="2026-01-01T00:00:00Z"), id="deletion"),
        pytest.param(pod(ownerReferences=[{"uid": "1", "controller": True}]), id="controller"),
        pytest.param(pod(spec={"priority": 7}), id="spec"),
        pytest.param(pod(spec={"volumes": [{"persistentVolumeClaim": {"claimName": "x"}}]}), id="claim"),
    ],
)
def test_equivalence_key_has_what_scheduling_reads(other: Pod) -> None:
    """Pods that could be scheduled differently have different keys."""
    assert other.equivalence_key != pod().equivalence_key


def test_owner_that_is_no_controller_makes_no_difference() -> None:
    owned = pod(ownerReferences=[{"uid": "1"}])

    assert owned.equivalence_key == pod().equivalence_key


def test_claims_of_ephemeral_volumes_are_named_after_the_pod() -> None:
    """So each such pod is in a class of its own."""
    spec = {"volumes": [{"name": "v", "ephemeral": {}}]}

    assert pod("a", spec).equivalence_key != pod("b", spec).equivalence_key


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"containerStatuses": [{"name": "c"}]}, id="container statuses"),
        pytest.param({"resources": {}}, id="reported resources"),
    ],
)
def test_some_pods_have_no_equivalence_key(status: Dict) -> None:
    """Their status can differ although their spec does not."""
    assert pod(status=status).equivalence_key is None


def test_derived_values_are_shared() -> None:
    """What was computed for one pod is the same object for the other; the rest is computed when needed."""
    first, second = pod("a"), pod("b")
    _ = first.requests, first.affinity_terms
    second.share_derived(first)

    assert second.__dict__["requests"] is first.requests
    assert second.__dict__["affinity_terms"] is first.affinity_terms
    assert "qos_class" not in second.__dict__
    assert second.key == "ns/b"


def test_request_summary_of_invalid_requests_is_no_error() -> None:
    """Only the forms raise, with the name of the pod; so a signature can have the summary of any pod."""
    broken = pod(spec={"containers": [{"resources": {"requests": {"cpu": "much"}}}]})

    assert broken.request_summary.error
    for form in ("requests", "all_requests", "spec_requests", "nonzero_requests", "scoring_requests"):
        with pytest.raises(ObjectError, match="Pod ns/p: invalid quantity 'much'"):
            getattr(broken, form)


def test_host_ports_are_those_of_sidecars_and_containers() -> None:
    ports = {"ports": [{"hostPort": 80, "protocol": "TCP"}]}

    assert pod().host_ports == ()
    assert pod(spec={"containers": [{"ports": [{"containerPort": 80}]}]}).host_ports == ()
    assert pod(spec={"containers": [{}, ports]}).host_ports == (HostPort("0.0.0.0", "TCP", 80),)  # noqa: S104
    assert pod(spec={"initContainers": [ports]}).host_ports == ()
    sidecar = {**ports, "restartPolicy": "Always"}
    assert pod(spec={"initContainers": [sidecar]}).host_ports == (HostPort("0.0.0.0", "TCP", 80),)  # noqa: S104


def test_start_is_in_microseconds() -> None:
    assert pod().started_micros is None
    assert pod(status={"startTime": "1970-01-01T00:00:01Z"}).started_micros == 1_000_000


def test_pod_from_json_is_pod_from_dict() -> None:
    written = pod("a", labels={"x": "y"}).raw

    assert Pod.from_json(json.dumps(written).encode()) == Pod.from_dict(written)
