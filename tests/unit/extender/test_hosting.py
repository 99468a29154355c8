"""Plugins served as an extender give the same results as in a profile."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayplan import config
from bayplan.extender import ExtenderApp
from bayplan.extender.hosting import UNKNOWN_NODE, PluginHost
from bayplan.extender.scaling import describe_loss, scaled
from bayplan.extender.wire import nodes_value, pod_value
from bayplan.framework import CycleState, Plugin, PostFilterResult, PreFilterResult, Status
from bayplan.model import Node, Pod
from bayplan.process.extending import restricted
from bayplan.scheduler import default_registry, new_core
from bayplan.testing import make_node, make_pod

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


class Labelled(Plugin):
    """One node at a time."""

    name = "Labelled"

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        if "gone" in node.labels:
            return Status.unresolvable("gone for good")
        return None if node.labels.get("ok") == "yes" else Status.unschedulable("not ok", "not at all")

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return int(node.labels.get("points", "0"))


class LabelledColumns(Plugin):
    """The same, all nodes at once."""

    name = "LabelledColumns"

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        gone = nodes.label("gone").present
        refused = (nodes.label("ok") != "yes") & ~gone
        from bayplan.framework import Code

        return (
            nodes.reject(gone, "gone for good", Code.UNSCHEDULABLE_AND_UNRESOLVABLE)
            .reject(refused, "not ok")
            .reject(refused, "not at all")
        )

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return nodes.label("points").numbers(0)


NODES = [
    make_node("a", labels={"ok": "yes", "points": "100"}),
    make_node("b", labels={"ok": "yes", "points": "44"}),
    make_node("c", labels={"points": "45"}),
    make_node("d", labels={"gone": "", "points": "4"}),
]


class Served:
    """Plugins alone in a profile, and requests to them."""

    def __init__(
        self, *plugins: type[Plugin], nodes: Iterable[Node] = (), pods: Iterable[Pod] = (), bind: bool = False
    ) -> None:
        registry = default_registry()
        for plugin in plugins:
            registry.add(plugin)
        names = [plugin.name for plugin in plugins]
        enabled = ", ".join(f"{{name: {name}}}" for name in names)
        text = f"{HEAD}profiles:\n- plugins: {{multiPoint: {{enabled: [{enabled}]}}}}\n"
        loaded = restricted(config.load(text, source="test", catalogue=registry), names)
        self.scheduler = new_core(loaded, registry, schedules_pods=False)
        for node in nodes:
            self.scheduler.cache.set_node(node)
        for pod in pods:
            self.scheduler.cache.add_pod(pod)
        (profile,) = self.scheduler.profiles.values()

        async def find_pod(args: Any) -> Pod:
            return make_pod(args.PodName)

        self.app: ExtenderApp = PluginHost(
            profile, self.scheduler.cache, find_pod=find_pod if bind else None
        ).app()

    def ask(self, verb: str, **body: Any) -> Any:
        answer = asyncio.run(self.app.answer(verb, json.dumps({"Pod": pod_value(POD), **body}).encode()))
        assert answer.status == 200, answer.body
        return json.loads(answer.body)


POD = make_pod("p", priority=10)
NAMES = ["a", "b", "c", "d"]


@pytest.mark.parametrize("plugin", [Labelled, LabelledColumns], ids=["one by one", "columns"])
def test_filter_by_name(plugin: type[Plugin]) -> None:
    """Both forms; reasons of one node are joined, unresolvable ones are separate."""
    answer = Served(plugin, nodes=NODES).ask("filter", NodeNames=[*NAMES, "zzz"])

    assert answer["NodeNames"] == ["a", "b"]
    assert answer["FailedNodes"] == {"c": "not ok, not at all", "zzz": UNKNOWN_NODE}
    assert answer["FailedAndUnresolvableNodes"] == {"d": "gone for good"}


@pytest.mark.parametrize("plugin", [Labelled, LabelledColumns], ids=["one by one", "columns"])
def test_filter_of_whole_nodes(plugin: type[Plugin]) -> None:
    """Nodes for nodes: they come with the request, and the response has them whole."""
    answer = Served(plugin).ask("filter", Nodes=nodes_value(NODES))

    assert [node["metadata"]["name"] for node in answer["Nodes"]["items"]] == ["a", "b"]
    assert answer["Nodes"]["items"][0]["metadata"]["labels"]["points"] == "100"
    assert answer["NodeNames"] is None


def test_a_node_that_changed_is_seen_anew() -> None:
    """The same name with other labels."""
    served = Served(Labelled)
    served.ask("filter", Nodes=nodes_value([make_node("a", labels={"ok": "yes"})]))

    answer = served.ask("filter", Nodes=nodes_value([make_node("a")]))

    assert answer["FailedNodes"] == {"a": "not ok, not at all"}


@pytest.mark.parametrize("plugin", [Labelled, LabelledColumns], ids=["one by one", "columns"])
def test_scores_are_scaled(plugin: type[Plugin]) -> None:
    answer = Served(plugin, nodes=NODES).ask("prioritize", NodeNames=NAMES)

    assert {each["Host"]: each["Score"] for each in answer} == {"a": 10, "b": 4, "c": 5, "d": 0}


@given(st.lists(st.integers(0, 100), min_size=1), st.sampled_from([10, 100]))
def test_scaling_keeps_the_order(totals: list[int], top: int) -> None:
    """Different scores may become equal but never change order; all are within 0..top."""
    given_totals = np.array(totals, dtype=np.int64)
    out = scaled(given_totals, highest=100, top=top)

    order = np.argsort(given_totals, kind="stable")
    assert (np.diff(out[order]) >= 0).all()
    assert out.min() >= 0
    assert out.max() <= top
    if top == 100:
        assert out.tolist() == totals


def test_the_described_loss_is_correct() -> None:
    """The statement is checked against the function."""
    text = describe_loss()

    assert "0..4 become 0, 5..14 become 1" in text
    assert "less than 10 points apart" in text
    scores = scaled(np.arange(101), highest=100)
    assert scores[:16].tolist() == [0] * 5 + [1] * 10 + [2]


class Narrow(Plugin):
    """Narrows the nodes, or rejects the pod."""

    name = "Narrow"

    def pre_filter(self, state: CycleState, pod: Pod, nodes: Any) -> Any:
        state.write(self.name, "seen")
        if "reject" in pod.labels:
            return Status.unresolvable("nowhere")
        return PreFilterResult(frozenset({"a"}))

    def pre_score(self, state: CycleState, pod: Pod, nodes: Any) -> Status | None:
        assert state.read(self.name, str) == "seen"
        return None

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 50


def test_pre_filter_runs_once_per_request() -> None:
    """PreScore sees what it writes, and nodes that it excludes have a reason."""
    served = Served(Narrow, nodes=NODES)

    answer = served.ask("filter", NodeNames=["a", "b"])
    assert (answer["NodeNames"], answer["FailedAndUnresolvableNodes"]) == (
        ["a"],
        {"b": "node(s) didn't satisfy plugin(s) [Narrow]"},
    )
    assert [each["Score"] for each in served.ask("prioritize", NodeNames=["a", "b"])] == [5, 5]


def test_a_pod_that_pre_filter_rejects_fits_nowhere() -> None:
    pod = pod_value(make_pod("p", labels={"reject": ""}))

    answer = Served(Narrow, nodes=NODES).ask("filter", Pod=pod, NodeNames=["a", "b"])

    assert answer["FailedAndUnresolvableNodes"] == {"a": "nowhere", "b": "nowhere"}


class Broken(Plugin):
    name = "Broken"

    def filter(self, state: Any, pod: Any, node: Any) -> None:
        raise RuntimeError("boom")

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 1000


def test_a_plugin_that_fails_is_named() -> None:
    """In the response to filter; a score above 100 fails the request for scores."""
    served = Served(Broken, nodes=NODES)

    assert "Broken" in served.ask("filter", NodeNames=["a"])["Error"]
    answer = asyncio.run(served.app.answer("prioritize", b'{"Pod": {}, "NodeNames": ["a"]}'))
    assert answer.status == 500
    assert b"invalid score 1000" in answer.body


# --- preempt ----------------------------------------------------------------------------------------------


class Lonely(Plugin):
    """Accepts a node without a pod of the team."""

    name = "Lonely"

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        mine = any(other.labels.get("team") == "x" for other in node.pods)
        return Status.unschedulable("not alone") if mine else None


def victims(**uids: str) -> dict[str, Any]:
    return {name: {"Pods": [{"UID": uid}], "NumPDBViolations": 1} for name, uid in uids.items()}


def test_candidates_are_kept_where_filter_accepts_the_pod_without_the_victims() -> None:
    """Otherwise pods would be evicted in vain."""
    pods = [
        make_pod(f"{n}-{t}", node_name=n, labels={"team": t}, metadata={"uid": f"{n}-{t}"})
        for n in "ab"
        for t in "xy"
    ]
    served = Served(Lonely, nodes=NODES, pods=pods, bind=True)

    answer = served.ask("preempt", NodeNameToMetaVictims=victims(a="a-x", b="b-y", unknown="u"))

    assert answer["NodeNameToMetaVictims"] == victims(a="a-x", unknown="u")


class Chooser(Plugin):
    """Would evict one pod from node b."""

    name = "Chooser"

    def post_filter(self, state: Any, pod: Any, verdicts: Any) -> PostFilterResult:
        assert verdicts.status("b").is_rejection
        victim = make_pod("v", metadata={"uid": "mine"})
        return PostFilterResult("b", Status.success(), (victim,))


def test_post_filter_decides_on_preemption() -> None:
    """Its victims replace the scheduler's; a node that was not offered is not a candidate."""
    served = Served(Chooser, nodes=NODES)

    assert served.ask("preempt", NodeNameToMetaVictims=victims(a="1", b="2"))["NodeNameToMetaVictims"] == {
        "b": {"Pods": [{"UID": "mine"}], "NumPDBViolations": 0}
    }


