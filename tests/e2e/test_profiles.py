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
from tests.e2e.seen import bound_to, events

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


def test_beside_a_stock_scheduler(start_control_plane: Callable[..., ControlPlane], tmp_path: Path) -> None:
    """Each binds its own pods only, and both count the pods of the other: no node is overfull."""
    audit = BindingAudit(tmp_path)
    plane = start_control_plane(api_server_arguments=audit.arguments)
    plane.api.create_many([node(f"node-{i}", cpu="2", pods=20) for i in range(10)])
    plane.start_scheduler()
    ours = plane.kubeconfig_for("bayplan", groups=["system:masters"])
    configuration = {
        "clientConnection": {"kubeconfig": str(ours)},
        "profiles": [{"schedulerName": "bayplan"}],
    }
    start_bayplan(plane, configuration)

    for number in range(100):
        for scheduler in ("bayplan", "default-scheduler"):
            plane.api.create(pod(f"{scheduler}-{number}", scheduler=scheduler))

    def are_bound() -> bool:
        return all("nodeName" in each["spec"] for each in plane.api.list("Pod"))

    eventually(are_bound, timeout=60, interval=0.5)
    users = {
        user: {bind.pod.removeprefix("default/").rpartition("-")[0] for bind in audit.binds() if bind.user == user}
        for user in {bind.user for bind in audit.binds()}
    }
    assert users == {"bayplan": {"bayplan"}, "system:kube-scheduler": {"default-scheduler"}}
    per_node = [each["spec"]["nodeName"] for each in plane.api.list("Pod")]
    # Two that decide at the same moment may choose the same last place; kubelets refuse then. Not so here: a pod
    # comes when the one before is decided, or nearly.
    assert max(per_node.count(name) for name in per_node) <= 20
