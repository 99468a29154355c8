"""Plugins that block or hoard, or whose mistakes show before the first pod."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from bayplan.framework import Plugin, PluginError, Reads
from bayplan.model.kube_object import Condition, condition_of
from bayplan.testing import Harness, VirtualCluster, make_node, make_pod
from bayplan.testing.plugin_check import find_faults

VICTIM = "victim"


def hostile(method: str, misbehave: Callable[[], Any]) -> type[Plugin]:
    """A plugin that misbehaves in *method* when it is asked about the pod `victim`."""

    def answer(pod: Any, rest: tuple[Any, ...]) -> Any:
        if pod.name == VICTIM:
            return misbehave()
        if method in ("filter_nodes", "score_nodes"):
            nodes = rest[0]
            return nodes.accept_all() if method == "filter_nodes" else nodes.pod_counts() * 0
        return 0 if method == "score" else None

    def asked(self: Any, state: Any, pod: Any, rest: Any) -> Any:
        return answer(pod, (rest,))

    return type("Hostile", (Plugin,), {"name": "Hostile", method: asked})


def boom() -> Any:
    raise ValueError("boom")


def condition(cluster: VirtualCluster) -> Condition:
    found = condition_of(cluster.schedule(make_pod(VICTIM)).status.conditions, "PodScheduled")
    assert found is not None
    return found


class BadSign(Plugin):
    name = "BadSign"
    reads = Reads.NODE

    def sign(self, pod: Any) -> Any:
        return boom() if pod.name == VICTIM else ()

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return nodes.accept_all()


def test_a_sign_that_raises_ends_the_attempt() -> None:
    """What may be kept cannot be known then."""
    with VirtualCluster(1, plugins=[BadSign]) as cluster:
        broken = condition(cluster)
        assert broken.message == 'running "BadSign" filter plugin: sign: ValueError: boom'
        assert cluster.schedule(make_pod("other")).node_name == "node-1"


@pytest.mark.parametrize(
    ("events", "told"),
    [
        pytest.param(lambda self: boom(), "its events_to_register raised ValueError: boom", id="raises"),
        pytest.param(("NodeAdd",), "must give ClusterEvents, got str: 'NodeAdd'", id="something else"),
    ],
)
def test_events_that_are_none_are_refused_at_the_start(events: Any, told: str) -> None:
    """Before the queue relies on them."""
    bad = type("Bad", (Plugin,), {"name": "Bad", "events_to_register": events, "filter": lambda *_: None})
    with pytest.raises(PluginError, match=re.escape(told)):
        Harness(plugins=[bad])


@pytest.mark.parametrize("method", ["pre_filter", "filter", "filter_nodes", "score", "score_nodes"])
def test_a_plugin_that_blocks_is_named(method: str, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing can be scheduled meanwhile: the log and the record say whose fault it was. Others wait, no more."""
    seconds = 0.12

    def block() -> Any:
        time.sleep(seconds)
        return boom()

    nodes = [make_node("a"), make_node("b")]
    harness = Harness(nodes=nodes, plugins=[hostile(method, block)])
    decision = harness.schedule(make_pod(VICTIM))
    (slow,) = decision.record.slow_calls
    point = {"pre_filter": "PreFilter"}.get(method, method.removesuffix("_nodes").capitalize())
    assert slow[:2] == ("Hostile", point)
    assert slow[2] >= seconds
    assert f"Plugin was slow: plugin=Hostile point={point}" in caplog.text
    assert harness.schedule(make_pod("other")).record.slow_calls == []


def test_many_short_calls_count_together() -> None:
    """A hundred nodes at two milliseconds each hold everybody up as much as one long call."""

    def nap() -> None:
        time.sleep(0.002)

    nodes = [make_node(f"n{number}") for number in range(80)]
    decision = Harness(nodes=nodes, plugins=[hostile("filter", nap)]).decide(make_pod(VICTIM))
    assert [call[:2] for call in decision.record.slow_calls] == [("Hostile", "Filter")]


class Hoarder(Plugin):
    """Keeps something of every pod that it was asked about."""

    name = "Hoarder"

    def __init__(self, args: Any, handle: Any) -> None:
        super().__init__(args, handle)
        self.hoard: list[Any] = []

    def score(self, state: Any, pod: Any, node: Any) -> int:
        self.hoard.append(bytearray(1024))
        return 0


class Remembering(Hoarder):
    """Keeps only so much."""

    name = "Remembering"

    def score(self, state: Any, pod: Any, node: Any) -> int:
        self.hoard = [*self.hoard[-10:], bytearray(1024)]
        return 0


def test_a_plugin_that_hoards_is_named_by_the_check() -> None:
    """What it keeps of every pod is never given back; the check says how much, the scheduler goes on."""
    (fault,) = find_faults(Hoarder)
    assert fault.startswith("its memory grows by about ")
    assert "with every pod" in fault
    assert list(find_faults(Remembering)) == []
