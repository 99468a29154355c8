"""How many more pods fit: the count of the scheduler's own filters."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.explain.applied import LOADED, REGISTRY, cluster_of

from bayplan.clock import SystemClock
from bayplan.explain.capacity.capacity_answers import CapacityReport
from bayplan.explain.capacity.capacity_counting import count_capacity
from bayplan.explain.cluster_objects import new_cluster_core
from bayplan.explain.object_files import ObjectFileError
from bayplan.explain.what_if_scheduler import WhatIfScheduler
from bayplan.testing import make_node, make_pod

ZONE = "topology.kubernetes.io/zone"
NODES = [make_node(f"n{number}", cpu="4", labels={ZONE: f"z{number % 2}"}) for number in range(4)]


def pod(**spec: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}}
    metadata = {"name": "p", "labels": {"app": "p"}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container], **spec}}


def count(manifest: dict[str, Any], limit: int = 100) -> CapacityReport:
    objects = cluster_of([*NODES, make_pod("there", cpu="2", node_name="n0")])
    scheduler = WhatIfScheduler(new_cluster_core(objects, LOADED, REGISTRY, SystemClock()))
    report = count_capacity(scheduler, objects, [manifest], "default", limit=limit)
    assert scheduler.core.cache.n_nodes == 4
    assert list(scheduler.core.pods) == ["default/there"], "the cluster is as before"
    return report


def test_what_is_used_is_not_there() -> None:
    report = count(pod())

    assert report.fits == 14
    assert [(each.reason, each.count) for each in report.pools[0].limits] == [("Insufficient cpu", 4)]


def test_rules_count_as_well_as_amounts() -> None:
    """One pod per zone: two, whatever is free."""
    term = {"labelSelector": {"matchLabels": {"app": "p"}}, "topologyKey": ZONE}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    assert count(pod(affinity=apart)).fits == 2


def test_counting_ends_at_the_limit() -> None:
    report = count(pod(), limit=5)

    assert (report.fits, report.limited) == (5, True)


def test_a_gated_pod_is_refused() -> None:
    with pytest.raises(ObjectFileError, match="default/p would not be tried"):
        count(pod(schedulingGates=[{"name": "later"}]))
