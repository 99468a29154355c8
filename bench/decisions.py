"""The decision benchmark: one cluster in memory, one pod after another decided and assumed."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Iterator

from bayplan import config
from bayplan.model import Pod
from bayplan.scheduler import Scheduler, default_registry
from bench.result import Result
from bench.whole import measure_whole
from bench.workload import Workload, load_workload

MODES = ("different", "identical")
_CHUNK = 100


def measure(name: str, mode: str, n_nodes: int, seconds: float, placed_per_node: int | None = None) -> Result:
    """Decide pods for *seconds* of CPU time."""
    workload = load_workload(name)
    if workload.whole:
        return measure_whole(name, workload, mode, n_nodes)
    apps = workload.apps if mode == "different" else 1
    scheduler = build(workload, n_nodes, apps, placed_per_node)
    fresh = _pods(workload, apps)
    warm_up = [next(fresh) for _ in range(min(apps, 200) + 20)]
    _decide(scheduler, warm_up)
    spent, n_decided = 0.0, 0
    # What is collected is the builder's garbage, not the scheduler's: keep it out of the measurement.
    gc.collect()
    gc.freeze()
    n_most = workload.n_pods or workload.max_pods_per_node * n_nodes
    while n_decided < n_most and (workload.n_pods or spent < seconds):
        chunk = [next(fresh) for _ in range(_CHUNK)]
        start = time.process_time()
        _decide(scheduler, chunk)
        spent += time.process_time() - start
        n_decided += len(chunk)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each = spent / n_decided
    return Result(name, mode, n_nodes, n_decided, each * 1e6, 1 / each, peak_mb)


def build(workload: Workload, n_nodes: int, apps: int, placed_per_node: int | None = None) -> Scheduler:
    """A scheduler over a cluster with pods already placed, as many as the workload says unless told otherwise."""
    registry = default_registry()
    text = workload.configuration
    loaded = config.load(text, source="workload", catalogue=registry) if text else config.default(registry)
    scheduler = Scheduler(loaded, registry, seed=0)
    for each in workload.other_objects():
        scheduler.objects.set(each)
    for i in range(n_nodes):
        scheduler.cache.set_node(workload.node(i))
    for i in range(n_nodes * (workload.placed_per_node if placed_per_node is None else placed_per_node)):
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
