"""The annotations that kube-scheduler-simulator's web interface reads."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from bayplan.apiserver.cluster import Cluster
from bayplan.shell.result_annotations import PREFIX, result_annotations
from bayplan.testing import Harness, make_node, make_pod

FILTERS = ("NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit")


def decoded_results(max_bytes: int = 100_000) -> tuple[dict[str, Any], str]:
    """Of a pod with two nodes that fit, and one too small; decoded, and the node that was chosen."""
    harness = Harness()
    harness.add(make_node("a", cpu="4"), make_node("b", cpu="8"), make_node("c", cpu="500m"))
    decision = harness.decide(make_pod("p", cpu="1"))
    found = result_annotations(decision.record, FILTERS, max_bytes=max_bytes)
    selected = found.pop(f"{PREFIX}selected-node")
    return {key.removeprefix(PREFIX): json.loads(text) for key, text in found.items()}, selected


def test_every_plugin_has_its_word_about_every_node() -> None:
    """Up to the one that rejected the node."""
    found, selected = decoded_results()

    assert selected == "b"
    assert found["filter-result"]["a"] == dict.fromkeys(FILTERS, "passed")
    assert found["filter-result"]["c"] == {
        **dict.fromkeys(FILTERS[:-1], "passed"),
        "NodeResourcesFit": "Insufficient cpu",
    }
    assert set(found["score-result"]) == set(found["finalscore-result"]) == {"a", "b"}
    assert found["score-result"]["b"]["NodeResourcesFit"] == "93"
    # Raw scores of TaintToleration count taints; normalized, no taints are 100, and its weight is 3.
    assert found["score-result"]["b"]["TaintToleration"] == "0"
    assert found["finalscore-result"]["b"]["TaintToleration"] == "300"
    assert found["postfilter-result"] == {}


def test_what_does_not_fit_is_left_out() -> None:
    """The chosen node is the last to go."""
    found, selected = decoded_results(max_bytes=700)

    assert selected == "b"
    assert [list(found[key]) for key in ("filter-result", "score-result")] == [["b"], ["b"]]


def pod(name: str, cpu: str) -> dict[str, Any]:
    container = {"name": "main", "image": "pause", "resources": {"requests": {"cpu": cpu}}}
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}}


async def _annotations_in(cluster: Cluster, name: str) -> dict[str, str]:
    found = await cluster.get(f"/api/v1/namespaces/default/pods/{name}")
    known: dict[str, str] = found["metadata"].get("annotations", {})
    return {key: text for key, text in known.items() if key.startswith(PREFIX)}


@pytest.mark.asyncio
@pytest.mark.parametrize("is_on", [True, False])
async def test_they_are_written_on_request(is_on: bool) -> None:
    """To a pod that was bound, and to one that was not, once: an update must not make the pod be tried again."""
    async with Cluster(2, annotates_results=is_on) as cluster, asyncio.timeout(60):
        await cluster.apply([pod("huge", "1000"), pod("small", "1")])
        scheduler = cluster.scheduler
        assert scheduler is not None
        await cluster.until(
            lambda: scheduler.core.cache.n_pods == 1 and scheduler.queue.counts().unschedulable == 1
        )
        found = await _annotations_in(cluster, "small")
        while is_on and not (found and await _annotations_in(cluster, "huge")):
            await asyncio.sleep(0.05)
            found = await _annotations_in(cluster, "small")
        huge = await _annotations_in(cluster, "huge")
        await cluster.until(lambda: len(scheduler.core.pods["default/huge"].annotations) >= len(huge))
        waiting = scheduler.queue.get("default/huge")
        assert waiting is not None
        assert waiting.attempts == 1

    if not is_on:
        assert (found, huge) == ({}, {})
        return
    placed = scheduler.core.pods["default/small"].node_name
    assert found[f"{PREFIX}selected-node"] == placed
    assert json.loads(found[f"{PREFIX}finalscore-result"])[placed]
    assert huge[f"{PREFIX}selected-node"] == ""
    reasons = json.loads(huge[f"{PREFIX}filter-result"])
    assert {each["NodeResourcesFit"] for each in reasons.values()} == {"Insufficient cpu"}
