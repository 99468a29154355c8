"""Small traces of our own making."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bayplan.lab import ObjectArrival, PodArrival, Trace
from bayplan.testing import make_node, make_pod

NODES_CSV = """\
sn,cpu_milli,memory_mib,gpu,model
node-a,32000,131072,2,T4
node-b,64000,262144,4,V100M32
node-c,96000,786432,0,
"""
PODS_CSV = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
pod-0,4000,8192,1,500,,LS,Running,0,100,0
pod-1,8000,16384,2,1000,T4|V100M32,BE,Running,5,60,10
pod-2,2000,4096,0,0,,LS,Running,5,,5
"""


def small_trace(n_pods: int = 4, *, n_nodes: int = 2, cpu: str = "1", **arrival: Any) -> Trace:
    """Pods that come one second apart, to nodes of two cores."""
    nodes = [ObjectArrival(0.0, make_node(f"node-{number}", cpu="2")) for number in range(n_nodes)]
    pods = [PodArrival(float(n), make_pod(f"pod-{n}", cpu=cpu), **arrival) for n in range(n_pods)]
    return Trace.of([*pods, *nodes])


def names(column: Iterable[object]) -> list[str]:
    return [str(name).removeprefix("default/") for name in column]
