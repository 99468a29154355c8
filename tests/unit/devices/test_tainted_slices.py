"""Rules that taint devices: which devices they select, what changes with them, and who is told."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.devices.device_objects import DRIVER, exactly, make_claim, make_class, make_device, make_slice

from bayplan.devices.tainted_slices import TaintedSlices
from bayplan.model import DeviceTaintRule, ResourceSlice
from bayplan.release import release_named
from bayplan.testing import Harness, VirtualCluster, make_node, make_pod

OWN = {"key": "own", "effect": "NoSchedule"}
SLICES = (
    make_slice("a", make_device("d0", taints=[OWN]), "d1", pool="pa"),
    make_slice("b", "d0", pool="pb", driver="nic.example.com"),
)


def make_rule(name: str = "r", selector: dict[str, str] | None = None, effect: str = "NoSchedule") -> Any:
    spec = {"taint": {"key": name, "effect": effect}}
    chosen = {} if selector is None else {"deviceSelector": selector}
    return DeviceTaintRule.from_dict({"metadata": {"name": name}, "spec": {**chosen, **spec}})


class Ledger:
    """Slices with rules: what the index has, and which changes the queue heard of."""

    def __init__(self) -> None:
        self.slices: dict[str, ResourceSlice] = {}
        self.told: list[str] = []
        self.tainted = TaintedSlices(self._changed, self._told)
        for each in SLICES:
            self.tainted.slice_changed(None, each)

    def _changed(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        if new is not None:
            self.slices[new.name] = new
        elif old is not None:
            del self.slices[old.name]

    def _told(self, old: ResourceSlice | None, new: ResourceSlice | None) -> None:
        assert old is not None
        assert new is self.slices[old.name]
        self.told.append(old.name)

    def taints(self) -> dict[str, list[str]]:
        """Device → keys of its taints, in order; only of devices that have any."""
        listed = {
            f"{each.name}/{device.name}": [taint.key for taint in device.taints]
            for each in self.slices.values()
            for device in each.spec.devices
        }
        return {name: keys for name, keys in listed.items() if keys}


@pytest.mark.parametrize(
    ("selector", "tainted"),
    [
        pytest.param(None, {}, id="no selector: no device"),
        pytest.param({}, {"a/d0", "a/d1", "b/d0"}, id="an empty selector: all devices"),
        pytest.param({"driver": DRIVER}, {"a/d0", "a/d1"}, id="by driver"),
        pytest.param({"pool": "pb"}, {"b/d0"}, id="by pool"),
        pytest.param({"device": "d0"}, {"a/d0", "b/d0"}, id="by device"),
        pytest.param({"driver": DRIVER, "pool": "pa", "device": "d1"}, {"a/d1"}, id="by all three"),
        pytest.param({"driver": DRIVER, "pool": "pb"}, set(), id="by all that is given"),
    ],
)
def test_a_rule_selects_devices(selector: dict[str, str] | None, tainted: set[str]) -> None:
    ledger = Ledger()

    ledger.tainted.rule_changed(None, make_rule(selector=selector))

    assert {name for name, keys in ledger.taints().items() if "r" in keys} == set(tainted)
    assert ledger.told == sorted({name.partition("/")[0] for name in tainted})


def test_rules_come_after_the_device_s_own_taints() -> None:
    ledger = Ledger()
    for name in ("x", "y"):
        ledger.tainted.rule_changed(None, make_rule(name, {"pool": "pa"}))

    assert ledger.taints() == {"a/d0": ["own", "x", "y"], "a/d1": ["x", "y"]}


def test_a_new_slice_is_tainted_at_once() -> None:
    ledger = Ledger()
    ledger.tainted.rule_changed(None, make_rule(selector={"device": "d9"}))

    ledger.tainted.slice_changed(None, make_slice("c", "d9"))

    assert ledger.taints()["c/d9"] == ["r"]
    assert not ledger.told  # the queue hears of the slice itself


def test_without_its_rule_a_slice_is_as_it_was() -> None:
    ledger, rule = Ledger(), make_rule(selector={})
    ledger.tainted.rule_changed(None, rule)
    ledger.tainted.rule_changed(rule, None)

    assert ledger.taints() == {"a/d0": ["own"]}
    assert [ledger.slices[each.name] is each for each in SLICES] == [True, True]
    assert ledger.told == ["a", "b", "a", "b"]


def test_a_changed_rule_concerns_old_and_new_devices() -> None:
    ledger, rule = Ledger(), make_rule(selector={"pool": "pa"})
    ledger.tainted.rule_changed(None, rule)
    ledger.told.clear()

    ledger.tainted.rule_changed(rule, make_rule(selector={"pool": "pb"}))

    assert ledger.taints() == {"a/d0": ["own"], "b/d0": ["r"]}
    assert ledger.told == ["a", "b"]


def test_a_change_that_taints_nothing_is_not_told() -> None:
    """Such as one of the rule's status."""
    ledger, rule = Ledger(), make_rule(selector={})
    ledger.tainted.rule_changed(None, rule)
    ledger.told.clear()

    ledger.tainted.rule_changed(rule, make_rule(selector={}))

    assert not ledger.told


