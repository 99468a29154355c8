"""The same scenario, once with the stock kube-scheduler and once with Bayplan, leaves the same behind."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest
from tests.e2e.api import Api, Object, eventually
from tests.e2e.bayplan import start_bayplan
from tests.e2e.control_plane import ControlPlane
from tests.e2e.objects import create_priority_classes, node, pod, priority_class
from tests.e2e.seen import Kubelets, Residue, bound_to, check_same, events, is_settled

pytestmark = pytest.mark.e2e

Scenario = Callable[[Api, Kubelets], None]
#: The classes that pods of the scenarios name; one of them takes nobody's place.
PRIORITY_CLASSES: Sequence[Object] = [
    priority_class("low", 100),
    priority_class("high", 1000),
    priority_class("higher", 2000),
    priority_class("polite", 1000, policy="Never"),
]


@pytest.fixture
def residues(start_control_plane: Callable[..., ControlPlane]) -> Callable[..., tuple[Residue, Residue]]:
    """Plays a scenario for both; what the stock scheduler left behind, and what Bayplan did."""

    def play(
        nodes: Sequence[Object], scenario: Scenario, *, any_node: Sequence[str] = ()
    ) -> tuple[Residue, Residue]:
        found = []
        for start in (ControlPlane.start_scheduler, start_bayplan):
            plane = start_control_plane()
            plane.api.create_many(nodes)
            with Kubelets(plane.api) as kubelets:
                start(plane)
                create_priority_classes(plane.api, PRIORITY_CLASSES)
                scenario(plane.api, kubelets)
            found.append(Residue(plane.api, ended=kubelets.ended.values(), any_node=any_node))
            plane.close()
        return found[0], found[1]

    return play


def _put(api: Api, body: Object) -> None:
    """Create a pod and wait for what the scheduler says to it, so that both see the same order."""
    api.create(body)
    name = body["metadata"]["name"]
    eventually(lambda: is_settled(api, name))


def _put_bound(api: Api, body: Object) -> str:
    _put(api, body)
    name = body["metadata"]["name"]
    node_name = eventually(lambda: bound_to(api, name))
    eventually(lambda: _has_event(api, name, "Scheduled"))
    return node_name


def _has_event(api: Api, name: str, reason: str) -> bool:
    return any(each["reason"] == reason for each in events(api, name))


def _has_note(api: Api, name: str, text: str) -> bool:
    return any(text in each["note"] for each in events(api, name))


def _budget(name: str, labels: Mapping[str, str], *, allowed: int) -> Object:
    """A disruption budget with the status that its controller would give it."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": dict(labels)}},
        "status": {
            "disruptionsAllowed": allowed,
            "currentHealthy": 1 + allowed,
            "desiredHealthy": 1,
            "expectedPods": 1 + allowed,
        },
    }


def _create_budget(api: Api, budget: Object) -> None:
    api.create(budget)
    api.patch(
        "PodDisruptionBudget", budget["metadata"]["name"], {"status": budget["status"]}, subresource="status"
    )


# --- preemption -----------------------------------------------------------------------------------


def _preempt(api: Api, kubelets: Kubelets) -> None:
    """Two full nodes; the pod of one is protected by its budget."""
    _create_budget(api, _budget("guard", {"app": "guarded"}, allowed=0))
    _put_bound(
        api, pod("guarded", cpu="2", labels={"app": "guarded"}, nodeSelector={"kubernetes.io/hostname": "a"})
    )
    _put_bound(
        api, pod("victim-1", cpu="1", nodeSelector={"kubernetes.io/hostname": "b"}, priorityClassName="low")
    )
    _put_bound(api, pod("victim-2", cpu="1", nodeSelector={"kubernetes.io/hostname": "b"}))
    with kubelets.away():
        _put(api, pod("preemptor", cpu="2", priorityClassName="high"))
        eventually(lambda: api.get("Pod", "preemptor")["status"].get("nominatedNodeName") == "b")
        # The preemptor is tried again when the first victim has gone: with both at once that were left to chance.
        kubelets.end("victim-1")
        eventually(
            lambda: _has_note(api, "preemptor", "not eligible due to a terminating pod on the nominated node")
        )
        assert bound_to(api, "preemptor") is None
    eventually(lambda: _has_event(api, "preemptor", "Scheduled"))
    for victim in ("victim-1", "victim-2"):
        eventually(lambda victim=victim: _has_event(api, victim, "Preempted"))  # type: ignore[misc]


def test_preemption_leaves_the_same_behind(residues: Callable[..., tuple[Residue, Residue]]) -> None:
    """Victims are marked, told about and deleted, the budget is respected, and the preemptor takes their place."""
    stock, ours = residues([node("a", cpu="2"), node("b", cpu="2")], _preempt)

    check_same(stock, ours)
    # And what is the same is what it should be.
    assert ours.pods["guarded"]["node"] == "a"
    assert ours.pods["preemptor"]["node"] == "b"
    for victim in ("victim-1", "victim-2"):
        (disrupted,) = [each for each in ours.pods[victim]["conditions"] if each["type"] == "DisruptionTarget"]
        assert disrupted["reason"] == "PreemptionByScheduler"
        assert disrupted["message"] == "default-scheduler: preempting to accommodate a higher priority pod"
        assert ours.pods[victim]["leaving"]
        assert ours.events[victim][-1]["note"] == "Preempted by pod preemptor on node b"


