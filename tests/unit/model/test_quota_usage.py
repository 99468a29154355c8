"""What objects take of a ResourceQuota, by the rules of kube-controller-manager's evaluators."""

from __future__ import annotations

from typing import Any

import pytest

from bayplan.model.quota_usage import covers, kinds_of, usage


def pod(spec: dict[str, Any] | None = None, **status: str) -> dict[str, Any]:
    container = {"name": "c", "resources": {"requests": {"cpu": "500m"}, "limits": {"cpu": "1"}}}
    return {"metadata": {"name": "p"}, "spec": {"containers": [container], **(spec or {})}, "status": status}


def texts(group: str, plural: str, obj: dict[str, Any]) -> dict[str, str]:
    return {name: str(amount) for name, amount in usage(group, plural, obj).items()}


COUNTS = {"count/pods": "1", "pods": "1"}
ASKED = {"cpu": "500m", "requests.cpu": "500m", "limits.cpu": "1"}
INIT = {"name": "i", "resources": {"requests": {"cpu": "2"}}}
GPU = {"name": "g", "resources": {"requests": {"example.com/gpu": "2"}, "limits": {"example.com/gpu": "2"}}}
PAGES = {"name": "g", "resources": {"requests": {"hugepages-2Mi": "4Mi"}, "limits": {"hugepages-2Mi": "4Mi"}}}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        pytest.param(pod(), {**COUNTS, **ASKED}, id="requests and limits"),
        pytest.param(pod(phase="Failed"), {"count/pods": "1"}, id="an ended pod is only an object"),
        pytest.param(
            pod({"initContainers": [INIT]}),
            {**COUNTS, "cpu": "2", "requests.cpu": "2", "limits.cpu": "1"},
            id="an init container that needs more",
        ),
        pytest.param(
            pod({"overhead": {"cpu": "250m", "memory": "1Mi"}}),
            {**COUNTS, "cpu": "750m", "requests.cpu": "750m", "limits.cpu": "1250m"}
            | {"memory": "1Mi", "requests.memory": "1Mi"},
            id="overhead counts, but limits nothing by itself",
        ),
        pytest.param(
            pod({"resources": {"requests": {"cpu": "3"}}}),
            {**COUNTS, "cpu": "3", "requests.cpu": "3", "limits.cpu": "1"},
            id="the pod as a whole",
        ),
        pytest.param(
            pod({"containers": [GPU]}),
            {**COUNTS, "requests.example.com/gpu": "2"},
            id="extended resources have requests only",
        ),
        pytest.param(
            pod({"containers": [PAGES]}),
            {**COUNTS, "hugepages-2Mi": "4Mi", "requests.hugepages-2Mi": "4Mi"},
            id="huge pages have no limits",
        ),
    ],
)
def test_usage_of_pods(obj: dict[str, Any], expected: dict[str, str]) -> None:
    assert texts("", "pods", obj) == expected


def test_pods_that_are_stuck_take_nothing() -> None:
    """Deleted, and not gone when twice their grace is over: the end of it is in deletionTimestamp already."""
    deleted = pod()
    deleted["metadata"] |= {"deletionTimestamp": "1970-01-01T00:01:00Z", "deletionGracePeriodSeconds": 30}
    assert "pods" in usage("", "pods", deleted, now=90.0)
    assert set(usage("", "pods", deleted, now=90.5)) == {"count/pods"}


PORTS = [{"port": 80, "nodePort": 30080}, {"port": 81}]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({"type": "ClusterIP", "ports": PORTS}, {}, id="inside"),
        pytest.param({"type": "NodePort", "ports": PORTS}, {"services.nodeports": "2"}, id="node ports"),
        pytest.param(
            {"type": "LoadBalancer", "ports": PORTS},
            {"services.nodeports": "2", "services.loadbalancers": "1"},
            id="load balancer",
        ),
        pytest.param(
            {"type": "LoadBalancer", "ports": PORTS, "allocateLoadBalancerNodePorts": False},
            {"services.nodeports": "1", "services.loadbalancers": "1"},
            id="load balancer with the node ports it names",
        ),
    ],
)
def test_usage_of_services(spec: dict[str, Any], expected: dict[str, str]) -> None:
    assert texts("", "services", {"spec": spec}) == {"count/services": "1", "services": "1", **expected}


def test_usage_of_claims_by_class() -> None:
    claim = {"metadata": {}, "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "2Gi"}}}}
    assert texts("", "persistentvolumeclaims", claim) == {
        "count/persistentvolumeclaims": "1",
        "persistentvolumeclaims": "1",
        "requests.storage": "2Gi",
        "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1",
        "fast.storageclass.storage.k8s.io/requests.storage": "2Gi",
    }


def test_usage_of_other_kinds() -> None:
    """All are objects; some of the core group have a name of their own."""
    assert texts("apps", "deployments", {}) == {"count/deployments.apps": "1"}
    assert texts("", "secrets", {}) == {"count/secrets": "1", "secrets": "1"}
    assert texts("", "endpoints", {}) == {"count/endpoints": "1"}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("requests.cpu", ("", "pods")),
        ("requests.example.com/gpu", ("", "pods")),
        ("services.nodeports", ("", "services")),
        ("requests.storage", ("", "persistentvolumeclaims")),
        ("fast.storageclass.storage.k8s.io/requests.storage", ("", "persistentvolumeclaims")),
        ("configmaps", ("", "configmaps")),
        ("count/jobs.batch", ("batch", "jobs")),
    ],
)
def test_resources_speak_of_kinds(name: str, kind: tuple[str, str]) -> None:
    assert kinds_of([name]) == {kind}


def scoped(name: str, operator: str = "Exists", *values: str) -> dict[str, Any]:
    expression = {"scopeName": name, "operator": operator, "values": list(values)}
    return {"spec": {"scopeSelector": {"matchExpressions": [expression]}}}


AFFINITY = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"namespaces": ["other"]}]}}


@pytest.mark.parametrize(
    ("quota", "of", "expected"),
    [
        pytest.param({"spec": {}}, None, True, id="no scope takes in everything"),
        pytest.param({"spec": {"scopes": ["BestEffort"]}}, None, False, id="only pods have scopes"),
        pytest.param(
            {"spec": {"scopes": ["BestEffort"]}}, pod(qosClass="BestEffort"), True, id="of the pod's class"
        ),
        pytest.param(scoped("NotBestEffort"), pod(qosClass="BestEffort"), False, id="of another class"),
        pytest.param(scoped("Terminating"), pod({"activeDeadlineSeconds": 5}), True, id="with a deadline"),
        pytest.param(scoped("NotTerminating"), pod({"activeDeadlineSeconds": 5}), False, id="without a deadline"),
        pytest.param(
            scoped("PriorityClass", "In", "high"), pod({"priorityClassName": "high"}), True, id="of that priority"
        ),
        pytest.param(scoped("PriorityClass", "NotIn", "high"), pod(), True, id="not of that priority"),
        pytest.param(scoped("PriorityClass", "DoesNotExist"), pod(), True, id="of no priority"),
        pytest.param(
            scoped("CrossNamespacePodAffinity"), pod({"affinity": AFFINITY}), True, id="looks at other namespaces"
        ),
        pytest.param(scoped("CrossNamespacePodAffinity"), pod(), False, id="looks at its own namespace"),
    ],
)
def test_scopes(quota: dict[str, Any], of: dict[str, Any] | None, expected: bool) -> None:
    assert covers(quota, of) is expected
