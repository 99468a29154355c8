"""CapacityScheduling on random clusters, in virtual time: what holds whatever comes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.plugins.quotas.support import CONFIGURATION, quota

from bayplan.conformance.replay import Replay
from bayplan.model import Pod
from bayplan.scheduler import default_registry
from bayplan.testing import make_node, make_pod

#: Long enough for every backoff, and for pods that no event wakes (five minutes).
SETTLED_SECONDS = 400.0
TEAMS = ("team-a", "team-b", "team-c")
REGISTRY = default_registry()


@dataclass(frozen=True)
class Scenario:
    #: cpu of each node.
    nodes: list[int]
    #: Namespace → cpu: min and max.
    quotas: dict[str, tuple[int, int]]
    #: Namespace, cpu and priority of pods, in the order in which they come, and seconds until the next one.
    pods: list[tuple[str, int, int, float]]

    @property
    def total_min(self) -> int:
        return sum(low for low, _ in self.quotas.values())


@st.composite
def scenarios(draw: st.DrawFn) -> Scenario:
    low = st.integers(0, 6)
    quotas = {}
    for team in TEAMS:
        least = draw(low)
        quotas[team] = (least, draw(st.integers(least, 9)))
    namespaces = st.sampled_from([*TEAMS, "default"])
    pod = st.tuples(namespaces, st.integers(1, 5), st.integers(0, 2), st.sampled_from([0.0, 0.5, 20.0]))
    return Scenario(
        draw(st.lists(st.integers(2, 8), min_size=1, max_size=3)),
        quotas,
        draw(st.lists(pod, min_size=3, max_size=14)),
    )


class World:
    """A scenario at work."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        memory = {"memory": "1Ti"}
        line: dict[str, Any] = {
            "config": yaml.safe_load(CONFIGURATION),
            "nodes": [make_node(f"n{i}", cpu=str(cpu)).raw for i, cpu in enumerate(scenario.nodes)],
            "bound": [],
            "elasticquotas": [
                quota(team, {"cpu": low, **memory}, {"cpu": high, **memory}).raw
                for team, (low, high) in scenario.quotas.items()
            ],
        }
        self.replay = Replay(line, REGISTRY)

    def create(self, number: int) -> None:
        namespace, cpu, priority, seconds = self.scenario.pods[number]
        # With a start of its own, so that of two pods of a priority one is the more important.
        status = {"startTime": f"2024-01-01T00:{number:02}:00Z"}
        pod = make_pod(f"p{number}", namespace=namespace, cpu=str(cpu), priority=priority, status=status)
        self.replay.apply(None, pod)
        self.run(seconds)

    def run(self, seconds: float) -> None:
        """In steps, and at the end of each no namespace is above its max."""
        self.replay.run(seconds)
        for team, (_, high) in self.scenario.quotas.items():
            assert used_by(self.bound, team) <= high, team

    @property
    def bound(self) -> list[Pod]:
        return [pod for pod in self.replay.pods.values() if pod.node_name]

    @property
    def waiting(self) -> list[Pod]:
        return [pod for pod in self.replay.pods.values() if not pod.node_name]

    def finish_all(self) -> None:
        """Every pod on a node ends."""
        for pod in self.bound:
            self.replay.apply(pod, None)


def cpu_of(pod: Pod) -> int:
    return pod.requests["cpu"] // 1000


def used_by(pods: list[Pod], namespace: str) -> int:
    return sum(cpu_of(pod) for pod in pods if pod.namespace == namespace)


def could_be_reclaimed(world: World, pod: Pod) -> str:
    """A node on which *pod*, which its namespace is sure of, fits without what other namespaces borrow."""
    quotas, bound = world.scenario.quotas, world.bound
    if pod.namespace not in quotas or used_by(bound, pod.namespace) + cpu_of(pod) > quotas[pod.namespace][0]:
        return ""
    for i, cpu in enumerate(world.scenario.nodes):
        left = list(bound)
        for other in sorted(bound, key=lambda each: (each.priority, -int(each.name[1:]))):
            is_borrower = other.namespace != pod.namespace and other.namespace in quotas
            if (
                other.node_name == f"n{i}"
                and is_borrower
                and used_by(left, other.namespace) > quotas[other.namespace][0]
            ):
                left.remove(other)
        on_node = sum(cpu_of(each) for each in left if each.node_name == f"n{i}")
        total = sum(used_by(left, team) for team in quotas)
        if on_node + cpu_of(pod) <= cpu and total + cpu_of(pod) <= world.scenario.total_min:
            return f"n{i}"
    return ""


def fits_alone(scenario: Scenario, pod: Pod) -> bool:
    limits = [max(scenario.nodes)]
    if pod.namespace in scenario.quotas:
        limits += [scenario.quotas[pod.namespace][1], scenario.total_min]
    return cpu_of(pod) <= min(limits)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios())
def test_quotas_hold_and_nobody_is_forgotten(scenario: Scenario) -> None:
    """No namespace above max; nobody keeps what another namespace is sure of and wants; what fits alone is placed
    in the end."""
    world = World(scenario)
    for number in range(len(scenario.pods)):
        world.create(number)
    world.run(SETTLED_SECONDS)

    waiting_in_vain = {pod.key: node for pod in world.waiting if (node := could_be_reclaimed(world, pod))}
    assert not waiting_in_vain

    for _ in range(len(scenario.pods)):
        world.finish_all()
        world.run(SETTLED_SECONDS)
    assert [pod.key for pod in world.waiting if fits_alone(scenario, pod)] == []
    world.replay.close()
