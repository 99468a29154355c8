"""The decision benchmark: one cluster in memory, one pod after another decided and assumed."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Iterator
from typing import NamedTuple

from bayplan import config
from bayplan.model import Pod
from bayplan.scheduler import Scheduler, default_registry
from bench.workload import Workload, load_workload

MODES = ("different", "identical")
_CHUNK = 100


class Result(NamedTuple):
    """One line of the table."""

    workload: str
    mode: str
    nodes: int
    decisions: int
    us_per_decision: float
    decisions_per_second: float
    peak_mb: float

    @staticmethod
    def heading() -> str:
        return (
            f"{'workload':<16}{'pods':<11}{'nodes':>7}{'decisions/s':>13}{'µs each':>10}{'peak MB':>9}"
            "  cost against the row above"
        )

    def row(self, smaller: Result | None) -> str:
        growth = ""
        if smaller is not None:
            cost = self.us_per_decision / smaller.us_per_decision
            growth = f"  ×{cost:.1f} for ×{self.nodes / smaller.nodes:.0f} nodes"
        return (
            f"{self.workload:<16}{self.mode:<11}{self.nodes:>7}{self.decisions_per_second:>13,.0f}"
            f"{self.us_per_decision:>10.0f}{self.peak_mb:>9.0f}{growth}"
        )


def measure(name: str, mode: str, n_nodes: int, seconds: float) -> Result:
    """Decide pods for *seconds* of CPU time."""
    workload = load_workload(name)
    apps = workload.apps if mode == "different" else 1
    scheduler = build(workload, n_nodes, apps)
    fresh = _pods(workload, apps)
    warm_up = [next(fresh) for _ in range(min(apps, 200) + 20)]
    _decide(scheduler, warm_up)
    spent, n_decided = 0.0, 0
    # What is collected is the builder's garbage, not the scheduler's: keep it out of the measurement.
    gc.collect()
    gc.freeze()
    while spent < seconds and n_decided < workload.max_pods_per_node * n_nodes:
        chunk = [next(fresh) for _ in range(_CHUNK)]
        start = time.process_time()
        _decide(scheduler, chunk)
        spent += time.process_time() - start
        n_decided += len(chunk)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each = spent / n_decided
    return Result(name, mode, n_nodes, n_decided, each * 1e6, 1 / each, peak_mb)


def build(workload: Workload, n_nodes: int, apps: int) -> Scheduler:
    """A scheduler over a cluster with pods already placed, with the default configuration."""
    registry = default_registry()
    scheduler = Scheduler(config.default(registry), registry, seed=0)
    for each in workload.other_objects():
        scheduler.objects.set(each)
    for i in range(n_nodes):
        scheduler.cache.set_node(workload.node(i))
    for i in range(n_nodes * workload.placed_per_node):
        node_name = f"node-{i % n_nodes:05d}"
        scheduler.cache.add_pod(workload.make_pod(i, i % apps, placed_on=node_name))
    return scheduler


def _pods(workload: Workload, apps: int) -> Iterator[Pod]:
    i = 0
    while True:
        yield workload.make_pod(i, i % apps)
        i += 1


def _decide(scheduler: Scheduler, pods: list[Pod]) -> None:
    cycle = scheduler.profiles["default-scheduler"].cycle
    cache = scheduler.cache
    for pod in pods:
        decision = cycle.schedule(pod)
        if decision.node_name:
            cache.assume(pod, decision.node_name)
        elif decision.nominate:
            for victim in decision.victims:
                cache.remove_pod(victim.uid)
            cache.assume(pod, decision.nominate)
        else:
            raise SystemExit(
                f"{pod.key} found no node, so this is not the workload it claims to be: {decision.message}"
            )
