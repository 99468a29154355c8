"""EquivalenceClass: plugins whose result is the same for equal pods are called for the first two pods only.

The first may be the only one of its class, so nothing is stored for it.
"""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from bayplan.cache import Cache
from bayplan.framework import (
    CycleState,
    IntArray,
    NodeTable,
    PlacedPlugin,
    Plugin,
    PreFilterResult,
    ProfilePlugins,
    Reads,
    Runner,
    Status,
    Verdict,
)
from bayplan.framework.state import MAX_EQUIVALENCE_CLASSES, EquivalenceClasses
from bayplan.model import Pod
from bayplan.testing import make_node, make_pod


@pytest.fixture
def nodes() -> NodeTable:
    cache = Cache()
    cache.set_node(make_node("a"))
    return cache.snapshot().nodes


class Counted(Plugin):
    """Counts its calls; returns its args."""

    name = "Counted"

    def __init__(self, args: Any, handle: Any = None) -> None:
        super().__init__(args, handle)
        self.n_calls = 0

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Any:
        self.n_calls += 1
        state.write(self.name, pod.name)
        return self.args

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Any:
        self.n_calls += 1
        state.write(self.name, pod.name)
        return self.args


class Declared(Counted):
    """Says what it reads."""

    name = "Declared"
    reads = Reads.NODE


def run_two(plugin: Counted, point: str, nodes: NodeTable, *pods: Pod, versions: Any = None) -> list[CycleState]:
    """The states after the plugin was (or was not) called for each pod."""
    version = SimpleNamespace(generation=0)
    generations = iter(versions) if versions is not None else itertools.repeat(0)
    placed = [PlacedPlugin(plugin)]
    runner = Runner(ProfilePlugins("test", {"preFilter": placed, "preScore": placed}), objects=version)
    states = []
    for pod in pods:
        version.generation = next(generations)
        states.append(state := CycleState())
        if point == "preScore":
            # PreFilter finds the equivalence class.
            runner.pre_filter(state, pod, nodes)
            plugin.n_calls -= 1
            runner.pre_score(state, pod, nodes)
        else:
            runner.pre_filter(state, pod, nodes)
    return states


def pods_alike(n_pods: int = 4) -> list[Pod]:
    return [make_pod(f"p{i}", cpu="1", labels={"app": "web"}) for i in range(n_pods)]


@pytest.mark.parametrize(
    ("plugin", "n_calls"),
    [
        (Declared(None), 2),
        (Declared(Status.skip()), 2),
        (Counted(None), 4),
        (Counted(Status.skip()), 4),
        (Counted(Status.skip_alike()), 2),
        (Declared(Status.unschedulable("no")), 4),
        (Declared(Status.unresolvable("no")), 4),
        (Declared(PreFilterResult(frozenset({"a"}))), 4),
        (Declared(PreFilterResult()), 4),
    ],
    ids=[
        "says what it reads",
        "says what it reads, and skips",
        "may look at anything",
        "skips this pod",
        "skips all pods alike",
        "rejects",
        "rejects for good",
        "narrows the nodes",
        "narrows nothing",
    ],
)
def test_how_often_pre_filter_is_asked(plugin: Counted, n_calls: int, nodes: NodeTable) -> None:
    """Only results that depend on the pod alone are stored, and never a rejection."""
    run_two(plugin, "preFilter", nodes, *pods_alike())
    assert plugin.n_calls == n_calls


def test_remembered_answers_are_complete(nodes: NodeTable) -> None:
    """What the plugin wrote, and that it skips, is as if it had been called."""
    for answer, skipped in ((None, set()), (Status.skip(), {"Declared"})):
        states = run_two(Declared(answer), "preFilter", nodes, *pods_alike())
        assert [state.get("Declared", str) for state in states] == ["p0", "p1", "p1", "p1"]
        assert [state.skip_filter for state in states] == [skipped] * 4


def test_pre_score_is_remembered_too(nodes: NodeTable) -> None:
    """Where PreScore depends on the pod alone, it is not called again."""
    plugin = Declared(Status.skip())
    states = run_two(plugin, "preScore", nodes, *pods_alike())
    assert [state.skip_score for state in states] == [{"Declared"}] * 4


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (make_pod("p", cpu="1"), make_pod("p", cpu="2")),
        (make_pod("p"), make_pod("p", labels={"app": "web"})),
        (make_pod("p"), make_pod("p", namespace="other")),
        (make_pod("p"), make_pod("p", metadata={"annotations": {"a": "b"}})),
        (make_pod("p"), make_pod("p", metadata={"deletionTimestamp": "2024-01-01T00:00:00Z"})),
        (
            make_pod(
                "p", metadata={"ownerReferences": [{"kind": "Job", "name": "x", "uid": "1", "controller": True}]}
            ),
            make_pod(
                "p", metadata={"ownerReferences": [{"kind": "Job", "name": "y", "uid": "2", "controller": True}]}
            ),
        ),
        (make_pod("p"), make_pod("p", spec={"tolerations": [{"operator": "Exists"}]})),
        (make_pod("p"), make_pod("p", priority=5)),
    ],
    ids=["requests", "labels", "namespace", "annotations", "deletion", "controller", "tolerations", "priority"],
)
def test_pods_that_are_not_alike(first: Pod, second: Pod, nodes: NodeTable) -> None:
    """For pods that differ in more than their names, the plugin is called each time."""
    plugin = Declared(None)
    run_two(plugin, "preFilter", nodes, first, second)
    assert plugin.n_calls == 2


