"""The control plane of the other end-to-end tests is a real one and can be handled as they need it."""

from __future__ import annotations

import contextlib
import itertools
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.e2e.api import ApiError, Object, eventually
from tests.e2e.binaries import KUBERNETES_VERSION
from tests.e2e.control_plane import ControlPlane, accepts
from tests.e2e.objects import node, pod
from tests.e2e.shared import SharedControlPlane, objects

pytestmark = pytest.mark.e2e


def _bound_to(plane: ControlPlane, name: str) -> str | None:
    node_name: str | None = plane.api.get("Pod", name)["spec"].get("nodeName")
    return node_name


def _events(plane: ControlPlane, reason: str) -> list[Object]:
    return [event for event in plane.api.list("events.k8s.io/v1/Event") if event["reason"] == reason]


def test_api_server_is_of_our_minor_version(control_plane: ControlPlane) -> None:
    """Programs of a release and programs built here both say which release they are."""
    assert control_plane.api.request("GET", "/version")["gitVersion"] == KUBERNETES_VERSION


def test_stock_scheduler_binds_a_pod(control_plane: ControlPlane) -> None:
    """Four nodes, of which one fits: the pod is bound there, and the event says so."""
    control_plane.api.create_many(
        [
            node("node1", labels={"disk": "ssd"}),
            node("node2"),
            node("node3", unschedulable=True, labels={"disk": "ssd"}),
            node("node4", taints=[{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}], ready=False),
        ]
    )
    control_plane.start_scheduler()

    control_plane.api.create(pod("web", nodeSelector={"disk": "ssd"}))

    assert eventually(lambda: _bound_to(control_plane, "web")) == "node1"
    (event,) = eventually(lambda: _events(control_plane, "Scheduled"))
    assert event["note"] == "Successfully assigned default/web to node1"
    assert event["reportingController"] == "default-scheduler"


def test_scheduler_takes_a_configuration(control_plane: ControlPlane) -> None:
    """The stock scheduler runs with the profile it is given, and answers an administrator on its own port."""
    scheduler = control_plane.start_scheduler({"profiles": [{"schedulerName": "other"}]})
    control_plane.api.create(node("a"))
    control_plane.api.create(pod("mine", scheduler="other"))
    control_plane.api.create(pod("not-mine"))

    assert eventually(lambda: _bound_to(control_plane, "mine")) == "a"
    assert _bound_to(control_plane, "not-mine") is None
    assert scheduler.port is not None
    metrics = control_plane.client(scheduler.port)
    status, text = metrics.raw("GET", "/metrics", accept="text/plain")
    metrics.close()
    assert status == 200
    assert b'scheduler_schedule_attempts_total{profile="other",result="scheduled"} 1' in text


def test_kubectl_sees_the_nodes(control_plane: ControlPlane) -> None:
    """kubectl prints what is there."""
    control_plane.api.create_many([node("node1"), node("node2", ready=False), node("node3", unschedulable=True)])

    lines = control_plane.kubectl("get", "nodes", "--no-headers").splitlines()

    assert [line.split()[:2] for line in lines] == [
        ["node1", "Ready"],
        ["node2", "NotReady"],
        ["node3", "Ready,SchedulingDisabled"],
    ]


def test_controller_manager_makes_pods_of_a_deployment(control_plane: ControlPlane) -> None:
    """With the controllers a Deployment becomes pods."""
    control_plane.start_controller_manager()

    control_plane.kubectl("create", "deployment", "web", "--image=pause", "--replicas=2")

    assert eventually(lambda: len(control_plane.api.list("Pod")) == 2)


