"""How much of the GPUs a pod asks for and a node has, in thousandths of a GPU."""

from __future__ import annotations

from typing import Final

from bayplan.model import Node, Pod

#: What programs around Alibaba's traces write: annotations of pods, resources of nodes.
GPU_COUNT: Final = "alibabacloud.com/gpu-count"
GPU_MILLI: Final = "alibabacloud.com/gpu-milli"
#: The label of a node; the annotation of a pod that wants one of several, divided by `|`.
GPU_MODEL: Final = "alibabacloud.com/gpu-card-model"
#: Extended resources that are whole GPUs.
GPU_RESOURCES: Final = ("nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915")


def pod_gpu_milli(pod: Pod) -> int:
    shared = pod.annotations.get(GPU_MILLI)
    if shared is not None:
        return int(shared) * int(pod.annotations.get(GPU_COUNT, "1"))
    return 1000 * sum(pod.requests.get(name, 0) for name in GPU_RESOURCES)


def node_gpu_milli(node: Node) -> int:
    amounts = node.allocatable
    return 1000 * (amounts.get(GPU_COUNT, 0) + sum(amounts.get(name, 0) for name in GPU_RESOURCES))
