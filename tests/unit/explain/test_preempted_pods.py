"""Who took the place of a preempted pod."""

from __future__ import annotations

from typing import Any

from tests.unit.explain.applied import scheduler_of

from bayplan.explain.preempted_pods import preempted_by
from bayplan.model import KubeObject, Pod
from bayplan.testing import make_node, make_pod

CHOSEN, BEFORE, AFTER = "2026-01-01T10:00:00Z", "2026-01-01T09:00:00Z", "2026-01-01T10:00:31Z"


def victim(reason: str = "PreemptionByScheduler") -> Pod:
    condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "lastTransitionTime": CHOSEN}
    return make_pod("victim", node_name="n", priority=1, status={"conditions": [condition]})


def bound(name: str, time: str, priority: int = 100) -> Pod:
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": time}]
    return make_pod(name, node_name="n", priority=priority, status={"conditions": conditions})


def summary(pod: Pod, *others: KubeObject) -> str | None:
    report = preempted_by(scheduler_of(make_node("n"), pod, *others).core, pod)
    return None if report is None else report.summary


def nominated(name: str, **more: Any) -> Pod:
    return make_pod(name, priority=100, status={"nominatedNodeName": "n"}, **more)


def test_the_preemptor_is_nominated_there() -> None:
    found = summary(victim(), nominated("vip"), bound("older", BEFORE))

    assert found == "preempted on n: default/vip (priority 100) will take its place"


def test_the_preemptor_is_there() -> None:
    """Pods that were there before, or have no higher priority, were not preemptors."""
    found = summary(victim(), bound("vip", AFTER), bound("older", BEFORE), bound("equal", AFTER, priority=1))

    assert found == "preempted on n: default/vip (priority 100) took its place"


def test_the_preemptor_is_gone() -> None:
    assert summary(victim()) == "preempted on n for a pod of higher priority, which is not there any more"


def test_other_disruptions_are_none() -> None:
    assert summary(victim("EvictionByEvictionAPI"), nominated("vip")) is None
    assert summary(make_pod("p", node_name="n"), nominated("vip")) is None
