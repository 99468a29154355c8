"""On clusters as they were recorded, with every kind of rule: what is suggested helps, and something nearly always
is."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.explain.applied import REGISTRY, decision_after, objects_of

from bayplan import config
from bayplan.conformance.recorded_cluster import RecordedCluster
from bayplan.explain.suggestion_search import SuggestionSearch
from bayplan.explain.what_if_scheduler import WhatIfScheduler
from bayplan.model import Pod

GOLDEN = Path(__file__).parents[2] / "parity" / "golden" / "decisions-v1.36.4.jsonl.gz"
#: Every so many of the recorded clusters is looked at; 1 for all of them, which takes minutes.
STRIDE = int(os.environ.get("BAYPLAN_EXPLAIN_STRIDE", "24"))
#: The part of the pods that single objects can help for which something must be suggested.
MIN_HELPED = 0.95


def _lines() -> list[dict[str, Any]]:
    with gzip.open(GOLDEN) as file:
        return [json.loads(line) for number, line in enumerate(file) if number % STRIDE == 0]


def _unplaced(line: dict[str, Any]) -> Iterator[tuple[RecordedCluster, Pod]]:
    """The cluster at every step at which a pod found no node; it goes on as recorded."""
    cluster = RecordedCluster(line, REGISTRY)
    for step in line["steps"]:
        pod = Pod.from_dict(step["pod"])
        if "unschedulable" in step or step.get("gated"):
            yield cluster, pod
        if "preemption" in step:
            cluster.evict(step["preemption"]["victims"])
            if step.get("timeout"):
                continue
            pod = cluster.nominate(pod, step["preemption"]["nominated"])
        if "node" in step:
            cluster.place(pod, step["node"], step.get("start_time"))
        cluster.replace_volumes(step)


def _can_be_helped(cluster: RecordedCluster, pod: Pod) -> bool:
    """Whether a change of one object can help: a pod without any wish fits, or would on one more, empty node."""
    plain = Pod.from_dict(
        {
            "metadata": {**pod.raw["metadata"], "labels": {}},
            "spec": {
                "schedulerName": pod.spec.scheduler_name,
                "tolerations": [{"operator": "Exists"}],
                "containers": [{"name": "main", "image": "none"}],
            },
        }
    )
    return bool(WhatIfScheduler(cluster.core).feasible_nodes(plain))


@pytest.mark.parametrize("line", [pytest.param(line, id=f"seed {line['seed']}") for line in _lines()])
def test_what_is_suggested_helps(line: dict[str, Any]) -> None:
    """With the changes made as they stand, a core that knows nothing of the search places the pod."""
    loaded = config.load(json.dumps(line["config"]), source="config", catalogue=REGISTRY)
    for cluster, pod in _unplaced(line):
        before = [each.to_dict() for each in objects_of(cluster.core)]
        suggestions = SuggestionSearch(WhatIfScheduler(cluster.core), pod).run()
        objects = objects_of(cluster.core)

        assert sorted(map(str, (each.to_dict() for each in objects))) == sorted(map(str, before))
        for suggestion in suggestions:
            decision = decision_after(suggestion, pod, objects, loaded)
            assert decision.node_name, f"{pod.key}: {suggestion.summary}: {decision.message}"


def test_nearly_every_pod_gets_a_suggestion() -> None:
    """Of those that some change of a single object can help at all."""
    helped = total = 0
    for line in _lines():
        for cluster, pod in _unplaced(line):
            if _can_be_helped(cluster, pod):
                total += 1
                helped += bool(SuggestionSearch(WhatIfScheduler(cluster.core), pod, n_wanted=1).run())

    assert total
    assert helped >= MIN_HELPED * total
