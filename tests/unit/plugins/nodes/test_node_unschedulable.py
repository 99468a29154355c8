"""Cordoned nodes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.plugins.bench import Bench

from bayplan.framework import Hint, Status
from bayplan.plugins.nodes.node_unschedulable import NodeUnschedulable
from bayplan.testing import make_node, make_pod

KEY = "node.kubernetes.io/unschedulable"


@pytest.mark.parametrize(
    ("tolerations", "tolerated"),
    [
        pytest.param([], False, id="no toleration"),
        pytest.param([{"key": KEY, "operator": "Exists"}], True, id="the taint by name"),
        pytest.param([{"key": KEY, "effect": "NoSchedule"}], True, id="the taint with its empty value"),
        pytest.param([{"operator": "Exists"}], True, id="everything"),
        pytest.param([{"key": KEY, "operator": "Exists", "effect": "NoExecute"}], False, id="another effect"),
        pytest.param([{"key": "other", "operator": "Exists"}], False, id="another key"),
        pytest.param([{"key": KEY, "value": "true"}], False, id="another value"),
    ],
)
def test_cordon_is_a_taint(tolerations: list[dict[str, Any]], tolerated: bool) -> None:
    """A cordoned node takes a pod that tolerates `node.kubernetes.io/unschedulable:NoSchedule`."""
    bench = Bench([make_node("open"), make_node("closed", unschedulable=True)])
    rejected = bench.rejections(bench.plugin(NodeUnschedulable), make_pod("p", spec={"tolerations": tolerations}))
    assert rejected == ({} if tolerated else {"closed": Status.unresolvable("node(s) were unschedulable")})


@pytest.mark.parametrize(
    ("was_cordoned", "is_cordoned", "hint"),
    [
        pytest.param(None, False, Hint.QUEUE, id="open node added"),
        pytest.param(None, True, Hint.SKIP, id="cordoned node added"),
        pytest.param(True, False, Hint.QUEUE, id="uncordoned"),
        pytest.param(False, False, Hint.SKIP, id="open all along"),
        pytest.param(False, True, Hint.SKIP, id="cordoned"),
    ],
)
def test_hint_for_nodes(was_cordoned: bool | None, is_cordoned: bool, hint: Hint) -> None:
    """Only a node that opens helps."""
    on_node, _ = Bench().plugin(NodeUnschedulable).events_to_register()
    old = None if was_cordoned is None else make_node("a", unschedulable=was_cordoned)
    assert on_node.hint is not None
    assert on_node.hint(make_pod("p"), old, make_node("a", unschedulable=is_cordoned)) is hint


def test_hint_for_tolerations() -> None:
    """A new toleration helps its own pod, if it tolerates the cordon."""
    _, on_pod = Bench().plugin(NodeUnschedulable).events_to_register()
    hint, pod = on_pod.hint, make_pod("p")
    assert hint is not None
    same = {"uid": pod.uid}
    everything = {"tolerations": [{"operator": "Exists"}]}
    assert hint(pod, pod, make_pod("p", metadata=same, spec=everything)) is Hint.QUEUE
    assert hint(pod, pod, make_pod("p", metadata=same)) is Hint.SKIP
    assert hint(pod, pod, make_pod("other", spec=everything)) is Hint.SKIP
