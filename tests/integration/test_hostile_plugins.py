"""A plugin that raises, answers nonsense, blocks or hoards: its pod is told, others go on, the record names it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from bayplan.framework import Plugin, Status
from bayplan.model.meta import Condition, condition_of
from bayplan.testing import Harness, VirtualCluster, make_node, make_pod
from bayplan.testing.check import find_faults

VICTIM = "victim"
SYNC = ("pre_filter", "filter", "filter_nodes", "pre_score", "score", "score_nodes", "reserve", "permit")
ASYNC = ("pre_bind", "bind")


def hostile(method: str, misbehave: Callable[[], Any]) -> type[Plugin]:
    """A plugin that misbehaves in *method* when it is asked about the pod `victim`."""

    def answer(pod: Any, rest: tuple[Any, ...]) -> Any:
        if pod.name == VICTIM:
            return misbehave()
        if method in ("filter_nodes", "score_nodes"):
            nodes = rest[0]
            return nodes.accept_all() if method == "filter_nodes" else nodes.pod_counts() * 0
        if method == "bind":
            return Status.skip()
        return 0 if method == "score" else None

    if method in ASYNC:

        async def asked_async(self: Any, state: Any, pod: Any, node_name: Any) -> Any:
            return answer(pod, (node_name,))

        return type("Hostile", (Plugin,), {"name": "Hostile", method: asked_async})

    def asked(self: Any, state: Any, pod: Any, rest: Any) -> Any:
        return answer(pod, (rest,))

    return type("Hostile", (Plugin,), {"name": "Hostile", method: asked})


def boom() -> Any:
    raise ValueError("boom")


def leave() -> Any:
    raise SystemExit(3)


def overflow() -> Any:
    return overflow()


def condition(cluster: VirtualCluster) -> Condition:
    found = condition_of(cluster.schedule(make_pod(VICTIM)).status.conditions, "PodScheduled")
    assert found is not None
    return found


CONFIGURATION = """
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: Hostile}]}
    bind:
      disabled: [{name: "*"}]
      enabled: [{name: Hostile}, {name: DefaultBinder}]
"""


def start(method: str, misbehave: Callable[[], Any]) -> VirtualCluster:
    text = CONFIGURATION if method == "bind" else None
    return VirtualCluster(2, plugins=[hostile(method, misbehave)], configuration=text)


@pytest.mark.parametrize(
    ("misbehave", "told"),
    [
        pytest.param(boom, "boom", id="raises"),
        pytest.param(leave, "the plugin called exit: 3", id="exits"),
        pytest.param(overflow, "maximum recursion depth exceeded", id="recurses for ever"),
        pytest.param(lambda: {"not": "an answer"}, "", id="answers nonsense"),
    ],
)
@pytest.mark.parametrize("method", [*SYNC, *ASYNC])
def test_the_pod_is_told_and_others_go_on(method: str, misbehave: Callable[[], Any], told: str) -> None:
    """SchedulerError with the plugin's name and what it did; the pod after it is placed; the record names it."""
    with start(method, misbehave) as cluster:
        broken = condition(cluster)
        assert (broken.status, broken.reason) == ("False", "SchedulerError")
        assert "Hostile" in broken.message
        assert told in broken.message
        record = cluster.record(VICTIM)
        assert record is not None
        assert record.message == broken.message
        assert cluster.schedule(make_pod("other")).node_name


@pytest.mark.parametrize("method", ["sign", "events_to_register", "unreserve"])
def test_the_quiet_methods_raise_in_vain(method: str) -> None:
    """Nobody's answer hangs on these: the pod is placed as if they were not there."""
    methods = {method: lambda self, *_: boom(), "score": lambda self, state, pod, node: 0}
    if method == "unreserve":
        methods["reserve"] = lambda self, *_: None
    with VirtualCluster(1, plugins=[type("Hostile", (Plugin,), {"name": "Hostile", **methods})]) as cluster:
        assert cluster.schedule(make_pod("p")).node_name == "node-1"


@pytest.mark.parametrize("method", ["pre_filter", "filter", "filter_nodes", "score", "score_nodes"])
def test_a_plugin_that_blocks_is_named(method: str, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing can be scheduled meanwhile, so the log and the record say whose fault it was; others wait, no more."""
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
    assert fault.startswith("keeps about ")
    assert "with every pod that it is asked about" in fault
    assert list(find_faults(Remembering)) == []
