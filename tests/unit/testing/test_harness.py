"""What everybody uses who tests a plugin: builders, the harness, a clock that stands still."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bayplan.framework import CycleState, NodeInfo, Plugin, PluginError, Status
from bayplan.model import ConfigMap, Pod, Service
from bayplan.testing import Harness, VirtualClock, make_node, make_pod


class CpuNodes(Plugin):
    """Only nodes labelled cpu=true."""

    name = "CpuNodes"

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        if node.labels.get("cpu") != "true":
            return Status.unschedulable(f"Node: {node.name}")
        return None


class Off(CpuNodes):
    """Its name is a boolean in YAML."""

    name = "Off"


def test_node_in_one_line() -> None:
    """Amounts, labels, taints as kubectl writes them; the hostname label is there."""
    node = make_node("a", cpu="2", labels={"disk": "ssd"}, taints=["key=value:NoSchedule", "bare:NoExecute"])
    assert (node.allocatable["cpu"], node.labels) == (2000, {"kubernetes.io/hostname": "a", "disk": "ssd"})
    assert [(taint.key, taint.value, taint.effect) for taint in node.taints] == [
        ("key", "value", "NoSchedule"),
        ("bare", "", "NoExecute"),
    ]


def test_pods_have_their_own_uids() -> None:
    """Two pods of one name are two pods."""
    assert make_pod("p").uid != make_pod("p").uid


def test_pod_in_one_line() -> None:
    """Requests, priority and raw fields end up where the API has them."""
    pod = make_pod("p", cpu="1", memory="1Gi", priority=5, node_name="a", spec={"hostNetwork": True})
    assert dict(pod.requests) == {"cpu": 1000, "memory": 2**30}
    assert (pod.priority, pod.node_name, pod.key) == (5, "a", "default/p")


def test_plugin_beside_the_defaults() -> None:
    """The plugin runs with the default plugins around it."""
    nodes = [make_node("a", labels={"cpu": "true"}, cpu="1"), make_node("b")]
    harness = Harness(nodes=nodes, plugins=[CpuNodes])
    assert harness.decide(make_pod("p")).node_name == "a"
    assert harness.decide(make_pod("q", cpu="2")).message.startswith(
        "0/2 nodes are available: 1 Insufficient cpu, 1 Node: b. "
    )


@pytest.mark.parametrize("plugin", [CpuNodes, Off])
def test_plugin_alone(plugin: type[Plugin]) -> None:
    """With `only`, nothing else has a say, whatever the plugin is called."""
    harness = Harness(nodes=[make_node("b", cpu="0")], plugins=[plugin], only=True)
    assert harness.decide(make_pod("p", cpu="2")).message == "0/1 nodes are available: 1 Node: b."


def test_placed_pods_count_for_the_next() -> None:
    """`schedule` puts the pod on its node, `decide` changes nothing."""
    harness = Harness(nodes=[make_node("a", cpu="1")])
    assert [bool(harness.decide(make_pod("p", cpu="1")).node_name) for _ in range(2)] == [True, True]
    assert [bool(harness.schedule(make_pod("p", cpu="1")).node_name) for _ in range(2)] == [True, False]


def test_objects_of_any_kind() -> None:
    """Nodes, pods on nodes and other objects find their place."""
    service = Service.from_dict({"metadata": {"name": "web", "namespace": "default"}})
    harness = Harness(nodes=[make_node("a")], pods=[make_pod("p", node_name="a")], objects=[service])
    assert harness.core.cache.n_pods == 1
    assert harness.core.objects.lister(Service).list() == [service]


def test_configuration_of_your_own() -> None:
    """A whole KubeSchedulerConfiguration may be given; its profiles are found by name."""
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: one}, {schedulerName: two}]\n"
    )
    harness = Harness(nodes=[make_node("a")], configuration=text)
    assert harness.decide(make_pod("p", scheduler_name="two")).record.profile_name == "two"
    with pytest.raises(LookupError, match="no profile 'three'; there are: one, two"):
        harness.profile("three")


def test_clock_stands_still() -> None:
    """Time moves when it is told to, and by sleeping."""
    clock = VirtualClock(start=100.0)
    clock.advance(5)
    asyncio.run(clock.sleep(600))
    assert (clock.now(), clock.monotonic()) == (705.0, 705.0)


def test_harness_follows_the_release_it_is_given() -> None:
    """By name or as an object; the plugins are told."""
    older = Harness(release="1.36").profile().handle.release
    assert older.minor == "1.36"
    assert Harness(release=older.with_gates({"KMSv1": True})).core.release.is_enabled("KMSv1")


class Polling(Plugin):
    """Counts what it reads and when; remembers that it was closed."""

    name = "Polling"

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.read_at: list[float] = []
        self.maps: list[tuple[str, bool]] = []
        self.is_closed = False
        handle.informers.on_change(ConfigMap, self._map_changed, namespace="default", labels="app=web")
        handle.spawn(self._poll)

    def _map_changed(self, old: ConfigMap | None, new: ConfigMap | None) -> None:
        changed = new or old
        assert changed is not None
        self.maps.append((changed.name, new is not None))

    async def _poll(self) -> None:
        while True:
            self.read_at.append(self.handle.clock.now())
            await self.handle.clock.sleep(10)

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> None:
        return None

    def close(self) -> None:
        self.is_closed = True


def polling(harness: Harness) -> Any:
    return harness.profile().plugins.plugins["Polling"]


def test_background_work_goes_on_while_the_harness_waits() -> None:
    """It has begun when the harness is made; it ends when the harness is closed."""
    with Harness(plugins=[Polling]) as harness:
        plugin, start = polling(harness), harness.clock.now()
        assert len(plugin.read_at) == 1
        harness.wait(35)
        assert [round(at - start) for at in plugin.read_at] == [0, 10, 20, 30]
        assert not plugin.handle.is_stopping
    assert (plugin.is_closed, plugin.handle.is_stopping) == (True, True)


def test_a_harness_that_is_forgotten_closes_its_plugins() -> None:
    harness = Harness(plugins=[Polling])
    plugin = polling(harness)
    del harness
    assert plugin.is_closed


def test_objects_enter_and_leave_a_selection() -> None:
    """As they would on a server; a dictionary is as good as an object."""
    harness = Harness(plugins=[Polling])

    def web(name: str, **labels: str) -> dict[str, Any]:
        metadata = {"name": name, "namespace": "default", "labels": labels}
        return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}

    harness.add(web("a", app="web"), web("b", app="db"), ConfigMap.from_dict(web("c", app="web")))
    harness.add(web("a", app="db"))
    harness.remove(web("c", app="web"))
    assert polling(harness).maps == [("a", True), ("c", True), ("a", False), ("c", False)]


def test_an_object_that_no_plugin_asked_for_is_refused() -> None:
    """A misspelt kind would otherwise go unnoticed."""
    with pytest.raises(LookupError, match=r"no plugin has asked for objects of example.com/v1 'Foo'"):
        Harness(objects=[{"apiVersion": "example.com/v1", "kind": "Foo", "metadata": {"name": "f"}}])


class Counted(CpuNodes):
    """Counts the nodes that it is asked about."""

    name = "Counted"

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self._asked = handle.metrics.counter("asked_total", "Nodes.", "node")

    def filter(self, state: CycleState, pod: Pod, node: NodeInfo) -> Status | None:
        self._asked.labels(node.name).inc()
        return super().filter(state, pod, node)


class CountedToo(Counted):
    name = "CountedToo"


def test_metrics_of_plugins() -> None:
    """As they would be scraped."""
    harness = Harness(plugins=[Counted], nodes=[make_node("a")])
    harness.decide(make_pod("p"))

    assert 'asked_total{node="a"} 1.0' in harness.metrics.splitlines()


def test_plugins_with_the_same_metric_are_refused() -> None:
    """In a sentence that names both."""
    sentence = (
        r"plugin CountedToo \(this program\): the metric asked_total is one of plugin Counted; choose another"
    )
    with pytest.raises(PluginError, match=sentence):
        Harness(plugins=[Counted, CountedToo])
