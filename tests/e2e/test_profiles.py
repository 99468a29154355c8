"""Several profiles in one process, and several schedulers in one cluster: each pod is for one of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.api import Object, eventually
from tests.e2e.audit import BindingAudit
from tests.e2e.bayplan import start_bayplan
from tests.e2e.control_plane import ControlPlane
from tests.e2e.objects import node, pod
from tests.e2e.seen import bound_to, condition, events

pytestmark = pytest.mark.e2e

#: One spreads pods by what they ask for, the other packs them.
PROFILES: Object = {
    "profiles": [
        {"schedulerName": "spreading"},
        {
            "schedulerName": "packing",
            "pluginConfig": [
                {
                    "name": "NodeResourcesFit",
                    "args": {
                        "scoringStrategy": {
                            "type": "MostAllocated",
                            "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
                        }
                    },
                }
            ],
            "plugins": {
                "multiPoint": {
                    "disabled": [
                        {"name": "NodeResourcesBalancedAllocation"},
                        {"name": "PodTopologySpread"},
                        {"name": "ImageLocality"},
                    ]
                }
            },
        },
    ]
}


def test_pods_choose_their_profile(control_plane: ControlPlane) -> None:
    """Pods name the profile, each profile decides in its own way, and pods of nobody wait."""
    api = control_plane.api
    api.create_many([node(name) for name in ("a", "b", "c")])
    start_bayplan(control_plane, PROFILES)

    for number in range(3):
        for profile in ("spreading", "packing"):
            api.create(pod(f"{profile}-{number}", cpu="500m", scheduler=profile, labels={"app": profile}))
            eventually(lambda name=f"{profile}-{number}": bound_to(api, name))  # type: ignore[misc]
    api.create(pod("nobodys"))

    nodes = {profile: {bound_to(api, f"{profile}-{i}") for i in range(3)} for profile in ("spreading", "packing")}
    assert nodes["spreading"] == {"a", "b", "c"}
    assert len(nodes["packing"]) == 1
    (event,) = eventually(lambda: events(api, "packing-2"))
    assert event["reportingController"] == "packing"
    assert bound_to(api, "nobodys") is None
    assert events(api, "nobodys") == []


@pytest.fixture
def both(start_control_plane: Callable[..., ControlPlane], tmp_path: Path) -> tuple[ControlPlane, BindingAudit]:
    """A stock scheduler for pods that name none, and Bayplan, with a user of its own, for those that name it."""
    audit = BindingAudit(tmp_path)
    plane = start_control_plane(api_server_arguments=audit.arguments)
    plane.api.create_many([node(f"node-{i}") for i in range(10)])
    plane.start_scheduler()
    kubeconfig = plane.kubeconfig_for("bayplan", groups=["system:masters"])
    configuration = {
        "clientConnection": {"kubeconfig": str(kubeconfig)},
        "profiles": [{"schedulerName": "bayplan"}],
    }
    start_bayplan(plane, configuration)
    return plane, audit


def test_beside_a_stock_scheduler(both: tuple[ControlPlane, BindingAudit]) -> None:
    """Each binds its own pods, and nobody else's.

    That no node is overfull is not asked: two schedulers that decide within the time of a watch event may take the
    same last place, as two kube-schedulers may.
    """
    plane, audit = both
    for number in range(100):
        for scheduler in ("bayplan", "default-scheduler"):
            plane.api.create(pod(f"{scheduler}-{number}", scheduler=scheduler))

    def are_bound() -> bool:
        return all("nodeName" in each["spec"] for each in plane.api.list("Pod"))

    eventually(are_bound, interval=0.5)
    users: dict[str, set[str]] = {}
    for bind in audit.binds():
        users.setdefault(bind.user, set()).add(bind.pod.removeprefix("default/").rpartition("-")[0])
    assert users == {"bayplan": {"bayplan"}, "system:kube-scheduler": {"default-scheduler"}}


@pytest.mark.parametrize(
    ("first", "second"),
    [("default-scheduler", "bayplan"), ("bayplan", "default-scheduler")],
    ids=["the stock scheduler's", "Bayplan's"],
)
def test_pods_of_the_other_scheduler_count(
    both: tuple[ControlPlane, BindingAudit], first: str, second: str
) -> None:
    """A node that one has filled is full for the other, who hears of the bind before it hears of the next pod."""
    api = both[0].api
    there = {"kubernetes.io/hostname": "node-3"}
    api.create(pod("first", cpu="4", scheduler=first, nodeSelector=there))
    assert eventually(lambda: bound_to(api, "first")) == "node-3"

    api.create(pod("second", cpu="1", scheduler=second, nodeSelector=there))

    found = eventually(lambda: condition(api.get("Pod", "second")))
    assert "1 Insufficient cpu" in found["message"]
    assert bound_to(api, "second") is None
