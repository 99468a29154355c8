"""Quotas: the same scenarios, once with the scheduler of the scheduler-plugins and once with Bayplan."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from tests.e2e.api import Api, Object
from tests.e2e.bayplan import start_bayplan
from tests.e2e.binaries import MissingProgramError
from tests.e2e.control_plane import ControlPlane
from tests.e2e.family_harness import (
    API_VERSION,
    HOLD_SECONDS,
    load_scenarios,
    prepare,
    require_program,
    settled,
    start_original,
)
from tests.e2e.objects import create_priority_classes, node, pod, priority_class

pytestmark = [pytest.mark.e2e, pytest.mark.family]

SCENARIOS = load_scenarios("quotas")
CONFIGURATION: Object = {
    "profiles": [
        {
            "schedulerName": "default-scheduler",
            "plugins": {
                "multiPoint": {"enabled": [{"name": "CapacityScheduling"}]},
                "postFilter": {"disabled": [{"name": "*"}], "enabled": [{"name": "CapacityScheduling"}]},
            },
        }
    ]
}
PRIORITY_CLASSES = [
    priority_class("low", 1),
    priority_class("middle", 10),
    priority_class("high", 100),
    priority_class("patient", 1, policy="Never"),
]
NAMESPACES = ("team-a", "team-b")
#: After a change of a quota, until schedulers have surely heard of it before they hear of a pod.
HEARD_SECONDS = 1.0


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_schedulers_leave_the_same(name: str, start_control_plane: Callable[..., ControlPlane]) -> None:
    """After every step the same pods are bound, with either scheduler, but where a difference is written down."""
    try:
        require_program()
    except MissingProgramError as error:
        pytest.fail(str(error), pytrace=False)
    steps = SCENARIOS[name]["steps"]
    ours = play(start_control_plane(), SCENARIOS[name], start_bayplan, [step["bound"] for step in steps])
    theirs = [step.get("original", step["bound"]) for step in steps]
    original = play(start_control_plane(), SCENARIOS[name], start_original, theirs)

    assert ours == [step["bound"] for step in steps]
    assert original == theirs


def play(
    plane: ControlPlane,
    scenario: Object,
    start: Callable[[ControlPlane, Object], object],
    expected: list[Object],
) -> list[Object]:
    """Play a scenario with the scheduler that *start* starts; which pods were bound, per step."""
    api = plane.api
    prepare(plane)
    create_priority_classes(api, PRIORITY_CLASSES)
    api.create_many([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}} for name in NAMESPACES])
    api.create_many([node(name, cpu=str(cpu)) for name, cpu in scenario["nodes"].items()])
    api.create_many([_quota(*each) for each in scenario["quotas"].items()])
    start(plane, CONFIGURATION)
    outcomes = []
    for step, wanted in zip(scenario["steps"], expected, strict=True):
        _change(api, step)
        outcomes.append(settled(lambda: _bound(api), wanted, step.get("hold", HOLD_SECONDS)))
    return outcomes


def _change(api: Api, step: Object) -> None:
    for namespace, names in step.get("delete", {}).items():
        for name in names:
            api.delete("Pod", name, namespace=namespace)
    for namespace, amounts in step.get("raise", {}).items():
        wanted = _quota(namespace, amounts)
        present = {each["metadata"]["namespace"] for each in api.list("ElasticQuota")}
        if namespace in present:
            api.patch("ElasticQuota", namespace, {"spec": wanted["spec"]}, namespace=namespace)
        else:
            api.create(wanted)
    if "raise" in step or "delete" in step:
        _wake(api)
    for namespace, pods in step.get("pods", {}).items():
        for name, given in pods.items():
            api.create(_pod(namespace, name, given))


def _wake(api: Api) -> None:
    """Another pod goes, a moment later: the original may try pods before its plugin has heard of a change, and
    then not again for five minutes (docs/plugins-family.md)."""
    time.sleep(HEARD_SECONDS)
    api.create(pod("passing", cpu="0", memory="0", nodeName="a", terminationGracePeriodSeconds=0))
    time.sleep(HEARD_SECONDS)
    api.delete("Pod", "passing")


def _pod(namespace: str, name: str, given: Any) -> Object:
    cpu, priority = given if isinstance(given, list) else (given, "")
    spec: dict[str, Any] = {"priorityClassName": priority} if priority else {}
    # Nobody runs a kubelet here: whoever is deleted is gone at once.
    return pod(name, namespace=namespace, cpu=str(cpu), terminationGracePeriodSeconds=0, **spec)


def _quota(namespace: str, amounts: list[int]) -> Object:
    low, high = ({"cpu": str(cpu), "memory": "8Gi"} for cpu in amounts)
    meta = {"name": namespace, "namespace": namespace}
    return {
        "apiVersion": API_VERSION, "kind": "ElasticQuota", "metadata": meta, "spec": {"min": low, "max": high},
    }  # fmt: skip


def _bound(api: Api) -> Object:
    """Namespace → the names of its pods on nodes."""
    bound: dict[str, list[str]] = {}
    for each in api.list("Pod"):
        if each["spec"].get("nodeName"):
            bound.setdefault(each["metadata"]["namespace"], []).append(each["metadata"]["name"])
    return {namespace: sorted(names) for namespace, names in bound.items()}
