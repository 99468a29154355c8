"""What `bayplan explain` suggests for pods that the stock kube-scheduler cannot place: applied as it stands, the
stock kube-scheduler places them."""

from __future__ import annotations

import os
from collections import Counter
from functools import partial
from typing import Any

import msgspec
import pytest
from tests.e2e.api import Api, Object, eventually
from tests.e2e.control_plane import ControlPlane
from tests.e2e.random_clusters import RandomCluster, random_cluster
from tests.e2e.seen import bound_to, condition

from bayplan import config
from bayplan.cli.cluster_connection import read_cluster
from bayplan.client import load_access
from bayplan.clock import SystemClock
from bayplan.explain.cluster_objects import new_cluster_core
from bayplan.explain.explainer import Explainer
from bayplan.explain.what_if_scheduler import WhatIfScheduler
from bayplan.scheduler import default_registry

pytestmark = pytest.mark.e2e

#: How many pods that cannot be placed; 200 by hand takes half an hour.
N_PODS = int(os.environ.get("BAYPLAN_SUGGESTED_PODS", "4"))
FIRST_SEED = int(os.environ.get("BAYPLAN_SUGGESTED_SEED", "0"))
#: How many suggestions of each pod are applied.
N_SUGGESTIONS = int(os.environ.get("BAYPLAN_SUGGESTED_EACH", "3"))

REGISTRY = default_registry()
LOADED = config.default(REGISTRY)


@pytest.mark.timeout(3600)
def test_the_stock_scheduler_binds_pods_after_suggested_changes(control_plane: ControlPlane) -> None:
    """Each suggestion on the cluster as it was when it was made."""
    control_plane.start_scheduler()
    api, seed, n_found = control_plane.api, FIRST_SEED, 0
    applied: Counter[str] = Counter()
    without: list[str] = []
    while n_found < N_PODS:
        cluster = random_cluster(seed)
        seed += 1
        _make(api, cluster)
        if not _is_rejected(api, cluster.pending):
            _sweep(api)
            continue
        n_found += 1
        suggestions = _suggestions(control_plane, cluster.pending)
        if not suggestions:
            without.append(f"seed {seed - 1}: {_message(api, cluster.pending)}")
        for number, suggestion in enumerate(suggestions):
            if number:
                _make(api, cluster)
                assert _is_rejected(api, cluster.pending)
            for change in suggestion["changes"]:
                _apply(api, change)
            name = cluster.pending["metadata"]["name"]
            eventually(partial(bound_to, api, name))
            applied[" and ".join(suggestion["asks"])] += 1
            _sweep(api)
        _sweep(api)

    print(f"{n_found} pods of {seed - FIRST_SEED} clusters, {sum(applied.values())} suggestions: {dict(applied)}")
    print("\n".join(without))
    assert len(without) <= 0.05 * n_found, without


def _make(api: Api, cluster: RandomCluster) -> None:
    api.create_many(cluster.nodes)
    api.create_many(cluster.bound)
    api.create(cluster.pending)


def _is_rejected(api: Api, pending: Object) -> bool:
    """Whether the pod has no node, once the scheduler has said something, or never will."""
    name = pending["metadata"]["name"]
    if pending["spec"].get("schedulingGates"):
        return True
    eventually(lambda: bound_to(api, name) or _condition(api, name))
    return bound_to(api, name) is None


def _condition(api: Api, name: str) -> Object | None:
    return condition(api.get("Pod", name))


def _message(api: Api, pending: Object) -> str:
    found = _condition(api, pending["metadata"]["name"])
    return str(found and found.get("message"))


def _suggestions(plane: ControlPlane, pending: Object) -> list[Any]:
    access = load_access(str(plane.kubeconfig))
    name = pending["metadata"]["name"]
    objects = read_cluster(access, LOADED, REGISTRY, ("default", name))
    core = new_cluster_core(objects, LOADED, REGISTRY, SystemClock())
    explainer = Explainer(WhatIfScheduler(core), objects.source())
    explanation = explainer.explain(objects.pods[f"default/{name}"], n_suggestions=N_SUGGESTIONS)
    found: list[Any] = msgspec.to_builtins(explanation)["suggestions"] if explanation.suggestions else []
    return found


def _apply(api: Api, change: Object) -> None:
    target = change["object"]
    kind, name = target["kind"], target["name"]
    namespace = target.get("namespace", "default")
    if change["verb"] == "patch":
        api.patch(kind, name, change["patch"], namespace=namespace)
        return
    if change["verb"] in ("delete", "replace"):
        api.delete(kind, name, namespace=namespace)
    if change["verb"] in ("create", "replace"):
        api.create(change["manifest"])


def _sweep(api: Api) -> None:
    api.delete_all("Pod", namespace="default")
    api.delete_all("Node")
    eventually(lambda: not api.list("Pod", namespace="default") and not api.list("Node"))
