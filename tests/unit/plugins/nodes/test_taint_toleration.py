"""Taints keep pods away, or cost score."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.plugins.bench import Bench

from bayplan.framework import Hint, Status
from bayplan.plugins.nodes.taint_toleration import TaintToleration
from bayplan.testing import make_node, make_pod

REASON = Status.unresolvable("node(s) had untolerated taint(s)")


def pod_with(*tolerations: dict[str, Any]) -> Any:
    return make_pod("p", spec={"tolerations": list(tolerations)})


@pytest.mark.parametrize(
    ("taint", "toleration", "fits"),
    [
        pytest.param("a=x:NoSchedule", None, False, id="NoSchedule"),
        pytest.param("a=x:NoExecute", None, False, id="NoExecute"),
        pytest.param("a=x:PreferNoSchedule", None, True, id="PreferNoSchedule never rejects"),
        pytest.param("a=x:NoSchedule", {"key": "a", "value": "x"}, True, id="equal is the default operator"),
        pytest.param("a=x:NoSchedule", {"key": "a", "value": "y"}, False, id="another value"),
        pytest.param("a=x:NoSchedule", {"key": "a", "operator": "Exists"}, True, id="exists"),
        pytest.param(
            "a=x:NoExecute", {"key": "a", "value": "x", "effect": "NoSchedule"}, False, id="other effect"
        ),
        pytest.param(
            "a=3:NoSchedule", {"key": "a", "operator": "Gt", "value": "1"}, False, id="Gt is behind a gate"
        ),
    ],
)
def test_filter(taint: str, toleration: dict[str, Any] | None, fits: bool) -> None:
    """NoSchedule and NoExecute reject for good a pod that tolerates them not."""
    bench = Bench([make_node("plain"), make_node("tainted", taints=[taint])])
    rejected = bench.rejections(bench.plugin(TaintToleration), pod_with(*([toleration] if toleration else [])))
    assert rejected == ({} if fits else {"tainted": REASON})


def test_fewer_disliked_taints_score_higher() -> None:
    """100 for none, 0 for the most of all nodes, in proportion between: 100 − 100·count/most, whole numbers."""
    bench = Bench(
        [
            make_node("none"),
            make_node("one", taints=["a=1:PreferNoSchedule", "hard=1:NoSchedule"]),
            make_node("three", taints=[f"{key}=1:PreferNoSchedule" for key in "abc"]),
        ]
    )
    assert bench.scores(bench.plugin(TaintToleration), make_pod("p")) == {"none": 100, "one": 67, "three": 0}


def test_tolerated_taints_cost_nothing() -> None:
    """A toleration for another effect does not help; one without effect is for all effects."""
    nodes = [make_node("a", taints=["a=1:PreferNoSchedule"]), make_node("b", taints=["b=1:PreferNoSchedule"])]
    bench = Bench(nodes)
    pod = pod_with({"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists", "effect": "NoSchedule"})
    assert bench.scores(bench.plugin(TaintToleration), pod) == {"a": 100, "b": 0}


def test_all_alike_score_the_highest() -> None:
    """Without disliked taints anywhere every node gets 100; so does every node of a selection."""
    nodes = [make_node("a"), make_node("b"), make_node("bad", taints=["a=1:PreferNoSchedule"])]
    bench = Bench(nodes)
    plugin = bench.plugin(TaintToleration)
    assert bench.scores(plugin, make_pod("p"), "b", "a") == {"b": 100, "a": 100}


def test_hints() -> None:
    """A node helps when it becomes bearable; a toleration helps its own pod."""
    on_node, on_pod = Bench().plugin(TaintToleration).events_to_register()
    assert on_node.hint is not None
    assert on_pod.hint is not None
    pod, plain, tainted = make_pod("p"), make_node("a"), make_node("a", taints=["k=v:NoSchedule"])
    assert on_node.hint(pod, None, plain) is Hint.QUEUE
    assert on_node.hint(pod, tainted, plain) is Hint.QUEUE
    assert on_node.hint(pod, plain, plain) is Hint.SKIP
    assert on_node.hint(pod, None, tainted) is Hint.SKIP
    assert on_pod.hint(pod, pod, pod) is Hint.QUEUE
    assert on_pod.hint(pod, pod, make_pod("q")) is Hint.SKIP


taints = st.lists(
    st.builds(
        "{}={}:{}".format,
        st.sampled_from("ab"),
        st.sampled_from("xy"),
        st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
    ),
    max_size=3,
)
tolerations = st.lists(
    st.fixed_dictionaries(
        {"key": st.sampled_from(["a", "b"]), "operator": st.sampled_from(["Exists", "Equal"])},
        optional={"value": st.sampled_from("xy"), "effect": st.sampled_from(["NoSchedule", "PreferNoSchedule"])},
    ),
    max_size=2,
)


def is_tolerated(taint: str, tolerations: list[dict[str, str]]) -> bool:
    head, effect = taint.split(":")
    key, value = head.split("=")
    return any(
        each["key"] == key
        and each.get("effect", effect) == effect
        and (each["operator"] == "Exists" or each.get("value", "") == value)
        for each in tolerations
    )


@given(st.lists(taints, min_size=1, max_size=5), tolerations)
def test_columns_agree_with_the_rule_per_node(
    taints_of_nodes: list[list[str]], tolerations: list[dict[str, str]]
) -> None:
    """Of the taints not tolerated, NoSchedule and NoExecute reject and PreferNoSchedule count."""
    bench = Bench(make_node(f"n{i}", taints=each) for i, each in enumerate(taints_of_nodes))
    plugin, pod = bench.plugin(TaintToleration), pod_with(*tolerations)
    bad = [[t for t in each if not is_tolerated(t, tolerations)] for each in taints_of_nodes]
    soft = [sum(t.endswith("PreferNoSchedule") for t in each) for each in bad]
    assert bench.rejections(plugin, pod) == {f"n{i}": REASON for i, each in enumerate(bad) if len(each) > soft[i]}
    most = max(soft)
    assert bench.scores(plugin, pod) == {
        f"n{i}": 100 - 100 * count // most if most else 100 for i, count in enumerate(soft)
    }
