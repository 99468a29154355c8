"""Templates: plugins that answer alike for pods alike are asked about the first two; all others every time.

The first one may be the only one of its kind, so nothing is learned from it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bayplan.cache import Cache
from bayplan.framework import (
    CycleState,
    IntArray,
    NodeTable,
    Placed,
    Plugin,
    PreFilterResult,
    ProfilePlugins,
    Reads,
    Runner,
    Status,
    Verdict,
)
from bayplan.framework.templates import MAX_TEMPLATES, Templates
from bayplan.model import Pod
from bayplan.testing import make_node, make_pod


@pytest.fixture
def nodes() -> NodeTable:
    cache = Cache()
    cache.set_node(make_node("a"))
    return cache.snapshot().nodes


class Asked(Plugin):
    """Counts how often it is asked; gives what it was made with."""

    name = "Asked"

    def __init__(self, args: Any, handle: Any = None) -> None:
        super().__init__(args, handle)
        self.n_asked = 0

    def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Any:
        self.n_asked += 1
        state.write(self.name, pod.name)
        return self.args

    def pre_score(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Any:
        self.n_asked += 1
        state.write(self.name, pod.name)
        return self.args


class Declared(Asked):
    """Says what it reads."""

    name = "Declared"
    reads = Reads.NODE


def run_two(plugin: Asked, point: str, nodes: NodeTable, *pods: Pod, epochs: Any = None) -> list[CycleState]:
    """The states after the plugin was (or was not) asked about each pod."""
    epoch = iter(epochs).__next__ if epochs is not None else lambda: 0
    placed = [Placed(plugin)]
    runner = Runner(ProfilePlugins("test", {"preFilter": placed, "preScore": placed}), epoch=epoch)
    states = []
    for pod in pods:
        states.append(state := CycleState())
        if point == "preScore":
            # The template is found in PreFilter.
            runner.pre_filter(state, pod, nodes)
            plugin.n_asked -= 1
            runner.pre_score(state, pod, nodes)
        else:
            runner.pre_filter(state, pod, nodes)
    return states


def pods_alike(n_pods: int = 4) -> list[Pod]:
    return [make_pod(f"p{i}", cpu="1", labels={"app": "web"}) for i in range(n_pods)]


@pytest.mark.parametrize(
    ("plugin", "n_asked"),
    [
        (Declared(None), 2),
        (Declared(Status.skip()), 2),
        (Asked(None), 4),
        (Asked(Status.skip()), 4),
        (Asked(Status.skip_alike()), 2),
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
def test_how_often_pre_filter_is_asked(plugin: Asked, n_asked: int, nodes: NodeTable) -> None:
    """Only answers that follow from the pod alone are remembered, and never a rejection."""
    run_two(plugin, "preFilter", nodes, *pods_alike())
    assert plugin.n_asked == n_asked


def test_remembered_answers_are_complete(nodes: NodeTable) -> None:
    """What the plugin wrote, and that it skips, is as if it had been asked."""
    for answer, skipped in ((None, set()), (Status.skip(), {"Declared"})):
        states = run_two(Declared(answer), "preFilter", nodes, *pods_alike())
        assert [state.get("Declared", str) for state in states] == ["p0", "p1", "p1", "p1"]
        assert [state.skip_filter for state in states] == [skipped] * 4


def test_pre_score_is_remembered_too(nodes: NodeTable) -> None:
    """Where PreScore follows from the pod alone, it is not asked again."""
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
    """Pods that differ in anything but their names are asked about each."""
    plugin = Declared(None)
    run_two(plugin, "preFilter", nodes, first, second)
    assert plugin.n_asked == 2


def test_pods_whose_claims_are_called_after_them(nodes: NodeTable) -> None:
    """Claims of ephemeral volumes are named after the pod, so such pods are alike only with themselves."""
    spec = {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]}
    plugin = Declared(None)
    run_two(plugin, "preFilter", nodes, *(make_pod(name, spec=spec) for name in "pqqq"))
    assert plugin.n_asked == 1 + 2


def test_volumes_that_matter_for_nobody(nodes: NodeTable) -> None:
    """Every pod has a token volume with its own name; pods are alike all the same."""
    pods = [make_pod(f"p{i}", spec={"volumes": [{"name": f"token-{i}", "secret": {}}]}) for i in range(3)]
    plugin = Declared(None)
    run_two(plugin, "preFilter", nodes, *pods)
    assert plugin.n_asked == 2


def test_pods_of_which_too_little_is_known(nodes: NodeTable) -> None:
    """Pods with resource claims, or resized ones, are never taken for alike."""
    pods = [make_pod(f"p{i}", spec={"resourceClaims": [{"name": "gpu"}]}) for i in range(3)]
    plugin = Declared(None)
    run_two(plugin, "preFilter", nodes, *pods)
    assert plugin.n_asked == 3


def test_everything_is_forgotten_when_objects_change(nodes: NodeTable) -> None:
    """An object other than a node or a pod changed: every plugin is asked again."""
    plugin = Declared(None)
    run_two(plugin, "preFilter", nodes, *pods_alike(6), epochs=[0, 0, 0, 0, 1, 1, 1])
    assert plugin.n_asked == 2 + 2


def test_without_an_epoch_nothing_is_remembered(nodes: NodeTable) -> None:
    """A runner that is not told of changes asks always."""
    plugin = Declared(None)
    runner = Runner(ProfilePlugins("test", {"preFilter": [Placed(plugin)]}))
    for pod in pods_alike():
        runner.pre_filter(CycleState(), pod, nodes)
    assert plugin.n_asked == 4


def test_failing_plugin_is_asked_again(nodes: NodeTable) -> None:
    """An error is not an answer."""
    plugin = Declared(Status.failed("broken"))
    run_two(plugin, "preFilter", nodes, *pods_alike())
    assert plugin.n_asked == 4


def test_order_of_the_plugins_stays(nodes: NodeTable) -> None:
    """Plugins that are asked again see what those before them wrote, remembered or not."""
    seen: list[tuple[str, ...]] = []

    class Looks(Plugin):
        name = "Looks"

        def pre_filter(self, state: CycleState, pod: Pod, nodes: NodeTable) -> None:
            seen.append(tuple(state.keys()))

    class Later(Declared):
        name = "Later"

    placed = [Placed(Declared(None)), Placed(Looks(None, None)), Placed(Later(None))]  # type: ignore[arg-type]
    runner = Runner(ProfilePlugins("test", {"preFilter": placed}), epoch=lambda: 0)
    states = [CycleState() for _ in range(3)]
    for state, pod in zip(states, pods_alike(3), strict=True):
        runner.pre_filter(state, pod, nodes)
    assert seen == [("Declared",)] * 3
    assert [list(state.keys()) for state in states] == [["Declared", "Later"]] * 3


def test_derived_values_are_shared() -> None:
    """What was worked out about the first pod holds for those alike."""
    templates = Templates(lambda: 0)
    first, second = pods_alike(2)
    _ = first.request_summary
    assert templates.of(first) is templates.of(second)
    assert second.request_summary is first.request_summary


def test_oldest_template_makes_room() -> None:
    """There is room for so many templates; the oldest goes first."""
    templates = Templates(lambda: 0)
    first = templates.of(make_pod("first", labels={"n": "first"}))
    for i in range(MAX_TEMPLATES):
        templates.of(make_pod("p", labels={"n": str(i)}))
    assert templates.of(make_pod("again", labels={"n": "first"})) is not first


# --- signs --------------------------------------------------------------------------------------------


class Signed(Plugin):
    """Both forms of a plugin that could be kept."""

    name = "Signed"
    reads = Reads.NODE

    def sign(self, pod: Pod) -> str:
        return pod.namespace

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        return nodes.accept_all()

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        return np.zeros(len(nodes), dtype=np.int64)


class SignedPerNode(Plugin):
    """The per-node form is asked always."""

    name = "SignedPerNode"
    reads = Reads.NODE

    def sign(self, pod: Pod) -> str:
        return pod.namespace

    def filter(self, state: CycleState, pod: Pod, node: Any) -> None:
        return None


class ReadsAnything(Signed):
    """A sign alone is no promise."""

    name = "ReadsAnything"
    reads = Reads.ANYTHING


class Unsigned(Plugin):
    """A promise without a sign is no use."""

    name = "Unsigned"
    reads = Reads.NODE

    def filter_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> Verdict:
        return nodes.accept_all()


@pytest.mark.parametrize(
    ("cls", "sign"),
    [(Signed, "default"), (SignedPerNode, None), (ReadsAnything, None), (Unsigned, None)],
    ids=["columns with a sign", "one node at a time", "may look at anything", "without a sign"],
)
def test_what_answers_are_kept_by(cls: type[Plugin], sign: str | None) -> None:
    """Only answers of columns, with a sign and a declaration of what is read, may be kept."""
    plugin = cls(None, None)  # type: ignore[arg-type]
    bound = ProfilePlugins("test", {"filter": [Placed(plugin)]}).on("filter")[0]
    pod = make_pod("p")
    assert Templates(lambda: 0).of(pod).sign(bound, pod) == sign


def test_sign_of_a_profile() -> None:
    """All evaluating plugins must sign; one that does not makes the pod unsigned."""
    pod = make_pod("p")

    def sign(*classes: type[Plugin]) -> Any:
        placed = [Placed(cls(None, None)) for cls in classes]  # type: ignore[arg-type]
        return Runner(ProfilePlugins("test", {"filter": placed})).sign(pod)

    assert sign(Signed) == ("default-scheduler", ("Signed", "default"))
    assert sign(Signed, Unsigned) is None
