"""The story that this project began with: a plugin of one's own holds a Deployment back until a node is labelled.

It is told with kubectl, as its author did: https://blog.haohtml.com/archives/34665
"""

from __future__ import annotations

import re
import textwrap
import time
from pathlib import Path

import pytest
from tests.e2e.api import Object, eventually
from tests.e2e.bayplan import start_bayplan
from tests.e2e.binaries import chosen_release
from tests.e2e.control_plane import ControlPlane
from tests.e2e.deployed import Deployed, printed
from tests.e2e.objects import node
from tests.e2e.seen import bound_to, condition, events

from bayplan.release import release_named

pytestmark = pytest.mark.e2e

CONFIGURATION: Object = {
    "profiles": [
        {"schedulerName": "sample-scheduler", "plugins": {"filter": {"enabled": [{"name": "sample"}]}}},
    ]
}
PLUGIN = '''
"""Only nodes with the label cpu=true will do."""

from bayplan import Action, ClusterEvent, Plugin, Resource, Status


class CpuNodes(Plugin):
    name = "sample"
    events_to_register = (ClusterEvent(Resource.NODE, Action.ADD | Action.UPDATE_NODE_LABEL),)

    def filter(self, state, pod, node):
        if node.labels.get("cpu") != "true":
            return Status.unschedulable(f"Node: {node.name}")
'''
DEPLOYMENT = textwrap.dedent(
    """
    apiVersion: apps/v1
    kind: Deployment
    metadata:
      name: test-scheduler
    spec:
      selector:
        matchLabels:
          app: test-scheduler
      template:
        metadata:
          labels:
            app: test-scheduler
        spec:
          schedulerName: sample-scheduler
          containers:
            - image: nginx:1.23-alpine
              imagePullPolicy: IfNotPresent
              name: nginx
              ports:
                - containerPort: 80
    """
)
_FACTS = release_named(chosen_release()).facts
_CLAIMS = "no new claims to deallocate, " if _FACTS.reports_no_deallocation else ""
#: As the author saw it, in the words of today: taints are no longer told apart, and claims may come into it.
MESSAGE = (
    "0/4 nodes are available: 1 Node: k8s, 1 Node: node1, 1 node(s) had untolerated taint(s), "
    f"1 node(s) were unschedulable. {_CLAIMS}preemption: 0/4 nodes are available: "
    "2 No preemption victims found for incoming pod, 2 Preemption is not helpful for scheduling."
)
#: What the author saw in the log of the scheduler, as far as it is about the pod.
LOG = [
    "Add event for unscheduled pod",
    "Attempting to schedule pod",
    "Unable to schedule pod; no fit; waiting",
    "Updating pod condition",
    "Attempting to schedule pod",
    "Attempting to bind pod to node",
    "Delete event for unscheduled pod",
    "Successfully bound pod to node",
    "Add event for scheduled pod",
]
BIND_SECONDS = 2.0


@pytest.fixture
def four_nodes(control_plane: ControlPlane) -> ControlPlane:
    """Two good nodes, one out of reach, one cordoned; with the controllers that make pods of a Deployment."""
    lost = [{"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}]
    control_plane.api.create_many(
        [
            node("k8s"),
            node("node1"),
            node("node2", taints=lost, ready=False),
            node("node3", unschedulable=True, ready=False),
        ]
    )
    control_plane.start_controller_manager()
    return control_plane


def test_a_deployment_waits_for_a_label(four_nodes: ControlPlane, tmp_path: Path) -> None:
    """Pending with a message that names all four nodes; bound within two seconds once a node has the label."""
    plugin = tmp_path / "sample.py"
    plugin.write_text(PLUGIN)
    arguments = ["--plugin", f"{plugin}:CpuNodes"]
    scheduler = start_bayplan(four_nodes, CONFIGURATION, verbosity=4, arguments=arguments)
    _tell(four_nodes, scheduler.log)


def test_the_same_as_deployed(four_nodes: ControlPlane, tmp_path: Path) -> None:
    """The printed rights, and no others, are enough; so are the printed configuration and a read-only root."""
    plugin = tmp_path / "sample.py"
    plugin.write_text(PLUGIN)
    scheduler = Deployed(four_nodes, printed("--name=sample-scheduler", f"--plugin={plugin}:CpuNodes"))
    scheduler.start(verbosity=4)
    scheduler.wait_ready()
    _tell(four_nodes, scheduler.process.log)


def _tell(plane: ControlPlane, log: Path) -> None:
    # 1. Nothing fits.
    plane.kubectl("apply", "-f", "-", stdin=DEPLOYMENT)
    name = eventually(lambda: _pod_name(plane))
    assert eventually(lambda: _scheduled(plane, name)) == ("False", "Unschedulable", MESSAGE)
    assert plane.kubectl("get", "pod", name, "--no-headers").split()[1:3] == ["0/1", "Pending"]
    eventually(lambda: _events(plane, name))
    assert "Warning  FailedScheduling" in plane.kubectl("describe", "pod", name)

    # 2. A label, and nothing else, makes the difference. Any backoff is over by then, as it was in the story.
    time.sleep(1.5)
    plane.kubectl("label", "node", "node1", "cpu=true")
    labelled = time.monotonic()
    assert eventually(lambda: bound_to(plane.api, name), interval=0.01) == "node1"
    seconds = time.monotonic() - labelled
    print(f"bound {seconds:.2f} s after the label")
    assert seconds < BIND_SECONDS

    # 3. What is left behind, in this order.
    told = eventually(lambda: found if len(found := _events(plane, name)) > 1 else None)
    assert told == [
        ("Warning", "FailedScheduling", "sample-scheduler", MESSAGE),
        ("Normal", "Scheduled", "sample-scheduler", f"Successfully assigned default/{name} to node1"),
    ]
    assert _scheduled(plane, name) == ("True", "", "")
    messages = eventually(lambda: found if len(found := _log_messages(log, name)) > 8 else None)
    assert messages[:6] == LOG[:6]
    # The answer to the bind and the news of it come by different ways.
    assert sorted(messages[6:]) == sorted(LOG[6:])


def _pod_name(plane: ControlPlane) -> str:
    return plane.kubectl("get", "pods", "--selector=app=test-scheduler", "-o=name").strip().removeprefix("pod/")


def _scheduled(plane: ControlPlane, name: str) -> tuple[str, str, str] | None:
    """Status, reason and message of the condition."""
    found = condition(plane.api.get("Pod", name))
    return None if found is None else (found["status"], found.get("reason", ""), found.get("message", ""))


def _events(plane: ControlPlane, name: str) -> list[tuple[str, str, str, str]]:
    return [
        (each["type"], each["reason"], each["reportingController"], each["note"])
        for each in events(plane.api, name)
    ]


def _log_messages(log: Path, name: str) -> list[str]:
    """Those of the story, in the order of the log."""
    found = re.findall(rf'^I.*?\] "(.*?)" pod="default/{name}"', log.read_text(), flags=re.MULTILINE)
    return [each for each in found if each in LOG]
