"""Devices of `bayplan up` with programs of others: a stock kube-scheduler allocates them, kubectl shows them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.api import Object, eventually
from tests.e2e.bayplan import PROGRAM
from tests.e2e.processes import ProcessGroup

pytestmark = pytest.mark.e2e

START_SECONDS = 90
STORY = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: shared}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: gpu}}]}}
---
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: two}
spec:
  spec:
    devices:
      requests:
      - name: gpus
        exactly:
          deviceClassName: gpu
          count: 2
          selectors: [{cel: {expression: 'device.attributes["gpu.bayplan.dev"].index >= 4'}}]
---
apiVersion: v1
kind: Pod
metadata: {name: a}
spec:
  containers: [{name: main, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimName: shared}]
---
apiVersion: v1
kind: Pod
metadata: {name: b}
spec:
  containers: [{name: main, image: i, resources: {claims: [{name: gpu}]}}]
  resourceClaims: [{name: gpu, resourceClaimName: shared}]
---
apiVersion: v1
kind: Pod
metadata: {name: own}
spec:
  containers: [{name: main, image: i, resources: {claims: [{name: gpus}]}}]
  resourceClaims: [{name: gpus, resourceClaimTemplateName: two}]
---
apiVersion: v1
kind: Pod
metadata: {name: extended}
spec: {containers: [{name: main, image: i, resources: {limits: {bayplan.dev/gpu: 2}}}]}
"""


class Kubectl:
    """kubectl on the cluster."""

    def __init__(self, program: Path, kubeconfig: Path) -> None:
        self._command = [str(program), f"--kubeconfig={kubeconfig}"]

    def __call__(self, *words: str, text: str | None = None) -> str:
        done = subprocess.run(  # noqa: S603  a program of the control plane
            [*self._command, *words], input=text, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def items(self, resource: str) -> list[Object]:
        found: list[Object] = json.loads(self("get", resource, "-o", "json"))["items"]
        return found


@pytest.fixture
def kubectl(programs: dict[str, Path], tmp_path: Path) -> Iterator[Kubectl]:
    """`bayplan up` with a stock kube-scheduler."""
    kubeconfig = tmp_path / "kubeconfig"
    group = ProcessGroup(tmp_path)
    try:
        words = ["--nodes=2", "--devices=gpu=8", "--no-scheduler", f"--write-kubeconfig={kubeconfig}", "--plain"]
        process = group.start("bayplan-up", [PROGRAM, "up", *words])
        process.wait_until(lambda: "The cluster is up" in process.log.read_text(), timeout=START_SECONDS)
        arguments = [f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--secure-port=0"]
        group.start("kube-scheduler", [programs["kube-scheduler"], *arguments])
        yield Kubectl(programs["kubectl"], kubeconfig)
    finally:
        group.end()


def test_a_stock_scheduler_allocates_simulated_devices(kubectl: Kubectl) -> None:
    """A shared claim, one from a template, one for an extended resource; nothing is left of them."""
    kubectl("apply", "-f", "-", text=STORY)
    eventually(lambda: {each["status"]["phase"] for each in kubectl.items("pods")} == {"Running"})

    claims = {
        each["metadata"].get("generateName", each["metadata"]["name"]): each
        for each in kubectl.items("resourceclaims")
    }
    assert sorted(claims) == ["extended-extended-resources-", "own-gpus-", "shared"]
    assert [each["name"] for each in claims["shared"]["status"]["reservedFor"]] == ["a", "b"]
    assert len(_devices(claims["extended-extended-resources-"])) == 2
    assert all(int(device.removeprefix("gpu-")) >= 4 for device in _devices(claims["own-gpus-"]))
    states = [line.split()[1] for line in kubectl("get", "resourceclaims").splitlines()]
    assert states == ["STATE", *["allocated,reserved"] * 3]
    assert "Device:   gpu-0" in kubectl("describe", "resourceclaim", "shared")

    kubectl("delete", "pods", "--all")
    eventually(lambda: [each["metadata"]["name"] for each in kubectl.items("resourceclaims")] == ["shared"])
    eventually(lambda: kubectl.items("resourceclaims")[0]["status"] == {})


def _devices(claim: Object) -> list[str]:
    return [result["device"] for result in claim["status"]["allocation"]["devices"]["results"]]
