"""The measured schedulers: the stock kube-scheduler, Bayplan, and the null scheduler as control.

Both real schedulers get the same KubeSchedulerConfiguration and the same flags, and are started in the same
way; only one runs at a time.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from tests.e2e.bayplan import PROGRAM
from tests.e2e.control_plane import ControlPlane, free_port
from tests.e2e.processes import Process

from bench.e2e.plan import Contestant
from bench.e2e.workload import Workload

ROOT = Path(__file__).parents[2]
_VERBOSITY = 2
#: A streaming list is stored in a map, and pods would be queued in the order of that map.
_IN_ORDER = ("--feature-gates=WatchListClient=false",)


def start(
    contestant: Contestant, plane: ControlPlane, workload: Workload, *, n_nodes: int, deterministic: bool
) -> Process:
    """Start the scheduler, without waiting until it is ready."""
    if contestant.is_null:
        return _start_null(plane, n_nodes, events=contestant is Contestant.NULL_EVENTS)
    plugin = workload.plugin if contestant is Contestant.BAYPLAN else ""
    file = plane.scheduler_configuration(_configuration(plugin, deterministic=deterministic), name=contestant)
    serving = plane.component_arguments(free_port(), plane.kubeconfig_for("system:kube-scheduler"))
    flags = [f"--config={file}", f"--v={_VERBOSITY}", *serving]
    if contestant is Contestant.KUBE:
        return plane.start(
            contestant, [plane.programs["kube-scheduler"], *flags, *(_IN_ORDER if deterministic else ())]
        )
    return plane.start(contestant, [PROGRAM, "run", *flags, *([f"--plugin={ROOT / plugin}"] if plugin else [])])


def _configuration(plugin: str, *, deterministic: bool) -> dict[str, Any]:
    configuration: dict[str, Any] = {}
    if deterministic:
        # One thread and all nodes: choices do not depend on timing.
        configuration |= {"parallelism": 1, "percentageOfNodesToScore": 100}
    if plugin:
        enabled = {"multiPoint": {"enabled": [{"name": plugin.rpartition(":")[2]}]}}
        configuration["profiles"] = [{"schedulerName": "default-scheduler", "plugins": enabled}]
    return configuration


def _start_null(plane: ControlPlane, n_nodes: int, *, events: bool) -> Process:
    kubeconfig = plane.kubeconfig_for("system:kube-scheduler")
    command = [sys.executable, "-m", "bench.e2e.null", f"--kubeconfig={kubeconfig}", f"--nodes={n_nodes}"]
    # The measured build comes first: the control uses the same client.
    path = os.pathsep.join(filter(None, (os.environ.get("PYTHONPATH"), str(ROOT))))
    return plane.start("null", [*command, *(["--events"] if events else [])], env={"PYTHONPATH": path})
