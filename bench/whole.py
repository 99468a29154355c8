"""The benchmark of whole attempts: queue, both cycles and what the watch says, in virtual time, without a server.

For workloads whose pods wait for each other: what one costs cannot be told from its scheduling cycle alone.
"""

from __future__ import annotations

import gc
import json
import resource
import time

from bayplan import config
from bayplan.config import Loaded
from bayplan.conformance.replay import Replay, Timing
from bayplan.framework import Registry
from bayplan.scheduler import default_registry
from bench.result import Result
from bench.workload import Workload

#: Attempts take no time of the clock that matters, so that nobody's waiting ends early.
_TIMING = Timing(attempt_seconds=0.0001)
_VIRTUAL_SECONDS = 60.0


def measure_whole(name: str, workload: Workload, mode: str, n_nodes: int) -> Result:
    """Place the workload's pods, all of which wait at the start."""
    registry = default_registry()
    line = {"config": _configuration(workload, registry), "nodes": (), "bound": ()}
    replay = Replay(line, registry, lambda pod, scores: None, timing=_TIMING)
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
        raise SystemExit(f"{n_bound} of {n_pods} pods were placed, so this is not the workload it claims to be")
