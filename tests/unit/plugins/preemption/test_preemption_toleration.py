"""PreemptionToleration: whom a PriorityClass protects, against whom, and for how long."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from bayplan.model import PriorityClass
from bayplan.plugins.preemption.preemption_toleration import VictimToleration, toleration_of
from bayplan.testing import Harness, make_node, make_pod

CONFIGURATION = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- plugins:
    multiPoint: {enabled: [{name: PreemptionToleration}]}
    postFilter: {disabled: [{name: "*"}], enabled: [{name: PreemptionToleration}]}
"""
PREFIX = "preemption-toleration.scheduling.x-k8s.io/"


def priority_class(minimum: str | None = None, seconds: str | None = None, value: int = 10) -> PriorityClass:
    annotations = {
        f"{PREFIX}{key}": text
        for key, text in (("minimum-preemptable-priority", minimum), ("toleration-seconds", seconds))
        if text is not None
    }
    return PriorityClass.from_dict({"metadata": {"name": "victims", "annotations": annotations}, "value": value})


@pytest.mark.parametrize(
    ("minimum", "seconds", "expected"),
    [
        (None, None, VictimToleration(11, 0)),
        ("50", "-1", VictimToleration(50, -1)),
        ("+5", "9000000000", VictimToleration(5, 9_000_000_000)),
        ("2147483648", None, None),
        ("a lot", None, None),
        (None, "1h", None),
        ("1_0", None, None),
    ],
    ids=["nothing", "both", "signs and 64 bits", "above 32 bits", "no number", "no seconds", "underscores"],
)
def test_annotations_are_read(minimum: str | None, seconds: str | None, expected: VictimToleration | None) -> None:
    """As Go's ParseInt does; without a minimum it is the class's own value and one."""
    assert toleration_of(priority_class(minimum, seconds)) == expected


def harness_with(victim: dict[str, Any], *objects: PriorityClass, age: float | None = None) -> Harness:
    """A node that a victim fills; scheduled *age* seconds ago, or nobody knows when."""
    harness = Harness(nodes=[make_node("a", cpu="2")], objects=objects, configuration=CONFIGURATION)
    conditions = [] if age is None else [scheduled(harness.clock.now() - age)]
    harness.add(
        make_pod("victim", cpu="2", priority=10, node_name="a", status={"conditions": conditions}, **victim)
    )
    return harness


def scheduled(at: float) -> dict[str, str]:
    text = datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"type": "PodScheduled", "status": "True", "lastTransitionTime": text}


@pytest.mark.parametrize(
    ("minimum", "seconds", "age", "priority", "evicted"),
    [
        pytest.param("100", "-1", 10**6, 99, False, id="for ever, against lower priorities"),
        pytest.param("100", "-1", 10**6, 100, True, id="for ever, against the minimum"),
        pytest.param("100", "60", 59, 99, False, id="for a minute, in it"),
        pytest.param("100", "60", 60, 99, True, id="for a minute, after it"),
        pytest.param("100", "0", 1, 99, True, id="for no time"),
        pytest.param("100", None, 1, 99, True, id="no seconds given"),
        pytest.param(None, "-1", 1, 11, True, id="no minimum given"),
        pytest.param("many", "-1", 1, 11, True, id="unreadable"),
    ],
)
def test_victims_tolerate(
    minimum: str | None, seconds: str | None, age: float, priority: int, evicted: bool
) -> None:
    """Pods are spared by preemptors below the minimum, until the seconds since they were scheduled are over."""
    in_class = {"spec": {"priorityClassName": "victims"}}
    harness = harness_with(in_class, priority_class(minimum, seconds), age=age)

    decision = harness.decide(make_pod("p", cpu="2", priority=priority))

    assert bool(decision.nominate) is evicted
    if not evicted:
        assert decision.message.endswith("1 No victims found on node a for preemptor pod p.")


def test_pod_that_says_nothing_of_its_schedule_is_new() -> None:
    """Without the condition the time has not begun."""
    harness = harness_with({"spec": {"priorityClassName": "victims"}}, priority_class("100", "1"))
    assert not harness.decide(make_pod("p", cpu="2", priority=99)).nominate


@pytest.mark.parametrize("spec", [{}, {"priorityClassName": "gone"}], ids=["no class", "a class that is gone"])
def test_pods_without_a_class_tolerate_none(spec: dict[str, Any]) -> None:
    """A class that is gone protects nobody; in the original it makes preemption fail on that node."""
    harness = harness_with({"spec": spec})
    assert harness.decide(make_pod("p", cpu="2", priority=11)).nominate == "a"


def test_message_has_no_head() -> None:
    """The original's messages lack the word preemption that DefaultPreemption begins its own with."""
    harness = harness_with({})
    decision = harness.decide(make_pod("p", cpu="2", priority=11, spec={"preemptionPolicy": "Never"}))
    assert decision.message == (
        "0/1 nodes are available: 1 Insufficient cpu. not eligible due to preemptionPolicy=Never."
    )


def test_waits_for_any_terminating_pod_of_lower_priority() -> None:
    """Whoever asked it to go."""
    harness = harness_with({"metadata": {"deletionTimestamp": "2024-01-01T00:00:00Z"}})
    pod = make_pod("p", cpu="2", priority=11, status={"nominatedNodeName": "a"})
    assert harness.decide(pod).message.endswith("not eligible due to a terminating pod on the nominated node.")
