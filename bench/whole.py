"""The benchmark of complete attempts: queue, both cycles and watch events, in virtual time, without a server.

For workloads whose pods wait for each other: the scheduling cycle alone does not show what a pod costs.
"""

from __future__ import annotations

import gc
import json
import resource
import time

from bayplan import config
from bayplan.config import Loaded
from bayplan.conformance.replay import Replay
from bayplan.framework import Registry
from bayplan.scheduler import default_registry
from bayplan.shell.played_cluster import Timing
from bench.result import Result
from bench.workload import Workload

#: Attempts take almost no virtual time, so that no pod times out while it waits.
_TIMING = Timing(attempt_seconds=0.0001)
_VIRTUAL_SECONDS = 60.0


def measure_whole(name: str, workload: Workload, mode: str, n_nodes: int) -> Result:
    """Place the pods of the workload, all of which are queued at the start."""
    registry = default_registry()
    line = {"config": _configuration(workload, registry), "nodes": (), "bound": ()}
    replay = Replay(line, registry, timing=_TIMING)
    for each in (*workload.other_objects(), *(workload.node(i) for i in range(n_nodes))):
        replay.apply(None, each)
    n_pods = workload.n_pods or n_nodes
    # The pods of one app follow each other, as those of one job do.
    replay.list_pods(workload.make_pod(i, i * workload.apps // n_pods) for i in range(n_pods))
    gc.collect()
    gc.freeze()
    start = time.process_time()
    replay.run(_VIRTUAL_SECONDS)
    spent = time.process_time() - start
    _check_all_bound(replay, n_pods)
    n_attempts = sum(replay.attempts.values())
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    each_us = spent / n_attempts * 1e6
    return Result(name, mode, n_nodes, n_attempts, each_us, 1e6 / each_us, peak_mb)


def _configuration(workload: Workload, registry: Registry) -> object:
    text = workload.configuration
    loaded: Loaded = config.load(text, source="workload", catalogue=registry) if text else config.default(registry)
    return json.loads(json.dumps(loaded.effective()))


def _check_all_bound(replay: Replay, n_pods: int) -> None:
    n_bound = sum(bool(pod.node_name) for pod in replay.pods.values())
    if n_bound != n_pods:
        raise SystemExit(f"{n_bound} of {n_pods} pods were placed, so this does not measure the intended workload")