def test_pods_whose_claims_are_called_after_them(nodes: NodeTable) -> None:
    """Claims of ephemeral volumes are named after the pod, so each such pod is in a class of its own."""
    spec = {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]}
    plugin = Declared(None)
    run_two(plugin, "preFilter", nodes, *(make_pod(name, spec=spec) for name in "pqqq"))
    assert plugin.n_calls == 1 + 2


def test_volumes_that_matter_for_nobody(nodes: NodeTable) -> None:
    """Every pod has a token volume with its own name; the pods are in one class all the same."""
    pods = [make_pod(f"p{i}", spec={"volumes": [{"name": f"token-{i}", "secret": {}}]}) for i in range(3)]
    plugin = Declared(None)
    run_two(plugin, "preFilter", nodes, *pods)
    assert plugin.n_calls == 2


def test_pods_of_which_too_little_is_known(nodes: NodeTable) -> None:
    """Resized pods are in classes of their own."""
    pods = [make_pod(f"p{i}", status={"resources": {}}) for i in range(3)]
    plugin = Declared(None)
    run_two(plugin, "preFilter", nodes, *pods)
    assert plugin.n_calls == 3


def test_everything_is_forgotten_when_objects_change(nodes: NodeTable) -> None:
    """An object other than a node or a pod changed: every plugin is called again."""
    plugin = Declared(None)
    run_two(plugin, "preFilter", nodes, *pods_alike(6), versions=[0, 0, 0, 0, 1, 1, 1])
    assert plugin.n_calls == 2 + 2


def test_without_a_version_nothing_is_shared(nodes: NodeTable) -> None:
    """A runner that does not learn of changes calls every plugin."""
    plugin = Declared(None)
    runner = Runner(ProfilePlugins("test", {"preFilter": [PlacedPlugin(plugin)]}))
    for pod in pods_alike():
        runner.pre_filter(CycleState(), pod, nodes)
    assert plugin.n_calls == 4


def test_failing_plugin_is_asked_again(nodes: NodeTable) -> None:
    """An error is not stored."""
    plugin = Declared(Status.failed("broken"))
    run_two(plugin, "preFilter", nodes, *pods_alike())
    assert plugin.n_calls == 4


def test_order_of_the_plugins_stays(nodes: NodeTable) -> None:
    """Plugins that are called again see what the plugins before them wrote, stored or not."""
    seen: list[tuple[str, ...]] = []

    class Looks(Plugin):
        name = "Looks"

        def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> None:
            seen.append(tuple(state.keys()))

    class Later(Declared):
        name = "Later"

    placed = [PlacedPlugin(Declared(None)), PlacedPlugin(Looks(None, None)), PlacedPlugin(Later(None))]  # type: ignore[arg-type]
    runner = Runner(ProfilePlugins("test", {"preFilter": placed}), objects=SimpleNamespace(generation=0))
    states = [CycleState() for _ in range(3)]
    for state, pod in zip(states, pods_alike(3), strict=True):
        runner.pre_filter(state, pod, nodes)
    assert seen == [("Declared",)] * 3
    assert [list(state.keys()) for state in states] == [["Declared", "Later"]] * 3


def test_derived_values_are_shared() -> None:
    """What was computed for the first pod is used for the others of its class."""
    classes = EquivalenceClasses(SimpleNamespace(generation=0))
    first, second = pods_alike(2)
    _ = first.request_summary
    assert classes.of(first) is classes.of(second)
    assert second.request_summary is first.request_summary


def test_oldest_class_makes_room() -> None:
    """The number of classes is limited; the oldest is dropped first."""
    classes = EquivalenceClasses(SimpleNamespace(generation=0))
    first = classes.of(make_pod("first", labels={"n": "first"}))
    for i in range(MAX_EQUIVALENCE_CLASSES):
        classes.of(make_pod("p", labels={"n": str(i)}))
    assert classes.of(make_pod("again", labels={"n": "first"})) is not first


# --- signatures --------------------------------------------------------------------------------------------


class Signed(Plugin):
    """A plugin whose results can be cached, in both points."""

    name = "Signed"
    reads = Reads.NODE

    def sign(self, pod: Pod) -> str:
        return pod.namespace

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        return nodes.accept_all()

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        return np.zeros(len(nodes), dtype=np.int64)


class SignedPerNode(Plugin):
    """The per-node form is always called."""

    name = "SignedPerNode"
    reads = Reads.NODE

    def sign(self, pod: Pod) -> str:
        return pod.namespace

    def filter(self, state: CycleState, pod: Pod, node: Any) -> None:
        return None


class ReadsAnything(Signed):
    """A signature alone is not enough."""

    name = "ReadsAnything"
    reads = Reads.ANYTHING


class Unsigned(Plugin):
    """A declaration without a signature is not enough."""

    name = "Unsigned"
    reads = Reads.NODE

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        return nodes.accept_all()


@pytest.mark.parametrize(
    ("cls", "signature"),
    [(Signed, "default"), (SignedPerNode, None), (ReadsAnything, None), (Unsigned, None)],
    ids=["columns with a signature", "one node at a time", "may look at anything", "without a signature"],
)
def test_what_results_are_cached_by(cls: type[Plugin], signature: str | None) -> None:
    """Only results of columns, with a signature and a declaration of what is read, may be cached."""
    plugin = cls(None, None)  # type: ignore[arg-type]
    method = ProfilePlugins("test", {"filter": [PlacedPlugin(plugin)]}).on("filter")[0]
    pod = make_pod("p")
    assert EquivalenceClasses(SimpleNamespace(generation=0)).of(pod).signature(method, pod) == signature
