"""The decision benchmark: decides and assumes one pod after another, on a cluster in memory."""

from __future__ import annotations

import gc
import resource
import time
from collections.abc import Iterator

from bayplan import config
from bayplan.core import SchedulerCore
from bayplan.framework import CycleState
from bayplan.model import Pod
from bayplan.scheduler import default_registry, new_core
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
    _create_objects(scheduler, workload, warm_up)
    _decide(scheduler, warm_up)
    spent, n_decided = 0.0, 0
    # Collect the garbage of the setup now, so that it is not part of the measurement.
    gc.collect()
    gc.freeze()
    n_most = workload.n_pods or workload.max_pods_per_node * n_nodes
    while n_decided < n_most and (workload.n_pods or spent < seconds):
        chunk = [next(fresh) for _ in range(_CHUNK)]
        _create_objects(scheduler, workload, chunk)
        start = time.process_time()
        _decide(scheduler, chunk)
        spent += time.process_time() - start
        n_decided += len(chunk)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each = spent / n_decided
    return Result(name, mode, n_nodes, n_decided, each * 1e6, 1 / each, peak_mb)


def build(workload: Workload, n_nodes: int, apps: int, placed_per_node: int | None = None) -> SchedulerCore:
    """A scheduler core with a cluster and pods on its nodes; *placed_per_node* overrides the workload."""
    registry = default_registry()
    text = workload.configuration
    loaded = config.load(text, source="workload", catalogue=registry) if text else config.default(registry)
    scheduler = new_core(loaded, registry, seed=0)
    for each in workload.other_objects():
        scheduler.objects.set(each)
    for i in range(n_nodes):
        node = workload.node(i)
        scheduler.cache.set_node(node)
        for each in workload.objects_of_node(node.name):
            scheduler.objects.set(each)
    for i in range(n_nodes * (workload.placed_per_node if placed_per_node is None else placed_per_node)):
        node_name = f"node-{i % n_nodes:05d}"
        scheduler.cache.add_pod(workload.make_pod(i, i % apps, placed_on=node_name))
    return scheduler


def _pods(workload: Workload, apps: int) -> Iterator[Pod]:
    i = 0
    while True:
        yield workload.make_pod(i, i % apps)
        i += 1


def _create_objects(scheduler: SchedulerCore, workload: Workload, pods: list[Pod]) -> None:
    """What a controller creates for pods, before they are decided."""
    for pod in pods:
        for each in workload.objects_of_pod(pod):
            scheduler.objects.set(each)


def _decide(scheduler: SchedulerCore, pods: list[Pod]) -> None:
    cache = scheduler.cache
    for pod in pods:
        state = CycleState()
        decision = scheduler.decide(pod, state)
        if decision.node_name:
            assumed = cache.assume(pod, decision.node_name)
            if pod.spec.resource_claims:
                _reserve(scheduler, assumed, state, decision.node_name)
        elif decision.nominate:
            for victim in decision.victims:
                cache.remove_pod(victim.uid)
            cache.assume(pod, decision.nominate)
        else:
            raise SystemExit(
                f"{pod.key} found no node, so this does not measure the intended workload: {decision.message}"
            )


def _reserve(scheduler: SchedulerCore, pod: Pod, state: CycleState, node_name: str) -> None:
    """The devices are taken as long as nobody unreserves them."""
    status = scheduler.profiles[pod.spec.scheduler_name].runner.reserve(state, pod, node_name)
    if not status.is_success:
        raise SystemExit(f"{pod.key} could not reserve its claims: {status.message}")
