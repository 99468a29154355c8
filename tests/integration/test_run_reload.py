"""`bayplan run --reload`: a process of its own against an API server, and a file that is saved meanwhile."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.integration.bayplan_process import started

from bayplan import Cluster
from bayplan.testing import make_node

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
profiles:
- plugins: {multiPoint: {enabled: [{name: Rule, weight: 100}]}}
"""
RUN = (
    "run",
    "--secure-port=0",
    "--kubeconfig",
    "kubeconfig",
    "--config",
    "scheduler.yaml",
    "--plugin",
    "rule.py:Rule",
)
RULE = """
from bayplan import Plugin

class Rule(Plugin):
    name = "Rule"

    def score(self, state, pod, node):
        return 100 if node.name == "a" else 0
"""
NODES = [
    {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": make_node(name).to_dict()["status"]}
    for name in ("a", "b")
]


async def place(cluster: Cluster, name: str) -> str:
    """Where the pod *name* goes."""
    spec = {"containers": [{"name": "main", "image": "app"}]}
    await cluster.apply([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}])
    async with asyncio.timeout(60):
        while True:
            pod = await cluster.get(f"/api/v1/namespaces/default/pods/{name}")
            if node_name := pod["spec"].get("nodeName"):
                return str(node_name)
            await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [pytest.param(["--reload"], "b", id="with --reload"), pytest.param([], "a", id="without")],
)
@pytest.mark.asyncio
async def test_a_running_scheduler_takes_the_saved_file(tmp_path: Path, flags: list[str], expected: str) -> None:
    """With the flag; without it the file is read once."""
    (tmp_path / "scheduler.yaml").write_text(CONFIGURATION)
    (tmp_path / "rule.py").write_text(RULE)
    async with Cluster(NODES, scheduler=False, listen=("127.0.0.1", 0)) as cluster:
        (tmp_path / "kubeconfig").write_text(cluster.address.kubeconfig())
        async with started(tmp_path, *RUN, *flags):
            assert await place(cluster, "first") == "a"
            (tmp_path / "rule.py").write_text(RULE.replace('"a"', '"b"'))
            assert await place(cluster, "second") == expected
            assert ("rule.py: reloaded" in (tmp_path / "log").read_text()) == bool(flags)
