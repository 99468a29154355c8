"""Measures the cost of a plugin: CPU time per node and decision, and the remaining throughput."""

from __future__ import annotations

from statistics import median
from time import process_time
from typing import Final, NamedTuple

from bayplan.framework import Plugin
from bayplan.framework.plugin import defines
from bayplan.model import Node, Pod
from bayplan.testing.builders import make_node, make_pod
from bayplan.testing.harness import Harness

SIZES: Final = (100, 1_000, 5_000)
#: Decisions per measurement, and measurements; the median counts.
_DECISIONS: Final = 20
_ROUNDS: Final = 5


class Cost(NamedTuple):
    """The cost for one cluster size, in seconds of CPU time per decision."""

    n_nodes: int
    with_plugin: float
    without: float

    @property
    def own(self) -> float:
        return max(self.with_plugin - self.without, 0.0)

    @property
    def per_node(self) -> float:
        return self.own / self.n_nodes

    @property
    def decisions_per_second(self) -> float:
        return 1 / self.with_plugin if self.with_plugin else float("inf")

    @property
    def share_left(self) -> float:
        """The remaining share of the throughput without the plugin."""
        return self.without / self.with_plugin if self.with_plugin else 1.0


def measure(plugin: type[Plugin], sizes: tuple[int, ...] = SIZES) -> list[Cost]:
    """Measure the default plugins with and without *plugin*, alternating, on clusters of *sizes* nodes."""
    return [_measure_one(plugin, size) for size in sizes]


def _measure_one(plugin: type[Plugin], size: int) -> Cost:
    nodes = [_node(number) for number in range(size)]
    harnesses = (Harness(nodes=nodes, plugins=[plugin]), Harness(nodes=nodes))
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(_ROUNDS):
        for harness, taken in zip(harnesses, seconds, strict=True):
            taken.append(_seconds_per_decision(harness))
    return Cost(size, median(seconds[0]), median(seconds[1]))


def _seconds_per_decision(harness: Harness) -> float:
    pods = [_pod(number) for number in range(_DECISIONS)]
    start = process_time()
    for pod in pods:
        harness.schedule(pod)
    return (process_time() - start) / len(pods)


def _node(number: int) -> Node:
    return make_node(f"node-{number}", cpu="64", labels={"topology.kubernetes.io/zone": f"zone-{number % 3}"})


def _pod(number: int) -> Pod:
    # Different pods, so that no cached results are used.
    return make_pod(f"pod-{number}", cpu=f"{100 + number}m", memory="128Mi", labels={"app": f"app-{number % 7}"})


def prefers_columns(plugin: type[Plugin]) -> bool:
    """Whether the plugin is called for each node where it could be called once for all nodes."""
    return any(defines(plugin, name) for name in ("filter", "score"))