@pytest.mark.parametrize("crash", [False, True], ids=["asked to stop", "killed"])
def test_objects_outlive_the_api_server(start_control_plane: Callable[..., ControlPlane], crash: bool) -> None:
    """A restarted API server is at the same address with the same objects, and a scheduler finds it again."""
    control_plane = start_control_plane()
    before = control_plane.api.create(node("a"))
    control_plane.start_scheduler()

    control_plane.restart_api_server(crash=crash)

    assert control_plane.api.get("Node", "a")["metadata"] == before["metadata"]
    control_plane.api.create(pod("web"))
    assert eventually(lambda: _bound_to(control_plane, "web")) == "a"


def test_watch_sees_changes(control_plane: ControlPlane) -> None:
    """The client's watch yields what happened, in order."""
    api = control_plane.api
    before = api.request("GET", "/api/v1/nodes")["metadata"]["resourceVersion"]
    api.create(node("a"))
    api.patch("Node", "a", {"metadata": {"labels": {"disk": "ssd"}}})
    api.delete("Node", "a")

    with contextlib.closing(api.watch("Node", resourceVersion=before)) as watch:
        seen = [kind for kind, _ in itertools.islice(watch, 3)]

    assert seen == ["ADDED", "MODIFIED", "DELETED"]


def test_rights_are_those_of_the_user(control_plane: ControlPlane) -> None:
    """A kubeconfig for the scheduler may bind pods, and may not make deployments."""
    file = control_plane.kubeconfig_for("system:kube-scheduler")

    def may(*question: str) -> str:
        return control_plane.kubectl("auth", "can-i", *question, f"--kubeconfig={file}")

    assert may("create", "pods", "--subresource=binding") == "yes\n"
    with pytest.raises(RuntimeError, match=r": no$"):
        may("create", "deployments")


def test_refusals_are_errors(control_plane: ControlPlane) -> None:
    """What the API server refuses is an error with its status."""
    control_plane.api.create(node("a"))

    with pytest.raises(ApiError) as refused:
        control_plane.api.create(node("a"))

    assert (refused.value.status, refused.value.reason) == (409, "AlreadyExists")


def test_processes_freeze_and_wake(control_plane: ControlPlane) -> None:
    """A frozen scheduler binds nothing; awake, it goes on."""
    scheduler = control_plane.start_scheduler()
    control_plane.api.create(node("a"))
    scheduler.freeze()
    control_plane.api.create(pod("web"))
    time.sleep(0.5)
    assert _bound_to(control_plane, "web") is None

    scheduler.signal(signal.SIGCONT)

    assert eventually(lambda: _bound_to(control_plane, "web")) == "a"


def test_what_a_test_leaves_is_swept_away(shared_control_plane: SharedControlPlane) -> None:
    """Objects with finalizers, in namespaces of their own, under definitions of their own, and processes."""
    plane = shared_control_plane.get()
    before = {path for path, _ in objects(plane.api)}
    scheduler = plane.start_scheduler()
    plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "mine"}})
    held = node("held")
    held["metadata"]["finalizers"] = ["example.com/hold"]
    plane.api.create_many([held, pod("web"), pod("other", namespace="mine")])
    assert {path for path, _ in objects(plane.api)} - before >= {
        "/api/v1/namespaces/mine",
        "/api/v1/namespaces/mine/pods/other",
        "/api/v1/namespaces/default/pods/web",
        "/api/v1/nodes/held",
    }

    shared_control_plane.sweep()

    assert shared_control_plane.get() is plane
    assert not scheduler.running
    assert {path for path, _ in objects(plane.api)} == before


def test_nothing_outlives_a_killed_test(programs: dict[str, Path], tmp_path: Path) -> None:
    """Even a test process that is killed outright takes its control plane with it."""
    program = textwrap.dedent(
        """
        import os, pathlib, signal, sys
        from tests.e2e.control_plane import ControlPlane
        plane = ControlPlane(pathlib.Path(sys.argv[1]))
        plane.start_etcd()
        print(plane.etcd_port, plane.data, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        """
    )

    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", program, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )

    port, data = done.stdout.split()
    assert eventually(lambda: not accepts(int(port)))
    assert eventually(lambda: not Path(data).exists())
