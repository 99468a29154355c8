"""A saved plugin file is at work before the next cycle, in a whole cluster; a broken one changes nothing."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from bayplan.model.kube_object import condition_of
from bayplan.testing import VirtualCluster, make_node, make_pod

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint:
      enabled: [{name: Rule, weight: 100}]
"""
PREFER = """
from bayplan import Plugin

class Rule(Plugin):
    name = "Rule"

    def score(self, state, pod, node):
        return 100 if node.name == "a" else 0
"""
PREFER_B = PREFER.replace('"a"', '"b"')
REFUSE = """
from bayplan import Plugin, Status

class Rule(Plugin):
    name = "Rule"

    def filter(self, state, pod, node):
        return Status.unresolvable("node(s) were refused by the rule")
"""
#: Never gives a node twice, as long as it remembers.
ONCE = """
from bayplan import Plugin, Status

class Rule(Plugin):
    name = "Rule"

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.given = set()

    def filter(self, state, pod, node):
        if node.name in self.given:
            return Status.unschedulable("node(s) were given already")

    def reserve(self, state, pod, node_name):
        self.given.add(node_name)
"""
WISHES = """
from bayplan import Plugin

class Rule(Plugin):
    name = "Rule"

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.wishes = handle.informers.custom("example.com/v1", "wishes")

    def score(self, state, pod, node):
        return 100 if self.wishes.get(node.name) else 0
"""
CARRY = """
    def carry_over(self, old):
        self.given = old.given
"""


@pytest.fixture
def rule(tmp_path: Path) -> Path:
    file = tmp_path / "rule.py"
    file.write_text(PREFER)
    return file


@pytest.fixture
def cluster(rule: Path) -> Iterator[VirtualCluster]:
    nodes = [make_node("a"), make_node("b")]
    with VirtualCluster(nodes, plugins=[f"{rule}:Rule"], configuration=CONFIGURATION) as started:
        yield started


@pytest.fixture(autouse=True)
def _hear_reloads(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "bayplan.reload")


def test_a_saved_file_decides_the_next_pod(
    cluster: VirtualCluster, rule: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing is restarted, and no time has to pass between the save and the pod."""
    assert cluster.schedule(make_pod("first")).node_name == "a"
    rule.write_text(PREFER_B)
    assert cluster.schedule(make_pod("second")).node_name == "b"
    assert f"{rule}: reloaded" in caplog.messages


def test_a_plugin_may_move_to_other_points(cluster: VirtualCluster, rule: Path) -> None:
    """What was a Score plugin is a Filter plugin after the save: under multiPoint the class says where it is."""
    rule.write_text(REFUSE)
    refused = condition_of(cluster.schedule(make_pod("p")).status.conditions, "PodScheduled")
    assert refused is not None
    assert refused.message.startswith("0/2 nodes are available: 2 node(s) were refused by the rule.")


def test_waiting_pods_are_tried_with_the_new_one(cluster: VirtualCluster, rule: Path) -> None:
    """No event in the cluster would wake the pod that the old plugin refused; the save does."""
    rule.write_text(REFUSE)
    assert cluster.schedule(make_pod("p")).node_name == ""
    rule.write_text(PREFER_B)
    cluster.wait(2)
    assert cluster.pod("p").node_name == "b"


@pytest.mark.parametrize(
    ("broken", "why"),
    [
        pytest.param("class Rule(", "SyntaxError: '(' was never closed", id="no Python"),
        pytest.param("import no_such_module", "line 1: ModuleNotFoundError", id="an import that fails"),
        pytest.param("raise SystemExit('bye')", "SystemExit: bye", id="a file that ends the process"),
        pytest.param(PREFER.replace("class Rule", "class Other"), "has no class Rule", id="the class is gone"),
        pytest.param(PREFER.replace("def score", "def scores"), "did you mean score?", id="contract broken"),
        pytest.param(PREFER.replace('name = "Rule"', 'name = "Other"'), "profiles[0].plugins", id="another name"),
        pytest.param(
            PREFER + "    def __init__(self, args, handle):\n        1 / 0\n",
            "its constructor raised ZeroDivisionError",
            id="constructor raises",
        ),
        pytest.param(
            PREFER + "    def carry_over(self, old):\n        old.no_such_thing\n",
            "its carry_over raised AttributeError",
            id="carry_over raises",
        ),
    ],
)
def test_a_broken_file_keeps_the_old_one(
    cluster: VirtualCluster, rule: Path, caplog: pytest.LogCaptureFixture, broken: str, why: str
) -> None:
    """The log says why, once; the next good save is taken."""
    rule.write_text(broken)
    cluster.wait(5)
    assert cluster.schedule(make_pod("p")).node_name == "a"
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{rule}: not reloaded, what ran before goes on: ")
    assert why in warnings[0]
    rule.write_text(PREFER_B)
    assert cluster.schedule(make_pod("q")).node_name == "b"


@pytest.mark.parametrize(
    ("saved", "expected"),
    [
        pytest.param(ONCE + CARRY, "b", id="carried over"),
        pytest.param(ONCE + "    # changed\n" + CARRY.replace("old.given", "set()"), "a", id="not carried over"),
    ],
)
def test_state_goes_on_where_the_plugin_says_how(
    cluster: VirtualCluster, rule: Path, saved: str, expected: str
) -> None:
    """`carry_over` gets the old instance; without it the new one begins empty."""
    rule.write_text(ONCE)
    pinned = {"nodeSelector": {"kubernetes.io/hostname": "a"}}
    assert cluster.schedule(make_pod("first", spec=pinned)).node_name == "a"
    rule.write_text(saved)
    prefer_a = {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 100,
                "preference": {
                    "matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["a"]}]
                },
            }
        ]
    }
    pod = make_pod("second", spec={"affinity": {"nodeAffinity": prefer_a}})
    assert cluster.schedule(pod).node_name == expected


def test_callbacks_move_to_the_new_instance(cluster: VirtualCluster, rule: Path) -> None:
    """The new instance hears of every pod there is, the old one of none any more."""
    counting = """
from bayplan import Plugin, Pod

class Rule(Plugin):
    name = "Rule"

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.pods = set()
        handle.informers.on_change(Pod, lambda old, new: self.pods.add((new or old).name))

    def score(self, state, pod, node):
        return 0
"""
    cluster.schedule(make_pod("first"))
    rule.write_text(counting)
    cluster.wait(2)
    service = cluster.cluster.scheduler
    assert service is not None
    old = service.core.profiles["default-scheduler"].plugins.plugins["Rule"]
    assert old.pods == {"first"}  # type: ignore[attr-defined]
    rule.write_text(counting + "# changed\n")
    cluster.wait(2)
    cluster.schedule(make_pod("second"))
    new = service.core.profiles["default-scheduler"].plugins.plugins["Rule"]
    assert old.pods == {"first"}  # type: ignore[attr-defined]
    assert new.pods == {"first", "second"}  # type: ignore[attr-defined]


def test_a_custom_resource_may_be_asked_for_later(cluster: VirtualCluster, rule: Path) -> None:
    """A kind that nobody watched before the save is watched after it."""
    cluster.apply(
        """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: wishes.example.com}
spec:
  group: example.com
  names: {kind: Wish, plural: wishes}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
""",
        "{apiVersion: example.com/v1, kind: Wish, metadata: {name: b}}",
    )
    rule.write_text(WISHES)
    cluster.wait(2)
    assert cluster.schedule(make_pod("p")).node_name == "b"
