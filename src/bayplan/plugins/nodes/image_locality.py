"""ImageLocality: prefers nodes that already have the pod's images; larger images count more.

An image counts with its size times the share of nodes that have it, so that one node with a rare image does not
attract all pods.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Final

import numpy as np

from bayplan.framework import MAX_SCORE, CycleState, Handle, IntArray, NodeTable, Plugin, Reads
from bayplan.model import Pod

_MIB: Final = 1024 * 1024
#: Below this total an image makes no difference; upstream minThreshold.
MIN_BYTES: Final = 23 * _MIB
#: The most that an image counts, on average; upstream maxContainerThreshold.
MAX_BYTES_PER_IMAGE: Final = 1000 * _MIB


class ImageLocality(Plugin[None]):
    name = "ImageLocality"
    reads = Reads.ALL_NODES

    def __init__(self, args: None, handle: Handle) -> None:
        super().__init__(args, handle)
        self._counts_volumes = handle.release.facts.counts_image_volumes

    def score_nodes(self, state: CycleState, pod: Pod, nodes: NodeTable) -> IntArray:
        present = np.zeros(len(nodes), dtype=np.int64)
        is_anywhere = False
        for image in _images(pod):
            n_with_image = nodes.image_spread(image)
            if n_with_image:
                is_anywhere = True
                share = n_with_image / len(self.handle.snapshot.nodes)
                present += (nodes.image_size(image) * share).astype(np.int64)
        if not is_anywhere:
            return present
        return _scores(present, self._n_images(pod))

    def _n_images(self, pod: Pod) -> int:
        """How many images the thresholds are for."""
        n_containers = len(pod.spec.init_containers) + len(pod.spec.containers)
        if not self._counts_volumes:
            return n_containers
        return n_containers + sum(volume.image is not None for volume in pod.spec.volumes)

    def sign(self, pod: Pod) -> Hashable:
        return tuple(_images(pod)), self._n_images(pod)


def _scores(present: IntArray, n_images: int) -> IntArray:
    """Scales the bytes that are present to 0 … 100, between the two thresholds."""
    highest = MAX_BYTES_PER_IMAGE * n_images
    # Not clip(): for a pod without images the upper bound is below the lower one, which then wins.
    weighed = np.where(present < MIN_BYTES, MIN_BYTES, np.minimum(present, highest))
    return MAX_SCORE * (weighed - MIN_BYTES) // (highest - MIN_BYTES)


def _images(pod: Pod) -> Iterator[str]:
    """Every image that the pod needs on its node; one that is used twice comes twice."""
    for container in (*pod.spec.init_containers, *pod.spec.containers):
        yield normalized_image_name(container.image)
    for volume in pod.spec.volumes:
        if volume.image is not None:
            yield normalized_image_name(volume.image.reference)


def normalized_image_name(name: str) -> str:
    """The name as a container runtime reports it: with a tag, `latest` where the pod gives none."""
    has_tag = name.rfind(":") > name.rfind("/")
    return name if has_tag else f"{name}:latest"
