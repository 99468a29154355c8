"""ImageLocality: prefers nodes that have the pod's images already, the bigger the better.

An image counts with its size times the share of nodes that have it, so that one node with a rare image does not
draw all pods to itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final

import numpy as np

from bayplan.framework import MAX_SCORE, CycleState, IntArray, NodeTable, Plugin, Reads
from bayplan.model import Pod

_MIB: Final = 1024 * 1024
#: Less than this in all is not worth a detour; upstream minThreshold.
MIN_BYTES: Final = 23 * _MIB
#: What a container's image can count for at most, on average; upstream maxContainerThreshold.
MAX_BYTES_PER_CONTAINER: Final = 1000 * _MIB


class ImageLocality(Plugin):
    name = "ImageLocality"
    reads = Reads.ALL_NODES

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        present = np.zeros(len(nodes), dtype=np.int64)
        known = [image for image in _images(pod) if nodes.image_spread(image)]
        if not known:
            return present
        n_nodes = len(self.handle.snapshot.nodes)
        for image in known:
            share = nodes.image_spread(image) / n_nodes
            present += (nodes.image_size(image) * share).astype(np.int64)
        return _scores(present, len(pod.spec.init_containers) + len(pod.spec.containers))

    def sign(self, pod: Pod) -> Hashable:
        return tuple(_images(pod)), len(pod.spec.init_containers) + len(pod.spec.containers)


def _scores(present: IntArray, n_containers: int) -> IntArray:
    """From the bytes that are there to 0 … 100, between the two bounds."""
    highest = MAX_BYTES_PER_CONTAINER * n_containers
    # Not clip(): the lower bound wins where a pod without containers turns the bounds round.
    weighed = np.where(present < MIN_BYTES, MIN_BYTES, np.minimum(present, highest))
    return MAX_SCORE * (weighed - MIN_BYTES) // (highest - MIN_BYTES)


def _images(pod: Pod) -> Iterator[str]:
    """Every image the pod needs on its node, as often as it needs it."""
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        yield normalized_image_name(container.image)
    for volume in pod.spec.volumes:
        if volume.image is not None:
            yield normalized_image_name(volume.image.reference)


def normalized_image_name(name: str) -> str:
    """The name as a container runtime reports it: with a tag, `latest` where the pod gives none."""
    has_tag = name.rfind(":") > name.rfind("/")
    return name if has_tag else f"{name}:latest"
