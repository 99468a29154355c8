"""Which nodes are worth a closer look: a few of every group that has the same obstacles.

On a small cluster that is every node. On a large one, nodes with the same obstacles, taints and labels that matter
are alike, and the ones where least is missing stand for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from bayplan.explain.remedy import Site

if TYPE_CHECKING:
    from bayplan.explain.assessment import Assessment, Obstacle
    from bayplan.explain.what_if_scheduler import WhatIfScheduler
    from bayplan.framework import IntArray
    from bayplan.framework.verdict import FloatArray
    from bayplan.model import Pod

#: A cluster with at most so many nodes is looked at in full.
SMALL: Final = 40
#: How many nodes stand for a group.
PER_GROUP: Final = 2
#: How many nodes are looked at in all.
MAX_SITES: Final = 48


class ObstructedNode(NamedTuple):
    """A node with everything that keeps the pod off it, and how many nodes are like it."""

    site: Site
    obstacles: tuple[Obstacle, ...]
    n_alike: int


def obstructed_nodes(
    scheduler: WhatIfScheduler, pod: Pod, assessment: Assessment, obstacles: Sequence[Obstacle]
) -> list[ObstructedNode]:
    """The nodes to look at, those with the fewest obstacles and the smallest shortage first."""
    nodes = assessment.nodes
    if not len(nodes):
        return []
    shortages = _shortages(assessment, pod)
    counts = np.zeros(len(nodes), dtype=np.int64)
    signature = np.zeros(len(nodes), dtype=np.int64)
    for number, obstacle in enumerate(obstacles[:48]):
        counts += obstacle.where
        signature |= obstacle.where.astype(np.int64) << number
    taint_codes, _ = nodes.taint_sets()
    order = np.lexsort((shortages, counts))
    chosen, sizes = _representatives(order, signature * 4096 + taint_codes % 4096, len(nodes))
    reserved = _reserved(scheduler, pod)
    return [
        ObstructedNode(
            _site(assessment, pod, position, reserved),
            tuple(each for each in obstacles if each.where[position]),
            size,
        )
        for position, size in zip(chosen, sizes, strict=True)
    ]


def _representatives(order: IntArray, keys: IntArray, n_nodes: int) -> tuple[list[int], list[int]]:
    per_group = n_nodes if n_nodes <= SMALL else PER_GROUP
    _, inverse, sizes = np.unique(keys, return_inverse=True, return_counts=True)
    seen: dict[int, int] = {}
    chosen: list[int] = []
    for position in order.tolist():
        group = int(inverse[position])
        if seen.get(group, 0) < per_group:
            seen[group] = seen.get(group, 0) + 1
            chosen.append(position)
            if len(chosen) >= MAX_SITES or (len(seen) == len(sizes) and min(seen.values()) >= per_group):
                break
    return chosen, [int(sizes[inverse[position]]) for position in chosen]


def _shortages(assessment: Assessment, pod: Pod) -> FloatArray:
    """How much each node lacks of what the pod requests, summed over the resources as parts of the request."""
    nodes = assessment.nodes
    total = np.zeros(len(nodes), dtype=np.float64)
    for resource, amount in pod.spec_requests.items():
        if amount > 0:
            missing = amount - (nodes.allocatable(resource) - nodes.requested(resource))
            total += np.clip(missing / amount, 0.0, 1.0)
    return total


def _reserved(scheduler: WhatIfScheduler, pod: Pod) -> dict[int, dict[str, int]]:
    """Row → what the pods nominated to that node request: it is not free for the pod."""
    found: dict[int, dict[str, int]] = {}
    for row, others in scheduler.profile(pod).evaluation.nominated_pods(pod).items():
        amounts = found.setdefault(row, {})
        for other in others:
            for resource, amount in other.spec_requests.items():
                amounts[resource] = amounts.get(resource, 0) + int(amount)
    return found


def _site(assessment: Assessment, pod: Pod, position: int, reserved: dict[int, dict[str, int]]) -> Site:
    info = assessment.nodes[position]
    taken = reserved.get(position, {})
    free = {
        resource: int(info.allocatable.get(resource, 0))
        - int(info.requested.get(resource, 0))
        - taken.get(resource, 0)
        for resource in pod.spec_requests
    }
    return Site(info.node, free, tuple(info.pods))