def _preempt_guarded(api: Api, kubelets: Kubelets) -> None:
    """Where nothing else helps, a budget does not protect."""
    _create_budget(api, _budget("guard", {"app": "guarded"}, allowed=0))
    _put_bound(api, pod("guarded", cpu="2", labels={"app": "guarded"}))
    _put(api, pod("polite", cpu="2", priorityClassName="polite"))
    _put_bound(api, pod("preemptor", cpu="2", priorityClassName="higher"))
    eventually(lambda: _has_event(api, "guarded", "Preempted"))


def test_a_budget_yields_where_nothing_else_helps(residues: Callable[..., tuple[Residue, Residue]]) -> None:
    """Budgets are respected as far as there is a choice; a polite pod of high priority waits for its turn."""
    stock, ours = residues([node("a", cpu="2")], _preempt_guarded)

    check_same(stock, ours)
    assert ours.pods["preemptor"]["node"] == "a"
    assert ours.pods["polite"]["node"] == ""


# --- a bit of everything --------------------------------------------------------------------------

ZONE = "topology.kubernetes.io/zone"
MIXED_NODES = [
    node("a", labels={ZONE: "z1"}),
    node("b", labels={ZONE: "z2"}),
    node("c", labels={ZONE: "z2"}, taints=[{"key": "dedicated", "value": "x", "effect": "NoSchedule"}]),
    node("d", labels={ZONE: "z1"}, unschedulable=True),
]


def _on(name: str) -> Object:
    return {"nodeSelector": {"kubernetes.io/hostname": name}}


def _near(app: str, *, away: bool = False) -> Object:
    """Affinity to, or with *away* against, the zone of pods of an app."""
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": ZONE}
    kind = "podAntiAffinity" if away else "podAffinity"
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _spread(app: str) -> Object:
    constraint = {
        "maxSkew": 1,
        "topologyKey": ZONE,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": app}},
    }
    return {"topologySpreadConstraints": [constraint]}


def _with_port(body: Object, port: int) -> Object:
    body["spec"]["containers"][0]["ports"] = [{"containerPort": port, "hostPort": port}]
    return body


def _with_claim(body: Object, claim: str) -> Object:
    body["spec"]["volumes"] = [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]
    return body


TOLERANT: Object = {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}
MIXED_BOUND = [
    pod("plain"),
    pod("pinned", labels={"app": "web"}, **_on("a")),
    pod("tolerant", **TOLERANT, **_on("c")),
    pod("near", **_near("web")),
    pod("spread-1", labels={"app": "spread"}, **_spread("spread"), **_on("a")),
    pod("spread-2", labels={"app": "spread"}, **_spread("spread")),
    _with_port(pod("port-1", **_on("b")), 8080),
    pod("filler", cpu="3", **_on("b")),
]
MIXED_WAITING = [
    pod("nowhere", nodeSelector={"disk": "ssd"}),
    pod("huge", cpu="100", memory="1Ti"),
    pod("gated", schedulingGates=[{"name": "example.com/later"}]),
    pod("apart", labels={"app": "web"}, **_near("web", away=True), **_on("a")),
    pod("together", **_near("nobody")),
    pod("spread-3", labels={"app": "spread"}, **{**_spread("spread"), **_on("c")}),
    _with_port(pod("port-2", **_on("b")), 8080),
    _with_claim(pod("no-claim"), "missing"),
    pod("no-node", **_on("elsewhere")),
    pod("polite", cpu="3", priorityClassName="polite", **_on("b")),
]


def _mix(api: Api, kubelets: Kubelets) -> None:
    """Pods that fit, pods that do not for ten reasons, one that takes another's place; then some are helped."""
    for body in MIXED_BOUND:
        _put_bound(api, body)
    for body in MIXED_WAITING:
        _put(api, body)
    with kubelets.away():
        _put(api, pod("vip", cpu="2", priorityClassName="high", **_on("b")))
        eventually(lambda: api.get("Pod", "vip")["status"].get("nominatedNodeName") == "b")
    eventually(lambda: _has_event(api, "filler", "Preempted"))
    eventually(lambda: _has_event(api, "vip", "Scheduled"))
    for waiting in MIXED_WAITING:
        if "schedulingGates" not in waiting["spec"]:
            eventually(lambda name=waiting["metadata"]["name"]: _has_event(api, name, "FailedScheduling"))  # type: ignore[misc]
    api.patch("Node", "a", {"metadata": {"labels": {"disk": "ssd"}}})
    api.patch("Pod", "gated", {"spec": {"schedulingGates": None}})
    for name in ("nowhere", "gated"):
        eventually(lambda name=name: _has_event(api, name, "Scheduled"))  # type: ignore[misc]


def test_a_bit_of_everything_leaves_the_same_behind(residues: Callable[..., tuple[Residue, Residue]]) -> None:
    """Conditions and events of twenty pods are the same to the letter, whatever the reason."""
    stock, ours = residues(MIXED_NODES, _mix, any_node=["plain", "gated"])

    check_same(stock, ours)
    bound = {name for name, each in ours.pods.items() if each["node"]}
    assert bound == {each["metadata"]["name"] for each in MIXED_BOUND} | {"vip", "nowhere", "gated"}
    assert ours.events["gated"][0]["reason"] == "Scheduled"
