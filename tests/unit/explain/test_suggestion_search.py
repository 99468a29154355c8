"""The search for what would help, one obstacle at a time: what is suggested, and that it helps."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.explain.applied import decision_after, scheduler_of

from bayplan.explain.suggestion_search import SuggestionSearch
from bayplan.model import KubeObject, Pod, ResourceClaim, StorageClass
from bayplan.testing import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
_ANTI = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": ZONE}
        ]
    }
}
_SPREAD = {
    "maxSkew": 1,
    "topologyKey": ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}


def _daemon(name: str, node_name: str, cpu: str) -> Pod:
    owner = {"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": True}
    return make_pod(name, cpu=cpu, node_name=node_name, metadata={"ownerReferences": [owner]})


def _with_claims(*names: str, **spec: Any) -> Pod:
    """A pod whose one container uses all its resource claims."""
    claims = [{"name": name, "resourceClaimName": f"{name}-claim"} for name in names]
    container = {"name": "c", "image": "i", "resources": {"claims": [{"name": name} for name in names]}}
    return make_pod("p", spec={"resourceClaims": claims, "containers": [container], **spec})


def _claim(name: str) -> ResourceClaim:
    request = {
        "name": "r",
        "exactly": {"deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 1},
    }
    return ResourceClaim.from_dict(
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaim",
            "metadata": {"name": name, "namespace": "default", "uid": name},
            "spec": {"devices": {"requests": [request]}},
        }
    )


def _storage_class(name: str, mode: str, **metadata: Any) -> StorageClass:
    return StorageClass.from_dict(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": name, "uid": name, **metadata},
            "provisioner": "example.com/disk",
            "volumeBindingMode": mode,
        }
    )


_MISSING_CLAIM = make_pod("p", spec={"volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "data"}}]})


CASES: list[Any] = [
    pytest.param(
        [make_node("n")],
        _with_claims("gpu"),
        "do without the resource claim gpu",
        id="a resource claim is missing",
    ),
    pytest.param(
        [make_node("n"), _claim("gpu-claim")],
        _with_claims("gpu"),
        "do without the resource claim gpu",
        id="no node has the devices",
    ),
    pytest.param(
        [make_node("n")],
        _with_claims("a", "b"),
        "do without the resource claims a and b",
        id="two resource claims are missing",
    ),
    pytest.param(
        [make_node("n")],
        _with_claims("gpu", schedulingGates=[{"name": "g"}]),
        "remove the scheduling gate g and do without the resource claim gpu",
        id="a gate, and a missing resource claim behind it",
    ),
    pytest.param(
        [make_node("n"), _storage_class("fast", "WaitForFirstConsumer"), _storage_class("now", "Immediate")],
        _MISSING_CLAIM,
        "create the claim data of class fast",
        id="a claim is missing",
    ),
    pytest.param(
        [make_node("n"), _storage_class("now", "Immediate")],
        _MISSING_CLAIM,
        "use an emptyDir for the volume v",
        id="a claim is missing, and a controller would have to bind it",
    ),
    pytest.param([make_node("n", cpu="2")], make_pod("p", cpu="3"), "request 2 cpu instead of 3", id="cpu"),
    pytest.param(
        [make_node("n", taints=["k=v:NoSchedule"])], make_pod("p"), "tolerate k=v:NoSchedule", id="a taint"
    ),
    pytest.param([make_node("n", unschedulable=True)], make_pod("p"), "uncordon n", id="a cordoned node"),
    pytest.param(
        [make_node("n")],
        make_pod("p", spec={"nodeSelector": {"disk": "ssd"}}),
        "label n disk=ssd",
        id="a selector",
    ),
    pytest.param(
        [make_node("n", labels={ZONE: "z"}), make_pod("o", labels={"app": "web"}, node_name="n")],
        make_pod("p", spec={"affinity": _ANTI}),
        "drop the required pod anti-affinity (by topology.kubernetes.io/zone)",
        id="anti-affinity",
    ),
    pytest.param(
        [
            make_node("n", labels={ZONE: "y"}),
            make_node("full", cpu="1", labels={ZONE: "z"}),
            make_pod("o", labels={"app": "web"}, node_name="n"),
        ],
        make_pod("p", cpu="2", labels={"app": "web"}, spec={"topologySpreadConstraints": [_SPREAD]}),
        f"allow a maxSkew of 2 over {ZONE} instead of 1",
        id="spreading",
    ),
    pytest.param(
        [make_node("n")],
        make_pod("p", spec={"schedulingGates": [{"name": "example.com/g"}]}),
        "remove the scheduling gate example.com/g",
        id="a gate",
    ),
    pytest.param(
        [make_node("n", pods=1), make_pod("o", node_name="n")],
        make_pod("p"),
        "delete the pod default/o",
        id="too many pods",
    ),
    pytest.param(
        [make_node("n", cpu="4"), _daemon("o", "n", "3")],
        make_pod("p", cpu="4"),
        "add a node like n with 7 cpu",
        id="a new node runs the DaemonSets too",
    ),
]


@pytest.mark.parametrize(("objects", "pod", "summary"), CASES)
def test_the_obstacle_has_its_remedy(objects: list[KubeObject], pod: Pod, summary: str) -> None:
    """It is among the suggestions, and each of them helps when it is applied."""
    found = SuggestionSearch(scheduler_of(*objects), pod).run()

    assert summary in [each.summary for each in found]
    for suggestion in found:
        assert decision_after(suggestion, pod, objects).node_name, suggestion.summary


def test_what_asks_less_comes_first() -> None:
    """To uncordon a node is less than to give up a request, and that less than to delete others' pods."""
    objects = [make_node("a", cpu="2"), make_node("b", unschedulable=True), make_pod("o", cpu="1", node_name="a")]

    found = SuggestionSearch(scheduler_of(*objects), make_pod("p", cpu="2")).run()

    summaries = [each.summary for each in found]
    wanted = ["uncordon b", "delete the pod default/o", "request 1 cpu instead of 2"]
    assert sorted(wanted, key=summaries.index) == ["uncordon b", wanted[1], wanted[2]]


