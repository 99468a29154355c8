"""The pods of a budget are counted as they come and go."""

from __future__ import annotations

import json
from typing import Any

from bayplan.controllers.api_objects import selector_of
from bayplan.controllers.disruption.budgeted_pods import BudgetedPods
from bayplan.controllers.pod_view import PODS, PodView

SELECTOR = selector_of({"matchLabels": {"app": "web"}})
OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}


def pod(name: str, *, app: str = "web", ready: bool = True, phase: str = "Running", **metadata: Any) -> PodView:
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    body = {
        "metadata": {"name": name, "uid": name, "labels": {"app": app}, **metadata},
        "status": {"phase": phase, "conditions": conditions},
    }
    return PODS.decode(json.dumps(body).encode())


def test_pods_that_match_and_run_are_counted() -> None:
    pods = BudgetedPods(SELECTOR, [pod("a"), pod("b", ready=False), pod("c", app="db"), pod("d", phase="Failed")])

    assert (len(pods), pods.n_healthy) == (2, 1)


def test_a_pod_that_is_being_deleted_is_not_healthy() -> None:
    pods = BudgetedPods(SELECTOR, [pod("a", deletionTimestamp="2026-01-01T00:00:00Z"), pod("b")])

    assert (len(pods), pods.n_healthy, pods.is_there("a"), pods.is_there("b")) == (2, 1, False, True)


def test_a_change_replaces_what_was_counted() -> None:
    pods = BudgetedPods(SELECTOR, [pod("a", ownerReferences=[OWNER]), pod("b", ownerReferences=[OWNER])])
    assert list(pods.controllers.values()) == [2]

    pods.put(pod("a", app="db", ownerReferences=[OWNER]))
    pods.put(pod("b"))
    assert (len(pods), pods.n_healthy, dict(pods.controllers)) == (1, 1, {None: 1})

    pods.remove("b")
    pods.remove("never there")
    assert (len(pods), pods.n_healthy, dict(pods.controllers)) == (0, 0, {})
