"""What preemption says and whom it evicts, where releases of Kubernetes differ."""

from __future__ import annotations

import pytest

from bayplan.model import Pod
from bayplan.testing import Harness, make_node, make_pod

FULL = "0/1 nodes are available: 1 Insufficient cpu."


def on_a(name: str) -> Pod:
    """It has no start time."""
    return make_pod(name, cpu="1", node_name="a")


@pytest.mark.parametrize(
    ("release", "message"),
    [
        ("1.36", FULL),
        ("1.37", f"{FULL} preemption: found a potential placement for pod on node a, preempting 1 victims"),
    ],
)
def test_message_of_a_preemption(release: str, message: str) -> None:
    harness = Harness(nodes=[make_node("a", cpu="1")], pods=[on_a("victim")], release=release)
    decision = harness.core.decide(make_pod("p", cpu="1", priority=100))
    assert (decision.nominate, decision.message) == ("a", message)


@pytest.mark.parametrize(("release", "evicted"), [("1.36", "first"), ("1.37", "second")])
def test_pods_that_have_not_started(release: str, evicted: str) -> None:
    """Equally important: the one that came first is evicted, or kept."""
    harness = Harness(nodes=[make_node("a", cpu="2")], pods=[on_a("first"), on_a("second")], release=release)
    decision = harness.core.decide(make_pod("p", cpu="1", priority=100))
    assert [victim.name for victim in decision.victims] == [evicted]
