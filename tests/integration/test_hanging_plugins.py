"""Plugins that sleep or never return, in processes of their own: what goes on, what is told, and how it ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.integration.bayplan_process import SOON, ask, ended, free_port, started, until_logged

from bayplan import Cluster
from bayplan.client import HttpTransport, KubeClient, load_access
from bayplan.clock import SystemClock

PLUGIN = """
import time
from bayplan import Plugin

class Hanging(Plugin):
    name = "Hanging"

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.seen = handle.metrics.counter("hanging_seen_total", "Pods and nodes.", "pod")

    def filter(self, state, pod, node):
        self.seen.labels(pod.name).inc()
        if pod.name == "sleeps" and not getattr(self, "has_slept", False):
            self.has_slept = True
            time.sleep(4)
        while pod.name == "loops":
            pass
"""
CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: true, leaseDuration: 3s, renewDeadline: 2s, retryPeriod: 500ms}
profiles:
- plugins: {multiPoint: {enabled: [{name: Hanging}]}}
"""
PODS = "/api/v1/namespaces/default/pods"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-scheduler"
WITH_PLUGIN = ("--config", "scheduler.yaml", "--plugin", "hanging.py:Hanging")


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "hanging.py").write_text(PLUGIN)
    (tmp_path / "scheduler.yaml").write_text(CONFIGURATION)


@asynccontextmanager
async def client_of(kubeconfig: Path) -> AsyncIterator[KubeClient]:
    async with asyncio.timeout(SOON):
        while not kubeconfig.exists():
            await asyncio.sleep(0.05)
    client = KubeClient(HttpTransport(load_access(str(kubeconfig)), SystemClock()), SystemClock())
    yield client
    await client.close()


def pod(name: str) -> dict[str, Any]:
    spec = {"containers": [{"name": "main", "image": "app"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


async def until_bound(client: KubeClient, name: str) -> None:
    async with asyncio.timeout(SOON):
        while not (await client.request("GET", f"{PODS}/{name}"))["spec"].get("nodeName"):
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
@pytest.mark.asyncio
async def test_up_answers_and_ends_while_a_plugin_loops(tmp_path: Path, number: signal.Signals) -> None:
    """The terminal names the plugin, the extension point, the pod and the line; the objects are kept."""
    words = ("up", "--nodes", "1", "--write-kubeconfig", "kubeconfig", "--data", "data")
    async with started(tmp_path, *words, *WITH_PLUGIN) as process, client_of(tmp_path / "kubeconfig") as client:
        await client.request("POST", PODS, pod("loops"))
        await until_logged(tmp_path, "Plugin has not returned: plugin=Hanging point=Filter pod=default/loops")
        # The API server is not held up.
        await client.request("POST", PODS, pod("second"))
        assert len((await client.request("GET", PODS))["items"]) == 2
        process.send_signal(number)
        assert await ended(process, tmp_path) == 1
    told = (tmp_path / "log").read_text()
    assert 'while pod.name == "loops":' in told
    assert "Ending the process, which does not stop by itself: plugin=Hanging" in told
    # The folder was closed, and has everything.
    (tmp_path / "kubeconfig").unlink()
    async with started(tmp_path, *words, *WITH_PLUGIN), client_of(tmp_path / "kubeconfig") as client:
        assert len((await client.request("GET", PODS))["items"]) == 2


@pytest.mark.asyncio
async def test_a_limit_makes_a_loop_an_error_of_the_attempt(tmp_path: Path) -> None:
    """The pod says so, and the others are scheduled."""
    words = ("up", "--nodes", "1", "--write-kubeconfig", "kubeconfig", "--plugin-timeout", "100ms")
    async with started(tmp_path, *words, *WITH_PLUGIN) as process, client_of(tmp_path / "kubeconfig") as client:
        for name in ("loops", "second"):
            await client.request("POST", PODS, pod(name))
        await until_bound(client, "second")
        async with asyncio.timeout(SOON):
            while not (said := (await client.request("GET", f"{PODS}/loops"))["status"].get("conditions")):
                await asyncio.sleep(0.05)
        (condition,) = [each for each in said if each["type"] == "PodScheduled"]
        assert (condition["status"], condition["reason"]) == ("False", "SchedulerError")
        told = 'running "Hanging" filter plugin: the plugin took longer than 0.1s (--plugin-timeout)'
        assert condition["message"] == told
        process.terminate()
        assert await ended(process, tmp_path) == 0


@pytest.mark.asyncio
async def test_a_slow_plugin_costs_neither_the_lease_nor_the_endpoints(tmp_path: Path) -> None:
    """It sleeps for longer than the lease lasts."""
    port = free_port()
    open_paths = "--authorization-always-allow-paths=/metrics,/healthz,/readyz,/debug/*"
    words = ("run", f"--secure-port={port}", open_paths, "--kubeconfig", "kubeconfig")
    async with Cluster(1, scheduler=False, listen=("127.0.0.1", 0)) as cluster:
        (tmp_path / "kubeconfig").write_text(cluster.address.kubeconfig())
        async with started(tmp_path, *words, *WITH_PLUGIN) as process:
            await cluster.client.request("POST", PODS, pod("sleeps"))
            await until_logged(tmp_path, "Plugin has not returned: plugin=Hanging point=Filter pod=default/sleeps")
            assert await ask(port, "/healthz") == (200, "ok")
            counted = 'bayplan_plugin_stalls_total{extension_point="Filter",plugin="Hanging"} 1'
            assert counted in (await ask(port, "/metrics"))[1]
            await until_bound(cluster.client, "sleeps")
            # The plugin's own metrics are scraped with the scheduler's, and the process can be profiled.
            assert 'hanging_seen_total{pod="sleeps"} 1' in (await ask(port, "/metrics"))[1]
            assert "MainThread" in (await ask(port, "/debug/pprof/profile?seconds=0.1"))[1]
            lease = await cluster.client.request("GET", LEASE)
            assert lease["spec"].get("leaseTransitions", 0) == 0
            assert lease["spec"]["holderIdentity"]
            assert "The scheduler goes on" in (tmp_path / "log").read_text()
            process.terminate()
            assert await ended(process, tmp_path) == 0


@pytest.mark.asyncio
async def test_a_leader_that_is_ended_by_force_frees_the_lease(tmp_path: Path) -> None:
    """Others need not wait until it expires."""
    words = ("run", "--secure-port=0", "--kubeconfig", "kubeconfig")
    async with Cluster(1, scheduler=False, listen=("127.0.0.1", 0)) as cluster:
        (tmp_path / "kubeconfig").write_text(cluster.address.kubeconfig())
        async with started(tmp_path, *words, *WITH_PLUGIN) as process:
            await cluster.client.request("POST", PODS, pod("loops"))
            await until_logged(tmp_path, "Plugin has not returned")
            process.terminate()
            assert await ended(process, tmp_path) == 1
        lease = await cluster.client.request("GET", LEASE)
        assert lease["spec"].get("holderIdentity", "") == ""