# --- bind -------------------------------------------------------------------------------------------------


class Binds(Plugin):
    name = "Binds"

    async def bind(self, state: Any, pod: Any, node_name: str) -> Status | None:
        return Status.failed("not there") if node_name == "b" else Status.skip() if node_name == "c" else None


@pytest.mark.parametrize(
    ("node", "error"),
    [
        pytest.param("a", "", id="bound"),
        pytest.param("b", 'running Bind plugin "Binds": not there', id="refused"),
        pytest.param("c", "no plugin of this extender binds the pod", id="not for us"),
    ],
)
def test_bind(node: str, error: str) -> None:
    served = Served(Binds, bind=True)

    assert served.ask("bind", PodName="p", PodNamespace="d", PodUID="u", Node=node) == {"Error": error}


# --- which verbs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plugins", "bind", "verbs"),
    [
        pytest.param([Labelled], False, ("filter", "prioritize"), id="filter and score"),
        pytest.param([Labelled], True, ("filter", "prioritize", "preempt"), id="with a cluster"),
        pytest.param([Chooser], False, ("preempt",), id="post filter"),
        pytest.param([Binds], True, ("bind",), id="bind"),
        pytest.param([Binds], False, (), id="bind without a cluster"),
    ],
)
def test_verbs_follow_from_the_plugins(plugins: list[type[Plugin]], bind: bool, verbs: tuple[str, ...]) -> None:
    assert Served(*plugins, bind=bind).app.verbs == verbs