def test_nothing_more_than_needed() -> None:
    """A combination is left out if a part of it helps as well."""
    objects = [make_node("a", taints=["k=v:NoSchedule"]), make_node("b", unschedulable=True)]

    found = SuggestionSearch(scheduler_of(*objects), make_pod("p")).run()

    assert all(len(each.changes) == 1 for each in found)


@pytest.mark.parametrize("key", ["node.kubernetes.io/not-ready", "node.kubernetes.io/memory-pressure"])
def test_taints_of_broken_nodes_are_neither_tolerated_nor_removed(key: str) -> None:
    """The pod would be put on a node that cannot run it."""
    objects = [make_node("n", taints=[f"{key}:NoSchedule"])]

    found = SuggestionSearch(scheduler_of(*objects), make_pod("p")).run()

    assert [each.asks for each in found] == [("capacity",)]


def test_facts_about_a_node_are_not_changed() -> None:
    """A node in zone a is not in zone b because somebody labels it so."""
    objects = [make_node("n", labels={ZONE: "a"})]

    found = SuggestionSearch(scheduler_of(*objects), make_pod("p", spec={"nodeSelector": {ZONE: "b"}})).run()

    assert not [each for each in found if "node" in each.asks]
    assert f"drop nodeSelector {ZONE}=b" in [each.summary for each in found]


def test_pods_of_daemon_sets_and_critical_pods_stay() -> None:
    """The former come back at once, the latter are needed."""
    objects = [
        make_node("n", cpu="4"),
        _daemon("d", "n", "1"),
        make_pod("critical", cpu="1", node_name="n", priority=2_000_000_000),
    ]

    found = SuggestionSearch(scheduler_of(*objects), make_pod("p", cpu="3")).run()

    assert not [each for each in found if "others" in each.asks]


def test_the_cluster_is_as_it_was_afterwards() -> None:
    """Every trial is undone."""
    scheduler = scheduler_of(make_node("n", cpu="1"), make_pod("o", cpu="1", node_name="n"))

    SuggestionSearch(scheduler, make_pod("p", cpu="1")).run()

    snapshot = scheduler.core.cache.snapshot()
    assert [(info.name, [pod.name for pod in info.pods]) for info in snapshot.nodes] == [("n", ["o"])]


def test_a_reason_behind_the_first_one_is_found_too() -> None:
    """InterPodAffinity says of a node only that affinity fails, although anti-affinity would as well."""
    near = {"labelSelector": {"matchLabels": {"app": "cache"}}, "topologyKey": ZONE}
    affinity = {**_ANTI, "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    objects = [make_node("n", labels={ZONE: "z"}), make_pod("o", labels={"app": "web"}, node_name="n")]
    pod = make_pod("p", spec={"affinity": affinity})

    found = SuggestionSearch(scheduler_of(*objects), pod).run()

    assert found
    for suggestion in found:
        assert decision_after(suggestion, pod, objects).node_name, suggestion.summary
