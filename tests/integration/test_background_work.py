"""Background work and watches of plugins in a whole cluster: reloads, pods on their way, the end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.integration.bayplan_process import ended, started, until

from bayplan.model import Node, Secret
from bayplan.testing import VirtualCluster, make_pod

CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins: {multiPoint: {enabled: [{name: Prices}]}}
"""
#: Notes its life in a file beside it.
PLUGIN = """
from pathlib import Path

from bayplan import Plugin, Status
from bayplan.model import ConfigMap

LOG = Path(__file__).with_name("life")


class Prices(Plugin):
    name = "Prices"
    version = 1

    def __init__(self, args, handle):
        super().__init__(args, handle)
        self.limits = handle.informers.lister(ConfigMap, namespace="default", fields="metadata.name=limits")
        handle.informers.on_change(ConfigMap, self._changed, labels="app=web")
        self._note("made")
        handle.spawn(self._poll)

    def _note(self, text):
        with LOG.open("a") as file:
            file.write(f"{self.version} {text}\\n")

    def _changed(self, old, new):
        self._note(f"saw {(new or old).name}{'' if new else ' go'}")

    async def _poll(self):
        self._note("polls")
        try:
            await self.handle.clock.sleep(100000)
        finally:
            self._note(f"poll ended {self.handle.is_stopping}")

    def permit(self, state, pod, node_name):
        if pod.name == "waits":
            return Status.wait(timeout_seconds=30)

    async def close(self):
        self._note("closed")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prices.py").write_text(PLUGIN)
    (tmp_path / "scheduler.yaml").write_text(CONFIGURATION)
    return tmp_path


@pytest.fixture
def cluster(folder: Path) -> Iterator[VirtualCluster]:
    plugins = [f"{folder / 'prices.py'}:Prices"]
    with VirtualCluster(nodes=2, plugins=plugins, configuration=CONFIGURATION) as started:
        yield started


def life(folder: Path) -> list[str]:
    file = folder / "life"
    return file.read_text().splitlines() if file.exists() else []


def save_second_version(folder: Path) -> None:
    (folder / "prices.py").write_text(PLUGIN.replace("version = 1", "version = 2"))


def prices(cluster: VirtualCluster) -> Any:
    service = cluster.cluster.scheduler
    assert service is not None
    return service.core.profiles["default-scheduler"].plugins.plugins["Prices"]


def test_a_reload_ends_what_the_old_instance_started(cluster: VirtualCluster, folder: Path) -> None:
    """The new one starts its own, and is told what is there."""
    metadata = {"name": "web", "namespace": "default", "labels": {"app": "web"}}
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    cluster.wait(1)
    save_second_version(folder)
    cluster.wait(5)
    assert life(folder)[:5] == ["1 made", "1 polls", "1 saw web", "2 made", "2 saw web"]
    assert sorted(life(folder)[5:]) == ["1 closed", "1 poll ended True", "2 polls"]


def test_an_instance_is_closed_after_its_last_pod(cluster: VirtualCluster, folder: Path) -> None:
    """A pod that waits at Permit is bound with the plugin that it began with."""
    cluster.apply(make_pod("waits"))
    cluster.wait(1)
    save_second_version(folder)
    cluster.wait(10)
    assert "2 polls" in life(folder)
    assert "1 closed" not in life(folder)
    cluster.wait(30)
    assert "1 closed" in life(folder)


def test_a_file_that_does_not_load_ends_nothing(cluster: VirtualCluster, folder: Path) -> None:
    """What its constructor has started is thrown away."""
    broken = PLUGIN.replace("version = 1", "version = 2").replace(
        "handle.spawn(self._poll)", "handle.spawn(self._poll); raise ValueError('no')"
    )
    (folder / "prices.py").write_text(broken)
    cluster.wait(5)
    assert life(folder) == ["1 made", "1 polls", "2 made"]


def test_the_end_of_the_cluster_ends_everything(folder: Path) -> None:
    plugins = [f"{folder / 'prices.py'}:Prices"]
    with VirtualCluster(nodes=1, plugins=plugins, configuration=CONFIGURATION) as cluster:
        cluster.wait(1)
    assert life(folder) == ["1 made", "1 polls", "1 poll ended True", "1 closed"]


def test_what_is_asked_for_later_is_watched_from_then_on(cluster: VirtualCluster) -> None:
    """Pods, nodes and other kinds alike, with what is there already."""
    cluster.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "default"}})
    plugin, seen = prices(cluster), list[str]()

    async def ask() -> None:
        plugin.handle.informers.on_change(Secret, lambda old, new: seen.append((new or old).name))
        plugin.handle.informers.on_change(Node, lambda old, new: seen.append((new or old).name))

    cluster.run(ask())
    cluster.wait(1)
    assert sorted(seen) == ["node-1", "node-2", "s"]


def test_selectors_are_the_servers(cluster: VirtualCluster, folder: Path) -> None:
    """An object that no longer matches is gone for the plugin; the one that is selected by name is there."""
    for name, app in (("limits", "db"), ("web", "web")):
        metadata = {"name": name, "namespace": "default", "labels": {"app": app}}
        cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    cluster.wait(1)
    assert [each.name for each in prices(cluster).limits.list()] == ["limits"]
    path = "/api/v1/namespaces/default/configmaps/web"
    cluster.run(cluster.cluster.client.request("PATCH", path, {"metadata": {"labels": {"app": "db"}}}))
    cluster.wait(1)
    assert life(folder)[2:] == ["1 saw web", "1 saw web go"]


@pytest.mark.asyncio
async def test_up_runs_it_and_ends_it(folder: Path) -> None:
    """In a process of its own, until a signal."""
    words = ["up", "--nodes", "1", "--write-kubeconfig", "kubeconfig"]
    words += ["--config", "scheduler.yaml", "--plugin", "prices.py:Prices"]
    async with started(folder, *words) as process:
        await until(lambda: "1 polls" in life(folder), folder)
        process.terminate()
        assert await ended(process, folder) == 0, (folder / "log").read_text()
    assert life(folder) == ["1 made", "1 polls", "1 poll ended True", "1 closed"]