def test_a_deleted_slice_is_forgotten() -> None:
    ledger = Ledger()
    ledger.tainted.slice_changed(SLICES[0], None)
    ledger.tainted.rule_changed(None, make_rule(selector={}))

    assert ledger.taints() == {"b/d0": ["r"]}


# --- in a scheduler ---------------------------------------------------------------------------------------


def _decides(release: str, effect: str = "NoSchedule", **request: Any) -> bool:
    """Whether a pod gets the only device, which a rule taints."""
    claim = make_claim("c", exactly(**request))
    spec = {"resourceClaims": [{"name": "g", "resourceClaimName": "c"}]}
    objects = [make_class(), make_slice("a", "d0"), make_rule("broken", {}, effect), claim]
    with Harness(nodes=[make_node("a")], objects=objects, release=release) as harness:
        return harness.decide(make_pod("p", spec=spec)).node_name == "a"


def test_tolerations_count_for_rules() -> None:
    """Devices with the effect None can be used; 1.36 does not know rules."""
    tolerations = [{"key": "broken", "operator": "Exists"}]
    assert not _decides("1.37")
    assert not _decides("1.37", "NoExecute")
    assert _decides("1.37", "None")
    assert _decides("1.37", tolerations=tolerations)
    assert _decides("1.36")


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_rules_are_watched_where_they_exist(release: str) -> None:
    with Harness(release=release_named(release)) as harness:
        assert harness.core.objects.is_requested(DeviceTaintRule) == (release != "1.36")


RULES = "/apis/resource.k8s.io/v1/devicetaintrules"
OBJECTS = """
apiVersion: resource.k8s.io/v1
kind: DeviceTaintRule
metadata: {name: maintenance}
spec: {deviceSelector: {driver: gpu.bayplan.dev}, taint: {key: maintenance, effect: NoSchedule}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: one}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  resourceClaims: [{name: g, resourceClaimName: one}]
  containers: [{name: c, image: i, resources: {claims: [{name: g}]}}]
"""


def test_a_deleted_rule_wakes_pods() -> None:
    """In a whole cluster: the rule keeps the pod waiting, and its end lets it go."""
    with VirtualCluster(1, devices=["gpu=2"], release="1.37") as cluster:
        cluster.apply(OBJECTS)
        cluster.wait(20)
        assert cluster.pod("p").node_name == ""
        assert "cannot allocate all claims" in cluster.events("p")[0]

        cluster.run(cluster.cluster.client.request("DELETE", f"{RULES}/maintenance"))
        cluster.wait(3)

        assert cluster.pod("p").node_name
