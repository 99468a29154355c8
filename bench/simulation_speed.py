"""What a simulated pod costs: `python -m bench.simulation_speed [--nodes 1500 --pods 100000]`.

Prints the CPU time, the largest memory and the cost of a pod, and beside it, as control, that of a tenth of the
pods on a tenth of the nodes. With --day, 50,000 pods come and go on 1,000 nodes within 24 hours.
"""

from __future__ import annotations

import argparse
import random
import resource
import time

from bayplan.lab import ObjectArrival, PodArrival, SimulationOptions, Trace, WorkloadOptions, simulate
from bayplan.testing import make_node, make_pod

DAY = 86_400.0


def synthetic_trace(n_nodes: int, n_pods: int, *, seconds: float, mean_duration: float | None) -> Trace:
    """Pods of twenty sizes and fifty applications, evenly over *seconds*."""
    stream = random.Random(1)
    sizes = [
        (f"{cpu}m", f"{memory}Mi") for cpu in (100, 250, 500, 1000, 2000) for memory in (128, 512, 1024, 4096)
    ]
    nodes = [
        ObjectArrival(
            0.0,
            make_node(
                f"node-{n}", cpu="64", memory="256Gi", labels={"topology.kubernetes.io/zone": f"zone-{n % 3}"}
            ),
        )
        for n in range(n_nodes)
    ]
    pods = []
    for n in range(n_pods):
        cpu, memory = stream.choice(sizes)
        pod = make_pod(f"pod-{n}", cpu=cpu, memory=memory, labels={"app": f"app-{n % 50}"})
        duration = stream.expovariate(1 / mean_duration) if mean_duration else None
        pods.append(PodArrival(n * seconds / n_pods, pod, duration=duration))
    return Trace.of([*nodes, *pods])


def measure(trace: Trace, n_pods: int) -> float:
    """CPU seconds of one simulation."""
    start = time.process_time()
    results = simulate(trace, options=SimulationOptions(workload=WorkloadOptions(ends="duration")))
    seconds = time.process_time() - start
    assert int(results.scheduled.sum()) == n_pods, "not every pod was scheduled"
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description="What a simulated pod costs.")
    parser.add_argument("--nodes", type=int, default=1500)
    parser.add_argument("--pods", type=int, default=100_000)
    parser.add_argument("--day", action="store_true", help="50,000 pods that come and go on 1,000 nodes in a day")
    options = parser.parse_args()
    n_nodes, n_pods, duration = (1000, 50_000, 3600.0) if options.day else (options.nodes, options.pods, None)
    n_few = max(n_nodes // 10, 1)
    # As full as the large cluster.
    few = measure(synthetic_trace(n_few, n_pods // 10, seconds=DAY, mean_duration=duration), n_pods // 10)
    seconds = measure(synthetic_trace(n_nodes, n_pods, seconds=DAY, mean_duration=duration), n_pods)
    cost, control = 1e6 * seconds / n_pods, 1e7 * few / n_pods
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{n_pods:,} pods on {n_nodes:,} nodes: {seconds:.1f} s of CPU, {megabytes:.0f} MB, {cost:.0f} µs per pod"
    )
    print(f"{n_pods // 10:,} pods on {n_few:,} nodes: {control:.0f} µs per pod; ratio {cost / control:.2f}")


if __name__ == "__main__":
    main()
