"""A cluster of either release, and a scheduler in a process of its own that follows it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from bayplan import Cluster
from bayplan.apiserver.rest import discovery
from bayplan.release import NEWEST, SUPPORTED, supported_text

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
"""
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"containers": [{"name": "main", "image": "app"}]},
}


async def _log_of_run(folder: Path, cluster: Cluster, *flags: str) -> str:
    """What `bayplan run` logs until it has bound the pod p."""
    (folder / "kubeconfig").write_text(cluster.address.kubeconfig())
    (folder / "scheduler.yaml").write_text(CONFIGURATION)
    log = folder / "log"
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            Path(sys.executable).with_name("bayplan"),
            *("run", "--secure-port=0", "--kubeconfig=kubeconfig", "--config=scheduler.yaml", *flags),
            cwd=folder,
            stdout=output,
            stderr=output,
        )
    try:
        await cluster.apply([POD])
        async with asyncio.timeout(60):
            while not (await cluster.get("/api/v1/namespaces/default/pods/p"))["spec"].get("nodeName"):
                await asyncio.sleep(0.05)
    finally:
        process.terminate()
        await process.wait()
    return log.read_text()


@pytest.mark.asyncio
@pytest.mark.parametrize("minor", SUPPORTED)
async def test_cluster_speaks_a_release_and_its_scheduler_follows(minor: str, tmp_path: Path) -> None:
    """Version, schemas, kubelets, and the scheduler that asked the API server."""
    async with Cluster(1, kubernetes=minor, scheduler=False, listen=("127.0.0.1", 0)) as cluster:
        version = await cluster.get("/version")
        openapi = await cluster.get("/openapi/v2")
        (node,) = (await cluster.get("/api/v1/nodes"))["items"]
        log = await _log_of_run(tmp_path, cluster)

    assert version["gitVersion"] == f"v{SUPPORTED[minor].version}"
    assert version["major"] + "." + version["minor"] == minor
    assert openapi["info"]["version"] == minor
    assert node["status"]["nodeInfo"]["kubeletVersion"] == version["gitVersion"]
    assert f'kubernetes="v{SUPPORTED[minor].version}"' in log
    assert "Warning" not in log


@pytest.mark.asyncio
async def test_emulated_version_is_followed_whatever_the_server(tmp_path: Path) -> None:
    """The user's word counts; the API server is not asked."""
    async with Cluster(1, kubernetes="1.37", scheduler=False, listen=("127.0.0.1", 0)) as cluster:
        log = await _log_of_run(tmp_path, cluster, "--emulated-version=1.36")

    assert f'kubernetes="v{SUPPORTED["1.36"].version}"' in log


@pytest.mark.asyncio
async def test_unsupported_server_is_scheduled_as_the_nearest_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log warns with what is supported and what may differ; the pod is bound all the same."""
    told = {"gitVersion": "v1.99.0", "emulationMajor": "1", "emulationMinor": "99"}
    monkeypatch.setattr(discovery, "_version", lambda release: told)
    async with Cluster(1, scheduler=False, listen=("127.0.0.1", 0)) as cluster:
        log = await _log_of_run(tmp_path, cluster)

    assert (
        f"Warning: the API server is Kubernetes v1.99.0, supported are {supported_text()}; "
        f"scheduling goes on as in {NEWEST.minor}. "
    ) in log
    assert "default plugins, feature gates, scores and messages" in log
    assert f'kubernetes="v{NEWEST.version}"' in log
