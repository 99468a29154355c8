"""The same claims and pods end with the same devices, with the stock kube-scheduler and with Bayplan."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.e2e.api import Api, Object, eventually
from tests.e2e.bayplan import start_bayplan
from tests.e2e.binaries import chosen_release
from tests.e2e.claim_objects import (
    GPU,
    NIC,
    claim,
    device_class,
    gpus_of,
    pod_with_claim,
    request,
    resource_slice,
    seen_claims,
    template,
)
from tests.e2e.control_plane import ControlPlane
from tests.e2e.objects import node
from tests.e2e.seen import Kubelets, Residue, check_same, events

from bayplan.release import release_named

pytestmark = pytest.mark.e2e

ZONE = "topology.kubernetes.io/zone"
NODES = [node("a", labels={ZONE: "z1"}), node("b", labels={ZONE: "z1"}), node("c", labels={ZONE: "z2"})]


def _part(name: str, amount: str) -> Object:
    return {"name": name, "consumesCounters": [{"counterSet": "chip", "counters": {"slots": {"value": amount}}}]}


_BROKEN = {"key": "broken", "value": "yes", "effect": "NoSchedule"}
_BANDWIDTH = {"value": "10G", "requestPolicy": {"default": "1G", "validRange": {"min": "1G", "step": "1G"}}}
DEVICES = [
    device_class(GPU),
    device_class(NIC),
    gpus_of("a"),
    gpus_of("b"),
    resource_slice("b-tainted", {"name": "tainted", "taints": [_BROKEN]}, nodeName="b"),
    # A GPU in parts, and what the parts share.
    resource_slice(
        "c-counters",
        pool="c",
        n_slices=2,
        nodeName="c",
        sharedCounters=[{"name": "chip", "counters": {"slots": {"value": "8"}}}],
    ),
    resource_slice(
        "c", _part("half-0", "4"), _part("half-1", "4"), _part("whole", "8"), pool="c", n_slices=2, nodeName="c"
    ),
    # A network card that the nodes of a zone share.
    resource_slice(
        "net",
        {"name": "nic", "allowMultipleAllocations": True, "capacity": {"bandwidth": _BANDWIDTH}},
        driver=NIC,
        nodeSelector={
            "nodeSelectorTerms": [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": ["z1"]}]}]
        },
    ),
]

PAIR = template(
    "pair", request("pair", count=2), constraints=[{"requests": ["pair"], "matchAttribute": f"{GPU}/numa"}]
)
_NOT_THE_FIRST = f'device.attributes["{GPU}"].index >= 1'
SHARED = claim("shared", request("r", selectors=[{"cel": {"expression": _NOT_THE_FIRST}}]))
CHOICE = template(
    "choice",
    {
        "name": "some",
        "firstAvailable": [
            {"name": "many", "deviceClassName": "gpu", "count": 5},
            {"name": "few", "deviceClassName": "gpu", "count": 2},
        ],
    },
    config=[{"requests": ["some"], "opaque": {"driver": GPU, "parameters": {"mode": "fast"}}}],
)
BANDWIDTH = template("bandwidth", request("r", "nic", capacity={"requests": {"bandwidth": "3500M"}}))
HALF = claim("half", request("r"))
WHOLE = claim("whole", request("r", allocationMode="All"), config=[])
TOLERANT = claim("tolerant", request("r", tolerations=[{"key": "broken", "operator": "Exists"}]))
GONE = claim("gone", request("r", "gone"))

BOUND = [
    pod_with_claim("pair-1", PAIR, on="a"),
    pod_with_claim("pair-2", PAIR, on="a"),
    pod_with_claim("shared-1", SHARED, on="b"),
    pod_with_claim("shared-2", SHARED),
    pod_with_claim("shared-3", SHARED),
    pod_with_claim("choice", CHOICE, on="b"),
    pod_with_claim("half", HALF, on="c"),
    pod_with_claim("bandwidth-1", BANDWIDTH, on="a"),
    pod_with_claim("bandwidth-2", BANDWIDTH, on="b"),
    pod_with_claim("last", claim("last"), on="b"),
    pod_with_claim("tolerant", TOLERANT, on="b"),
]
WAITING = [
    pod_with_claim("bandwidth-3", BANDWIDTH, on="a"),
    pod_with_claim("reuse", PAIR, on="a"),
    pod_with_claim("untolerant", claim("untolerant"), on="b"),
    pod_with_claim("gone", GONE),
    pod_with_claim("elsewhere", SHARED, on="a"),
    pod_with_claim("whole", WHOLE, on="c"),
]
CLAIMS = [SHARED, HALF, WHOLE, TOLERANT, GONE, claim("last"), claim("untolerant")]


def _scenario(api: Api) -> None:
    """Pods with all kinds of claims one after the other; then some leave, and others get their devices."""
    api.create_many([*CLAIMS, PAIR, CHOICE, BANDWIDTH])
    for body in BOUND:
        api.create(body)
        _await_event(api, body["metadata"]["name"], "Scheduled")
    for body in WAITING:
        api.create(body)
        _await_event(api, body["metadata"]["name"], "FailedScheduling")
    for leaving, waiting in [("pair-1", "reuse"), ("bandwidth-2", "bandwidth-3")]:
        api.delete("Pod", leaving)
        _await_event(api, waiting, "Scheduled")
    # Those of the two are gone; of the others from templates there are five.
    eventually(lambda: len(api.list("ResourceClaim")) == len(CLAIMS) + 5)


def _await_event(api: Api, name: str, reason: str) -> None:
    eventually(lambda: any(each["reason"] == reason for each in events(api, name)), interval=0.1)


#: 3500M, rounded up to 4G, as the stock kube-scheduler of each release writes it.
CONSUMED_BANDWIDTH = {"1.36": "3906250Ki", "1.37": "4G"}


def test_the_same_claims_end_with_the_same_devices(start_control_plane: Callable[..., ControlPlane]) -> None:
    """Pairs, shares, parts, alternatives; what was left behind is the same to the letter, for pods and claims."""
    residues, claims = [], []
    for start in (ControlPlane.start_scheduler, start_bayplan):
        plane = start_control_plane()
        plane.start_controller_manager()
        plane.api.create_many([*NODES, *DEVICES])
        with Kubelets(plane.api) as kubelets:
            start(plane)
            _scenario(plane.api)
        residues.append(Residue(plane.api, ended=kubelets.ended.values()))
        claims.append(seen_claims(plane.api))
        plane.close()

    assert claims[0] == claims[1]
    check_same(*residues)
    # And what is the same is what it should be.
    ours = claims[1]
    assert ours["shared"]["reservedFor"] == ["shared-1", "shared-2", "shared-3"]
    assert _devices(ours, "reuse's devices") == ["gpu-0", "gpu-1"]
    assert _devices(ours, "choice's devices") == ["gpu-0", "gpu-2"]
    assert _devices(ours, "tolerant") == ["tainted"]
    assert _consumed(ours, "bandwidth-3's devices") == {"bandwidth": CONSUMED_BANDWIDTH[chosen_release()]}
    assert not ours["whole"]["allocation"]
    assert "cannot allocate all claims" in residues[1].pods["untolerant"]["conditions"][0]["message"]


# --- rules ------------------------------------------------------------------------------------------------


def _rule(name: str, effect: str, **selector: str) -> Object:
    spec = {"deviceSelector": selector, "taint": {"key": name, "value": "yes", "effect": effect}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceTaintRule",
        "metadata": {"name": name},
        "spec": spec,
    }


RULES = [
    _rule("broken", "NoSchedule", driver=GPU, pool="a", device="gpu-0"),
    _rule("maintenance", "NoExecute", pool="b"),
    _rule("curious", "None", driver=GPU),
    _rule("elsewhere", "NoSchedule", driver=NIC),
]
NEXT = claim("next")
FOUR = claim("four", request("r", count=4))
STUBBORN = claim("stubborn", request("r", tolerations=[{"key": "broken", "operator": "Exists"}]))


def _scenario_with_rules(api: Api) -> None:
    """Rules keep pods from devices, unless a claim tolerates the taint, or until the rule is deleted."""
    api.create_many([*RULES, NEXT, STUBBORN, FOUR])
    for name, source in (("next", NEXT), ("stubborn", STUBBORN)):
        api.create(pod_with_claim(name, source, on="a"))
        _await_event(api, name, "Scheduled")
    api.create(pod_with_claim("four", FOUR, on="b"))
    _await_event(api, "four", "FailedScheduling")
    api.delete("DeviceTaintRule", "maintenance")
    _await_event(api, "four", "Scheduled")


@pytest.mark.skipif(
    not release_named(chosen_release()).is_enabled("DRADeviceTaintRules"),
    reason="this release does not serve DeviceTaintRules",
)
def test_rules_taint_the_same_devices(start_control_plane: Callable[..., ControlPlane]) -> None:
    """By driver, pool and device, with every effect; the end of a rule wakes the pod that it kept waiting."""
    residues, claims = [], []
    for start in (ControlPlane.start_scheduler, start_bayplan):
        plane = start_control_plane()
        plane.api.create_many([*NODES[:2], device_class(GPU), gpus_of("a"), gpus_of("b")])
        with Kubelets(plane.api) as kubelets:
            start(plane)
            _scenario_with_rules(plane.api)
        residues.append(Residue(plane.api, ended=kubelets.ended.values()))
        claims.append(seen_claims(plane.api))
        plane.close()

    assert claims[0] == claims[1]
    check_same(*residues)
    assert _devices(claims[1], "next") == ["gpu-1"]
    assert _devices(claims[1], "stubborn") == ["gpu-0"]
    assert len(_devices(claims[1], "four")) == 4


def _devices(claims: dict[str, Object], name: str) -> list[str]:
    return [each["device"] for each in claims[name]["allocation"]["devices"]["results"]]


def _consumed(claims: dict[str, Object], name: str) -> Object:
    (result,) = claims[name]["allocation"]["devices"]["results"]
    found: Object = result["consumedCapacity"]
    return found
