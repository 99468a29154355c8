"""Pods: defaults, validation, allowed updates. Fields and messages are those of kube-apiserver v1.36.4."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.apiserver.direct_client import DirectClient

PODS = "/api/v1/namespaces/default/pods"
MERGE = "application/merge-patch+json"


@pytest.fixture
def client() -> DirectClient:
    return DirectClient()


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x:1"}], **spec}}


def with_container(**fields: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x:1", **fields}]}}


def fields_of(answer: dict[str, Any]) -> list[str]:
    return [cause["field"] for cause in answer["details"]["causes"]]


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        pytest.param("nginx", "Always", id="no tag means latest"),
        pytest.param("nginx:latest", "Always", id="latest"),
        pytest.param("nginx:1.27", "IfNotPresent", id="a tag"),
        pytest.param("host:5000/nginx", "Always", id="a port is no tag"),
        pytest.param("nginx@sha256:" + "a" * 64, "IfNotPresent", id="a digest"),
    ],
)
def test_pull_policy_follows_the_tag(client: DirectClient, image: str, policy: str) -> None:
    """An image that may change under its tag is always pulled."""
    _, made = client.request("POST", PODS, with_container(image=image))
    assert made["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        pytest.param({}, "BestEffort", id="nothing asked"),
        pytest.param({"requests": {"cpu": "1"}}, "Burstable", id="requests only"),
        pytest.param({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed", id="limits become requests"),
        pytest.param({"limits": {"cpu": "1"}}, "Burstable", id="limits of one resource"),
        pytest.param({"requests": {"cpu": "0"}}, "BestEffort", id="zero is nothing"),
    ],
)
def test_quality_of_service_is_computed(client: DirectClient, resources: dict[str, Any], quality: str) -> None:
    _, made = client.request("POST", PODS, with_container(resources=resources))
    assert made["status"]["qosClass"] == quality


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        pytest.param(with_container(name=""), ["spec.containers[0].name"], id="a container without name"),
        pytest.param(with_container(image=""), ["spec.containers[0].image"], id="without image"),
        pytest.param(
            with_container(ports=[{"containerPort": 0}]),
            ["spec.containers[0].ports[0].containerPort"],
            id="no port",
        ),
        pytest.param(
            with_container(volumeMounts=[{"name": "v", "mountPath": "/v"}]),
            ["spec.containers[0].volumeMounts[0].name"],
            id="a mount of no volume",
        ),
        pytest.param(
            with_container(livenessProbe={"exec": {"command": ["x"]}, "successThreshold": 2}),
            ["spec.containers[0].livenessProbe.successThreshold"],
            id="a liveness probe that must succeed twice",
        ),
        pytest.param(
            pod(volumes=[{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}]),
            ["spec.volumes[0].hostPath"],
            id="two kinds of volume in one",
        ),
        pytest.param(
            pod(tolerations=[{"key": "a", "operator": "Exists", "value": "x"}]),
            ["spec.tolerations[0].operator"],
            id="existence with a value",
        ),
        pytest.param(
            pod(nodeName="n", schedulingGates=[{"name": "a.example.com/x"}]),
            ["spec.nodeName"],
            id="a gated pod on a node",
        ),
        pytest.param(
            pod(initContainers=[{"name": "c", "image": "y"}]),
            ["spec.initContainers[0].name"],
            id="a name that another container has",
        ),
        pytest.param(pod(hostAliases=[{"ip": "x"}]), ["spec.hostAliases[0].ip"], id="an address that is none"),
    ],
)
def test_wrong_pods_are_refused_at_the_field(
    client: DirectClient, body: dict[str, Any], fields: list[str]
) -> None:
    """Every error names its field, in Kubernetes' notation."""
    status, answer = client.request("POST", PODS, body)

    assert status == 422
    assert fields_of(answer) == fields


@pytest.mark.parametrize(
    "patch",
    [
        pytest.param({"nodeName": "n"}, id="its node"),
        pytest.param({"nodeSelector": {"a": "b"}}, id="its selector"),
        pytest.param({"schedulerName": "x"}, id="its scheduler"),
    ],
)
def test_spec_does_not_change(client: DirectClient, patch: dict[str, Any]) -> None:
    client.request("POST", PODS, pod())
    status, answer = client.request("PATCH", f"{PODS}/p", {"spec": patch}, content_type=MERGE)

    assert status == 422
    assert fields_of(answer) == ["spec"]


@pytest.mark.parametrize(
    ("selector", "allowed"),
    [
        pytest.param({"a": "b", "c": "d"}, True, id="one more label"),
        pytest.param({"a": "z"}, False, id="another value"),
        pytest.param(None, False, id="none at all"),
    ],
)
def test_gated_pods_may_narrow_their_nodes(
    client: DirectClient, selector: dict[str, str] | None, allowed: bool
) -> None:
    """While it is gated, a pod may require more of its nodes, but nothing else."""
    client.request("POST", PODS, pod(nodeSelector={"a": "b"}, schedulingGates=[{"name": "a.example.com/x"}]))
    patch = {"spec": {"nodeSelector": selector if selector else {"a": None}}}
    status, _ = client.request("PATCH", f"{PODS}/p", patch, content_type=MERGE)

    assert status == (200 if allowed else 422)


def test_negative_grace_becomes_one_second(client: DirectClient) -> None:
    _, made = client.request("POST", PODS, pod(terminationGracePeriodSeconds=-5))
    assert made["spec"]["terminationGracePeriodSeconds"] == 1


def test_match_label_keys_join_the_selector(client: DirectClient) -> None:
    """The server resolves the label, so that the scheduler need not."""
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "a"}},
        "matchLabelKeys": ["version"],
    }
    body = pod(topologySpreadConstraints=[constraint])
    body["metadata"]["labels"] = {"version": "7"}
    _, made = client.request("POST", PODS, body)

    selector = made["spec"]["topologySpreadConstraints"][0]["labelSelector"]
    assert selector["matchExpressions"] == [{"key": "version", "operator": "In", "values": ["7"]}]


def test_hidden_variables_cause_a_warning(client: DirectClient) -> None:
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    response = client.response("POST", PODS, with_container(env=env))

    expected = 'spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'
    assert (response.status, response.warnings) == (201, (expected,))
